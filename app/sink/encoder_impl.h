/* Declares what encoder.c, which opens encoders, and encoder_frames.c, which sends frames to them, share. */
#ifndef APP_SINK_ENCODER_IMPL_H
#define APP_SINK_ENCODER_IMPL_H

#include "app/sink/encoder.h"

/* True if the format is RGB, or has a palette of RGB colours. */
bool encoder_is_rgb(enum AVPixelFormat format);
/* True for libx264 and libx265. */
bool encoder_is_x26x(const AVCodec *codec);

/* Sets up encoder->scaler, which converts frames of this pixel format to the one that the open encoder needs, if the
 * two differ. (For GIF, palette.h converts the scaled frames once more.) Returns 0 or an FFmpeg error code. */
int encoder_open_scaler(struct encoder *encoder, enum pixel_format from);

#endif
