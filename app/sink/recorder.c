#include "app/sink/recorder.h"

#include <stdlib.h>
#include <string.h>

enum { IDR_SLICE = 5, NAL_TYPES = 0x1f };

/* Adds a picture's time to recorder->times, and removes times that are no longer needed. A time is needed until its
 * picture's packet and those of the next `delay` pictures have come out of the encoder. Returns 0, or -1 with err. */
static int keep_time(struct recorder *recorder, int64_t time, struct error *err) {
  /* There are more packets than pictures if the sink sends a picture again, for containers with a constant frame
   * rate. */
  int64_t out = recorder->out < recorder->sent ? recorder->out : recorder->sent;
  int64_t needed = out - (recorder->delay > 0 ? recorder->delay : 0);
  int64_t count = recorder->sent - recorder->first;
  if (needed > recorder->first && needed - recorder->first > count / 2) {
    memmove(recorder->times, recorder->times + (needed - recorder->first),
            (size_t)(recorder->sent - needed) * sizeof *recorder->times);
    recorder->first = needed;
    count = recorder->sent - needed;
  }
  if ((size_t)count == recorder->capacity) {
    size_t capacity = count ? 2 * (size_t)count : 64;
    int64_t *times = realloc(recorder->times, capacity * sizeof *times);
    if (!times)
      return error_set(err, STATUS_FAILED, "no memory for the times of pictures");
    recorder->times = times;
    recorder->capacity = capacity;
  }
  recorder->times[count] = time;
  recorder->sent++;
  return 0;
}

int recorder_resend(struct recorder *recorder, const struct job_picture *picture, struct error *err) {
  if (keep_time(recorder, picture->time, err))
    return -1;
  return recorder->manifest ? manifest_add_picture(recorder->manifest, picture, err) : 0;
}

int recorder_send(struct recorder *recorder, const struct frame *frame, int64_t source, int64_t time,
                  struct error *err) {
  struct job_picture picture = {.time = time, .source = source};
  if (recorder->manifest && job_hash_picture(&picture.hash, frame, err))
    return -1;
  return recorder_resend(recorder, &picture, err);
}

/* True if an H.264 packet has a slice of an IDR picture, after which no picture refers to an earlier one. (Encoders may
 * mark other pictures as key frames, too.) The packet's NAL units may have start codes or lengths before them. */
static bool has_idr(const AVPacket *packet) {
  const uint8_t *data = packet->data, *end = data + packet->size;
  bool codes = packet->size > 4 && !data[0] && !data[1] && (data[2] == 1 || (!data[2] && data[3] == 1));
  while (end - data > 4) {
    if (!codes) {
      size_t length = (size_t)data[0] << 24 | (size_t)data[1] << 16 | (size_t)data[2] << 8 | data[3];
      if ((data[4] & NAL_TYPES) == IDR_SLICE)
        return true;
      if (length > (size_t)(end - data - 4))
        return false;
      data += 4 + length;
    } else if (!data[0] && !data[1] && data[2] == 1 && (data[3] & NAL_TYPES) == IDR_SLICE) {
      return true;
    } else {
      data++;
    }
  }
  return false;
}

static bool is_key(const AVCodecParameters *codec, const AVPacket *packet) {
  return packet->flags & AV_PKT_FLAG_KEY && (codec->codec_id != AV_CODEC_ID_H264 || has_idr(packet));
}

/* Returns the time of the picture of this number, in ticks. Numbers from -delay to -1 give decoding times before the
 * first picture, as encoders (x264, x265, FFmpeg's MPEG) compute them: number -n gets the time of picture `delay` - n,
 * minus the time from picture 0 to picture `delay`. */
static int64_t time_of(const struct recorder *recorder, int64_t number) {
  int64_t delay = recorder->delay, known = recorder->sent - recorder->first;
  if (number >= 0)
    return recorder->times[number - recorder->first];
  if (delay < known)
    return recorder->times[number + delay] - (recorder->times[delay] - recorder->times[0]);
  return recorder->times[0] + number * recorder->step;
}

void recorder_receive(struct recorder *recorder, const AVCodecParameters *codec, AVPacket *packet) {
  bool known = recorder->out >= recorder->first && recorder->out < recorder->sent;
  if (known && is_key(codec, packet) && time_of(recorder, recorder->out) == packet->pts &&
      (!recorder->out || recorder->latest < packet->pts))
    recorder->closed = recorder->out;
  if (known && recorder->delay >= 0)
    packet->dts = time_of(recorder, recorder->out - recorder->delay);
  if (!recorder->out || packet->pts > recorder->latest)
    recorder->latest = packet->pts;
  recorder->out++;
}

int recorder_flush(struct recorder *recorder, bool whole, struct error *err) {
  if (whole && recorder->out == recorder->sent)
    recorder->closed = recorder->out;
  const struct job_segment segment = {recorder->told, recorder->closed - recorder->told};
  if (!recorder->manifest || !recorder->segments || segment.pictures <= 0)
    return 0;
  recorder->told = recorder->closed;
  return manifest_add_segment(recorder->manifest, &segment, err);
}

void recorder_close(struct recorder *recorder) {
  manifest_close(&recorder->manifest);
  free(recorder->times);
  *recorder = (struct recorder){0};
}
