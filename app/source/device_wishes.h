/* Chooses options for a screen or a camera where the user has set none. */
#ifndef APP_SOURCE_DEVICE_WISHES_H
#define APP_SOURCE_DEVICE_WISHES_H

#include <libavformat/avformat.h>

#include "app/source/camera.h"
#include "app/source/source.h"

/* True if the format is an input device of libavdevice and no demuxer; false for NULL. */
bool device_is_input(const AVInputFormat *format);
/* True if the format is the input device of cameras. */
bool device_is_camera(const AVInputFormat *format);
/* True if the input is a camera in which people look at themselves. */
bool device_is_mirror(const AVFormatContext *input);

/* Adds options to the user's `wishes`. A screen: if url says where the part begins (":0.0+100,100") and nothing says
 * how large it is, it reaches to the end of the screen; x11grab's own choice would be as large as the whole screen. For
 * a camera, adds the options of camera_wishes. If the device cannot be opened, nothing is added; opening it later
 * reports why. */
void device_wishes(AVDictionary **wishes, const AVInputFormat *format, const char *url,
                   const struct source_options *options);

/* Adds the options of the mode that fits the options' size and rate best, and logs it; with a warning if it is not what
 * was asked for. Adds nothing if the user has chosen a format. */
void camera_wishes(AVDictionary **wishes, const struct camera *camera, const struct source_options *options);

#endif
