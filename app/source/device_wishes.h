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

/* Adds options to the user's `wishes`. For a camera these are those of camera_wishes. For a screen, if `url` has the
 * offset of a region (":0.0+100,100") and no size is given, the region gets a size that reaches to the screen's end;
 * x11grab would take the whole screen's size. If the device cannot be opened, adds nothing; a later attempt to open it
 * reports the reason. */
void device_wishes(AVDictionary **wishes, const AVInputFormat *format, const char *url,
                   const struct source_options *options);

/* Adds to `wishes` the options for the camera's mode nearest to the requested size and rate. Logs the mode, as a
 * warning if size or rate differ from the request. Adds nothing if the user has chosen a format, or FFmpeg can read
 * none of the modes. */
void camera_wishes(AVDictionary **wishes, const struct camera *camera, const struct source_options *options);

#endif
