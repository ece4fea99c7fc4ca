/* Mixes decoded sound to one channel of floats. The sample rate stays that of the sound. */
#ifndef APP_SOURCE_MONO_H
#define APP_SOURCE_MONO_H

#include <libavutil/frame.h>

#include "unet/base/error.h"

struct SwrContext;

struct mono {
  struct SwrContext *mixer;
  AVFrame *mixed;
};

/* Allocates the mixer. It is set up for a frame's format at the first mono_mix. Returns 0, or -1 with err and nothing
 * to free. */
int mono_init(struct mono *mono, struct error *err);
void mono_free(struct mono *mono); /* frees the mixer and its frame; accepts a zeroed struct */
/* Mixes a frame of sound. Returns the number of samples, or a negative FFmpeg code. *samples is valid until the next
 * call; *rate is in samples per second. */
int mono_mix(struct mono *mono, const AVFrame *frame, const float **samples, int *rate);

#endif
