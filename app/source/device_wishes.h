/* Chooses FFmpeg's options for a screen or a camera, as far as the user has not set them. */
#ifndef APP_SOURCE_DEVICE_WISHES_H
#define APP_SOURCE_DEVICE_WISHES_H

#include <libavformat/avformat.h>

#include "app/source/camera.h"
#include "app/source/source.h"

/* True if the format is an input device of libavdevice, not a demuxer; false for NULL. */
bool device_is_input(const AVInputFormat *format);
/* True if the format is the input device of cameras. */
bool device_is_camera(const AVInputFormat *format);
/* True if the input is a camera in which people look at themselves. */
bool device_is_mirror(const AVFormatContext *input);

/* Adds options to the user's `wishes`. For a screen, if `url` gives the offset of the captured region (":0.0+100,100")
 * but no size is given, the region reaches to the end of the screen; x11grab itself would choose the size of the whole
 * screen. For a camera, adds the options of camera_wishes. If the device cannot be opened, nothing is added; a later
 * attempt to open the device reports the reason. */
void device_wishes(AVDictionary **wishes, const AVInputFormat *format, const char *url,
                   const struct source_options *options);

/* Adds to `wishes` the options that select the camera's mode nearest to the requested size and rate, and logs the mode,
 * as a warning if its size or rate differ from the requested ones. Adds nothing if the user has chosen a format,
 * or if FFmpeg can read none of the camera's modes. */
void camera_wishes(AVDictionary **wishes, const struct camera *camera, const struct source_options *options);

#endif
