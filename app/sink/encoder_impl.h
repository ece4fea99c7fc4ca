/* What encoder.c, which opens encoders, and encoder_frames.c, which gives them frames, share. */
#ifndef APP_SINK_ENCODER_IMPL_H
#define APP_SINK_ENCODER_IMPL_H

#include "app/sink/encoder.h"

bool encoder_is_rgb(enum AVPixelFormat format);
bool encoder_is_x26x(const AVCodec *codec);

/* What frames of this format go through on their way to the open encoder, if anything, which palette_open does not
 * see to. Returns 0 or an FFmpeg error code. */
int encoder_open_scaler(struct encoder *encoder, enum pixel_format from);

#endif
