#include "app/sink/live_sound.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <libavutil/audio_fifo.h>
#include <libavutil/avstring.h>
#include <libavutil/opt.h>
#include <libswresample/swresample.h>

#include "app/source/tap_decoder.h"
#include "app/sink/send_samples.h"

enum { RATE = 48000, CHANNELS = 2, BITS_A_SECOND = 160000, FRAME_USUAL = 1024, MOMENTS = 64 };

/* Sound may be up to this many seconds early or late relative to its picture. Beyond that, sound is left out or silence
 * is put in, which can be heard. */
static const double tolerance = 0.08;
/* For by_clock (sound of a microphone): sound that is this many seconds late is replaced by silence. */
static const double patience = 0.5;
/* For by_clock (sound of a microphone): time constants in seconds. drift_found: for measuring the drift between the
 * input's clock and the machine's; drift_mended: for correcting the drift. */
static const double drift_found = 1, drift_mended = 4;
/* Weight of each new picture's time in the running mean of their times, which smooths the jitter of these times. */
static const double smoothing = 0.1;

/* A change in the relation between the source's sound and the output, from `position` of the sound up to the next
 * struct moment's. Sound at position p is written at time + (p - position) / speed of the output, where `speed` is the
 * source's playing speed. All times and positions are in seconds. */
struct moment {
  double position, time, speed;
};

struct live_sound {
  /* The fields of this block: the tap (buffer of the source's sound packets) that gives the sound, and the output's
   * stream to which its samples are written. */
  struct sound_tap *tap;
  bool by_clock;
  double drift; /* running mean of the number of samples by which the sound is late; used only if by_clock is true */
  struct tap_decoder decoder;
  AVCodecContext *encoder;
  /* sound format and speed for which the resampler is set up. sound_number: which sound has that format
   * (decoder.sound_number, which differs for each source). */
  unsigned sound_number;
  double speed;
  struct SwrContext *resampler;
  AVAudioFifo *samples;
  const AVFormatContext *output;
  AVStream *stream;
  AVPacket *packet;
  AVFrame *sent;
  /* In the following fields, a position is a time in the source's sound, in seconds. */
  struct moment moment[MOMENTS]; /* newest MOMENTS changes of the times of the output's sound, in order of position */
  int moments;
  double shown; /* position, in seconds, of the picture for which live_sound_at was called last */
  /* number of samples of the output so far, both sent to the encoder and queued for it */
  int64_t written;
};

/* --- opening the encoder and its stream --- */

/* Returns an encoder for AAC if the container takes it, else for the container's usual codec. */
static const AVCodec *choose_encoder(const AVOutputFormat *container) {
  bool takes_aac = avformat_query_codec(container, AV_CODEC_ID_AAC, FF_COMPLIANCE_NORMAL) == 1;
  return avcodec_find_encoder(takes_aac ? AV_CODEC_ID_AAC : container->audio_codec);
}

static int open_encoder(struct live_sound *sound, const AVCodec *codec, const AVOutputFormat *container) {
  AVCodecContext *encoder = sound->encoder = avcodec_alloc_context3(codec);
  if (!encoder)
    return AVERROR(ENOMEM);
  encoder->sample_rate = RATE;
  encoder->sample_fmt = codec->sample_fmts ? codec->sample_fmts[0] : AV_SAMPLE_FMT_FLTP;
  encoder->time_base = (AVRational){1, RATE};
  encoder->bit_rate = BITS_A_SECOND;
  av_channel_layout_default(&encoder->ch_layout, CHANNELS);
  if (container->flags & AVFMT_GLOBALHEADER)
    encoder->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  return avcodec_open2(encoder, codec, NULL);
}

static int open_stream(struct live_sound *sound, AVFormatContext *output, const AVCodec *codec) {
  int code = open_encoder(sound, codec, output->oformat);
  if (code < 0)
    return code;
  sound->packet = av_packet_alloc();
  sound->sent = av_frame_alloc();
  sound->samples = av_audio_fifo_alloc(sound->encoder->sample_fmt, CHANNELS, RATE);
  if (!sound->packet || !sound->sent || !sound->samples)
    return AVERROR(ENOMEM);
  sound->stream = avformat_new_stream(output, NULL);
  if (!sound->stream)
    return AVERROR(ENOMEM);
  sound->stream->time_base = sound->encoder->time_base;
  return avcodec_parameters_from_context(sound->stream->codecpar, sound->encoder);
}

int live_sound_open(struct live_sound **result, AVFormatContext *output, struct sound_tap *tap, bool by_clock,
                    const struct log *log, struct error *err) {
  const AVCodec *codec = choose_encoder(output->oformat);
  AVCodecParameters *codec_of_tap = avcodec_parameters_alloc();
  bool present =
      tap && codec_of_tap && codec && (by_clock || sound_tap_describe(tap, codec_of_tap, &(AVRational){0, 1}));
  avcodec_parameters_free(&codec_of_tap);
  *result = NULL;
  if (!present)
    return 0;
  struct live_sound *sound = calloc(1, sizeof *sound);
  if (!sound)
    return error_set(err, STATUS_FAILED, "no memory for sound");
  sound->tap = tap;
  sound->by_clock = by_clock;
  sound->output = output;
  if (tap_decoder_open(&sound->decoder, tap, log, err)) {
    live_sound_close(&sound);
    return -1;
  }
  int code = open_stream(sound, output, codec);
  if (code < 0) {
    bool added = sound->stream != NULL;
    live_sound_close(&sound);
    if (added)
      return error_set(err, STATUS_FAILED, "no memory for sound");
    log_line(log, LOG_WARNING, "sound: %s cannot be opened; it is left out", codec->name);
    return 0;
  }
  *result = sound;
  return 0;
}

void live_sound_close(struct live_sound **pointer) {
  struct live_sound *sound = *pointer;
  if (!sound)
    return;
  tap_decoder_close(&sound->decoder);
  avcodec_free_context(&sound->encoder);
  swr_free(&sound->resampler);
  if (sound->samples)
    av_audio_fifo_free(sound->samples);
  av_packet_free(&sound->packet);
  av_frame_free(&sound->sent);
  free(sound);
  *pointer = NULL;
}

/* --- times: from positions in the source's sound to times in the output --- */

/* Returns the time in the output, in seconds, at which this position of the source's sound is heard, if the change of
 * times `moment` holds for the position. */
static double time_of(const struct moment *moment, double position) {
  return moment->time + (position - moment->position) / moment->speed;
}

void live_sound_at(struct live_sound *sound, int64_t pts, double time) {
  if (!sound)
    return;
  double position = sound->by_clock ? (double)pts * 1e-9 : sound_tap_position(sound->tap, pts);
  double speed = sound->by_clock ? 1 : sound_tap_speed(sound->tap);
  struct moment *last = sound->moments ? &sound->moment[sound->moments - 1] : NULL;
  if (position < sound->shown) {
    /* another source has begun; the stored times are those of the sound of the source before it */
    sound->moments = 0;
    last = NULL;
  }
  sound->shown = position;
  double late = last ? time - time_of(last, position) : 0;
  if (last && last->speed == speed && fabs(late) < tolerance) {
    last->time += late * smoothing;
    return;
  }
  if (sound->moments == MOMENTS)
    memmove(sound->moment, sound->moment + 1, --sound->moments * sizeof *sound->moment);
  sound->moment[sound->moments++] = (struct moment){position, time, speed};
}

/* Returns the change of times that holds for this position of the source's sound. */
static const struct moment *moment_at(const struct live_sound *sound, double position) {
  int i = sound->moments - 1;
  while (i > 0 && sound->moment[i].position > position)
    i--;
  return &sound->moment[i];
}

/* --- converting decoded samples, and queueing them at their times --- */

static int add_samples(struct live_sound *sound, uint8_t **data, int count) {
  int got = av_audio_fifo_write(sound->samples, (void **)data, count);
  if (got > 0)
    sound->written += got;
  return got < 0 ? got : 0;
}

static int add_silence(struct live_sound *sound, int64_t count) {
  uint8_t *data[CHANNELS] = {0};
  int code = av_samples_alloc(data, NULL, CHANNELS, FRAME_USUAL, sound->encoder->sample_fmt, 0);
  if (code >= 0)
    code = av_samples_set_silence(data, 0, FRAME_USUAL, CHANNELS, sound->encoder->sample_fmt);
  for (; code >= 0 && count > 0; count -= FRAME_USUAL)
    code = add_samples(sound, data, count < FRAME_USUAL ? (int)count : FRAME_USUAL);
  av_freep(&data[0]);
  return code;
}

/* Corrects the drift between the clocks of input and machine by stretching or shrinking the sound, so little that it
 * cannot be heard. gap: number of samples by which the next `count` samples are late. */
static void mend_drift(struct live_sound *sound, double gap, int count) {
  sound->drift += (gap - sound->drift) * fmin(1, count / (drift_found * RATE));
  swr_set_compensation(sound->resampler, (int)lrint(sound->drift), (int)(drift_mended * RATE));
}

/* Queues `count` converted samples that are heard at `time`, in seconds of the output. If there is a gap before them,
 * silence is queued first; samples that are too late are left out. Returns a negative FFmpeg code after an error. */
static int place(struct live_sound *sound, uint8_t **data, int count, double time) {
  int64_t gap = llrint(time * RATE) - sound->written;
  int sample = av_get_bytes_per_sample(sound->encoder->sample_fmt);
  bool planar = av_sample_fmt_is_planar(sound->encoder->sample_fmt);
  bool begins = sound->by_clock && !sound->written, fits = fabs((double)gap) < tolerance * RATE && !begins;
  if (sound->by_clock && fits)
    mend_drift(sound, (double)gap, count);
  else
    sound->drift = 0;
  if (fits)
    gap = 0;
  if (gap > 0) {
    int code = add_silence(sound, gap);
    if (code < 0)
      return code;
  }
  int late = gap < 0 ? (int)fmin((double)-gap, count) : 0;
  uint8_t *rest[CHANNELS] = {0};
  for (int i = 0; i < (planar ? CHANNELS : 1); i++)
    rest[i] = data[i] + (ptrdiff_t)late * sample * (planar ? 1 : CHANNELS);
  return late < count ? add_samples(sound, rest, count - late) : 0;
}

/* Opens the resampler. If the source is played at another speed, the sound's sample rate is multiplied by that speed
 * before resampling. This makes the sound shorter and higher, or longer and lower. */
static int open_resampler(struct live_sound *sound, AVFrame *from) {
  AVCodecContext *to = sound->encoder;
  int rate = (int)fmax(1, lrint(from->sample_rate * sound->speed));
  int code = swr_alloc_set_opts2(&sound->resampler, &to->ch_layout, to->sample_fmt, RATE, &from->ch_layout,
                                 from->format, rate, 0, NULL);
  return code < 0 ? code : swr_init(sound->resampler);
}

static int convert(struct live_sound *sound, AVFrame *from, double time, double speed) {
  uint8_t *data[CHANNELS] = {0};
  if (sound->sound_number != sound->decoder.sound_number || sound->speed != speed)
    swr_free(&sound->resampler);
  sound->speed = speed;
  sound->sound_number = sound->decoder.sound_number;
  int code = sound->resampler ? 0 : open_resampler(sound, from);
  if (code < 0)
    return code;
  int most = swr_get_out_samples(sound->resampler, from->nb_samples);
  code = av_samples_alloc(data, NULL, CHANNELS, most > 0 ? most : 1, sound->encoder->sample_fmt, 0);
  if (code >= 0)
    code =
        swr_convert(sound->resampler, data, most, (const uint8_t **)(uintptr_t)from->extended_data, from->nb_samples);
  if (code > 0)
    code = place(sound, data, code, time);
  av_freep(&data[0]);
  return code;
}

/* --- encoding the queued samples, and writing packets --- */

/* Writes the packets that the encoder has ready. An encoder's first packet lies before the first sample. If the
 * container has no negative times it is left out, because the muxer would otherwise shift the pictures. Returns 0 or an
 * FFmpeg error code. */
static int write_packets(struct live_sound *sound, struct muxer *muxer) {
  bool from_zero = sound->output->avoid_negative_ts > AVFMT_AVOID_NEG_TS_DISABLED;
  int code;
  while ((code = avcodec_receive_packet(sound->encoder, sound->packet)) >= 0) {
    if (from_zero && sound->packet->pts < 0) {
      av_packet_unref(sound->packet);
      continue;
    }
    sound->packet->stream_index = sound->stream->index;
    av_packet_rescale_ts(sound->packet, sound->encoder->time_base, sound->stream->time_base);
    code = muxer_write(muxer, sound->packet);
    av_packet_unref(sound->packet);
    if (code < 0)
      return code;
  }
  return code == AVERROR(EAGAIN) || code == AVERROR_EOF ? 0 : code;
}

static int send_frame(struct live_sound *sound, int count) {
  int64_t first = sound->written - av_audio_fifo_size(sound->samples);
  return send_samples(sound->encoder, sound->samples, count, first, sound->sent);
}

static int encode(struct live_sound *sound, struct muxer *muxer, bool all) {
  int size = sound->encoder->frame_size > 0 ? sound->encoder->frame_size : FRAME_USUAL, code = 0;
  int least = all ? 1 : size;
  while (code >= 0 && av_audio_fifo_size(sound->samples) >= least) {
    int there = av_audio_fifo_size(sound->samples);
    code = send_frame(sound, there < size ? there : size);
    if (code >= 0)
      code = write_packets(sound, muxer);
  }
  return code;
}

/* If a microphone gives no sound, queues silence up to the last shown picture, but not for the last `rest` seconds, for
 * which sound may still come. Returns 0 or a negative FFmpeg code. */
static int fill(struct live_sound *sound, double rest) {
  double time = time_of(&sound->moment[sound->moments - 1], sound->shown) - rest;
  int64_t missing = llrint(time * RATE) - sound->written;
  return sound->by_clock && missing > 0 ? add_silence(sound, missing) : 0;
}

static int take(struct live_sound *sound, struct muxer *muxer, double rest) {
  double position;
  int code;
  if (!sound || !sound->moments)
    return 0;
  while ((code = tap_decoder_next(&sound->decoder, sound->shown, &position)) > 0) {
    const struct moment *moment = moment_at(sound, position);
    code = convert(sound, sound->decoder.frame, time_of(moment, position), moment->speed);
    if (code < 0)
      break;
  }
  if (code >= 0)
    code = fill(sound, rest);
  return code < 0 ? code : encode(sound, muxer, false);
}

int live_sound_write(struct live_sound *sound, struct muxer *muxer) {
  return take(sound, muxer, patience);
}

int live_sound_finish(struct live_sound *sound, struct muxer *muxer) {
  if (!sound)
    return 0;
  int code = take(sound, muxer, 0);
  if (code >= 0)
    code = encode(sound, muxer, true);
  if (code >= 0)
    code = avcodec_send_frame(sound->encoder, NULL);
  return code < 0 ? code : write_packets(sound, muxer);
}
