/* Translates the names that FFmpeg, mpv and users give to sources into names that source_open knows. */
#ifndef APP_SOURCE_SPEC_H
#define APP_SOURCE_SPEC_H

#include "unet/base/error.h"

enum { SPEC_MAX = 4096 };

/* Translates "av://X" to X, "tv://" to the first camera and "tv://X" to X, "v4l2:/dev/video0" to the device, ":91.0"
 * and ":91.0+100,100" to X displays, "desktop" and "screen" to the whole screen of $DISPLAY, unless a file has that
 * name. Any other spec stays as it is. `out` holds SPEC_MAX characters. Returns 0, or -1 with err. */
int spec_resolve(const char *spec, char *out, struct error *err);

#endif
