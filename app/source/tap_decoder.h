/* Decodes the packets in a sound tap (the buffer of a source's newest sound, sound_tap.h). When another source becomes
 * the tap's owner, the decoder is set up again for its sound. Only one thread at a time may use it. */
#ifndef APP_SOURCE_TAP_DECODER_H
#define APP_SOURCE_TAP_DECODER_H

#include "app/source/sound_tap.h"
#include "unet/base/log.h"

struct tap_decoder {
  struct sound_tap *tap;
  struct sound_cursor cursor;
  const struct log *log;
  unsigned sound_number; /* number that sound_tap_describe gave to the sound that is decoded; 0: none */
  AVCodecContext *codec;
  AVRational time_base; /* time base of the packets */
  /* number of seconds that was added to the last packet's timestamp to get its position in the source (sound_tap.h) */
  double shift;
  AVPacket *packet;
  AVFrame *frame;
};

/* Allocates a decoder for the packets of sound in `tap`, the buffer of a source's newest sound, which must outlive the
 * decoder. Returns 0, or -1 with err and nothing to close. */
int tap_decoder_open(struct tap_decoder *decoder, struct sound_tap *tap, const struct log *log, struct error *err);
void tap_decoder_close(struct tap_decoder *decoder); /* closes the decoder; does nothing for a zeroed struct */

/* Decodes the next samples, from packets whose positions are at most `until`, in seconds. Returns 1: the samples are in
 * decoder->frame, and begin at *position; 0: there are no samples yet; or an FFmpeg code. Damaged packets are skipped;
 * if the sound cannot be decoded, all packets are skipped. */
int tap_decoder_next(struct tap_decoder *decoder, double until, double *position);

#endif
