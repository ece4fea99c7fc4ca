/* What is asked of a screen or a camera beside what the user has said, as options for FFmpeg. */
#ifndef APP_SOURCE_DEVICE_WISHES_H
#define APP_SOURCE_DEVICE_WISHES_H

#include <libavformat/avformat.h>

#include "app/source/camera.h"
#include "app/source/source.h"

/* Whether it is one of libavdevice's and no demuxer. NULL: no. */
bool device_is_input(const AVInputFormat *format);
bool device_is_camera(const AVInputFormat *format);
/* Whether the input is a camera that people stand before. */
bool device_is_mirror(const AVFormatContext *input);

/* wishes: those of the user. A screen: where url says where the grabbed part begins (":0.0+100,100") and nobody how
 * large it is, it reaches to the screen's end; x11grab by itself would grab as much as all of it. A camera:
 * camera_wishes. Nothing where the device cannot be opened: opening it says why. */
void device_wishes(AVDictionary **wishes, const AVInputFormat *format, const char *url,
                   const struct source_options *options);

/* The best match for options' size and rate, and a line that says which that is; where it is not what was asked for, a
 * warning. Nothing where the user has chosen a format. */
void camera_wishes(AVDictionary **wishes, const struct camera *camera, const struct source_options *options);

#endif
