/* Sound as samples, out of the packets that a tap holds: of whichever source's sound there is at that moment. */
#ifndef APP_SOURCE_TAP_DECODER_H
#define APP_SOURCE_TAP_DECODER_H

#include "app/source/sound_tap.h"
#include "unet/base/log.h"

struct tap_decoder {
  struct sound_tap *tap;
  struct sound_cursor cursor;
  const struct log *log;
  unsigned of; /* which sound it is at; 0: none */
  AVCodecContext *codec;
  AVRational time_base; /* of packets */
  double shift;         /* of the last packet's position beyond its own time */
  AVPacket *packet;
  AVFrame *frame;
};

int tap_decoder_open(struct tap_decoder *decoder, struct sound_tap *tap, const struct log *log, struct error *err);
void tap_decoder_close(struct tap_decoder *decoder); /* takes zeros */

/* 1: decoder->frame is the next samples, of packets that begin up to `until`, from *position on; 0: there are none yet;
 * else FFmpeg's code. Damage is skipped. */
int tap_decoder_next(struct tap_decoder *decoder, double until, double *position);

#endif
