/* Reads and checks what users request of an encoder: the pixel format of its input (--pixel-format), and options of the
 * encoder itself (--encoder-options). */
#ifndef APP_SINK_ENCODER_WISHES_H
#define APP_SINK_ENCODER_WISHES_H

#include <libavcodec/avcodec.h>

#include "unet/base/error.h"

/* Stores the pixel format of this name in *format, if the encoder takes it and frames can be converted to it. Returns
 * 0, or -1 with err, which lists the formats that the encoder takes. */
int encoder_wishes_pixels(const AVCodec *codec, const char *name, enum AVPixelFormat *format, struct error *err);

/* Reads options of the form "key=value:key=value" into *wishes, which the caller frees; `text` may be NULL. Returns 0,
 * or -1 with err. */
int encoder_wishes_parse(const char *text, AVDictionary **wishes, struct error *err);
/* Sets the wished options in an encoder's context that is not open yet. Returns 0, or -1 with err if the encoder has no
 * such option, does not take its value, or the option states colours, which the program itself sets. */
int encoder_wishes_set(AVCodecContext *context, const AVDictionary *wishes, struct error *err);
/* Checks that the encoder has the options in `text` ("key=value:key=value") and accepts their values. Used before the
 * encoder is opened. Returns 0, or -1 with err. */
int encoder_wishes_check(const AVCodec *codec, const char *text, struct error *err);

/* True if one of these encoder options sets the quality or the bit rate. */
bool encoder_wishes_say_quality(const AVDictionary *wishes);

#endif
