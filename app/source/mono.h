/* Decoded sound as one channel of floats, at its own rate. */
#ifndef APP_SOURCE_MONO_H
#define APP_SOURCE_MONO_H

#include <libavutil/frame.h>

#include "unet/base/error.h"

struct SwrContext;

struct mono {
  struct SwrContext *mixer;
  AVFrame *mixed;
};

int mono_init(struct mono *mono, struct error *err);
void mono_free(struct mono *mono); /* takes zeros */
/* How many samples came of the frame, which are valid until the next call; negative: FFmpeg's code. */
int mono_mix(struct mono *mono, const AVFrame *frame, const float **samples, int *rate);

#endif
