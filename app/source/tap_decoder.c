#include "app/source/tap_decoder.h"

int tap_decoder_open(struct tap_decoder *decoder, struct sound_tap *tap, const struct log *log, struct error *err) {
  *decoder = (struct tap_decoder){.tap = tap, .log = log};
  decoder->packet = av_packet_alloc();
  decoder->frame = av_frame_alloc();
  if (decoder->packet && decoder->frame)
    return 0;
  tap_decoder_close(decoder);
  return error_set(err, STATUS_FAILED, "no memory for sound");
}

void tap_decoder_close(struct tap_decoder *decoder) {
  avcodec_free_context(&decoder->codec);
  av_packet_free(&decoder->packet);
  av_frame_free(&decoder->frame);
}

static void open_codec(struct tap_decoder *decoder, const AVCodecParameters *about) {
  const AVCodec *found = avcodec_find_decoder(about->codec_id);
  avcodec_free_context(&decoder->codec);
  decoder->codec = found ? avcodec_alloc_context3(found) : NULL;
  if (decoder->codec &&
      (avcodec_parameters_to_context(decoder->codec, about) < 0 || avcodec_open2(decoder->codec, found, NULL) < 0))
    avcodec_free_context(&decoder->codec);
  if (!decoder->codec)
    log_line(decoder->log, LOG_WARNING, "sound: FFmpeg here does not decode %s; it is left out",
             avcodec_get_name(about->codec_id));
}

/* Opens another decoder if the tap (sound_tap.h) has got another owner since the last call. Returns false if there is
 * no sound, or it cannot be decoded. */
static bool follow_source(struct tap_decoder *decoder) {
  bool present;
  if (sound_tap_number(decoder->tap, &present, NULL) == decoder->sound_number && present)
    return decoder->codec;
  AVCodecParameters *about = avcodec_parameters_alloc();
  unsigned sound_number = about ? sound_tap_describe(decoder->tap, about, &decoder->time_base) : 0;
  if (sound_number && sound_number != decoder->sound_number)
    open_codec(decoder, about);
  decoder->sound_number = sound_number;
  avcodec_parameters_free(&about);
  return sound_number && decoder->codec;
}

static int send_packet(struct tap_decoder *decoder, double position) {
  AVPacket *packet = decoder->packet;
  if (packet->pts == AV_NOPTS_VALUE)
    packet->pts = packet->dts;
  decoder->shift = position - (double)packet->pts * av_q2d(decoder->time_base);
  int code = avcodec_send_packet(decoder->codec, packet);
  av_packet_unref(packet);
  return code == AVERROR_INVALIDDATA || code == AVERROR(EAGAIN) ? 0 : code;
}

int tap_decoder_next(struct tap_decoder *decoder, double until, double *position) {
  int code = 0;
  bool known = follow_source(decoder);
  while (!known && sound_tap_take(decoder->tap, &decoder->cursor, until, decoder->packet, position))
    av_packet_unref(decoder->packet);
  if (!known)
    return 0;
  while (code >= 0) {
    av_frame_unref(decoder->frame);
    if (avcodec_receive_frame(decoder->codec, decoder->frame) >= 0) {
      int64_t pts = decoder->frame->best_effort_timestamp;
      if (pts != AV_NOPTS_VALUE)
        *position = (double)pts * av_q2d(decoder->time_base) + decoder->shift;
      return 1;
    }
    if (!sound_tap_take(decoder->tap, &decoder->cursor, until, decoder->packet, position))
      return 0;
    code = send_packet(decoder, *position);
  }
  return code;
}
