/* Tells which values an option of an encoder can have. */
#ifndef APP_SINK_ENCODER_VALUES_H
#define APP_SINK_ENCODER_VALUES_H

#include <stdbool.h>
#include <stddef.h>

#include <libavcodec/avcodec.h>
#include <libavutil/dict.h>
#include <libavutil/opt.h>

#include "unet/base/error.h"

/* Writes the values of an encoder's option as a text, such as "best, good, realtime" or "-16 to 16"; "": they are
 * unknown, or too many. object: the struct that has the option, as for av_opt_find. */
void encoder_values_list(char *text, size_t size, const char *encoder, void *object, const AVOption *option);

/* False if the value of this option is a number outside the limits of the encoder itself, which would silently take
 * another value. These limits are narrower than those that FFmpeg checks. Otherwise true. */
bool encoder_values_within(const char *encoder, const AVOption *option, const char *text);

/* Fails if the encoder's scale of quality does not reach up to this value of --quality (negative: not given). Returns
 * 0, or -1 with err, which names the range. */
int encoder_values_check_quality(const AVCodec *codec, double quality, struct error *err);

/* Some options take names that only the encoder's library knows, and checks when the encoder is opened. Returns false
 * if this is such an option, and `text` is not one of its names. */
bool encoder_values_known(const char *encoder, const char *option, const char *text);

/* Fails if the options name a profile of libx264 that does not support this pixel format (NULL: the encoder's usual
 * one), or lossless coding with a profile that has none. Otherwise x264 itself would print a line, which cannot be
 * suppressed. Returns 0, or -1 with err. */
int encoder_values_check_profile(const char *encoder, const AVDictionary *wishes, const char *pixel_format,
                                 struct error *err);

#endif
