/* Names of sources as FFmpeg, mpv and people write them, put into the spelling that source_open's kinds know. */
#ifndef APP_SOURCE_SPEC_H
#define APP_SOURCE_SPEC_H

#include "unet/base/error.h"

enum { SPEC_MAX = 4096 };

/* "av://X" is X, "tv://" the first camera and "tv://X" X, "v4l2:/dev/video0" the device, ":91.0" and ":91.0+100,100" X
 * displays, "desktop" and "screen" the whole of $DISPLAY's where no file is called so. Anything else is itself. out
 * holds SPEC_MAX characters. */
int spec_resolve(const char *spec, char *out, struct error *err);

#endif
