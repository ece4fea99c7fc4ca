/* The list of what sound can be listened to, as people read it. */
#ifndef APP_SOURCE_SOUND_INPUTS_H
#define APP_SOURCE_SOUND_INPUTS_H

#include <stdio.h>

#include "app/source/ffmpeg_libraries.h"

/* Of FFmpeg's device "pulse" or "alsa": what it can record from. Returns FFmpeg's code; AVERROR_DEMUXER_NOT_FOUND:
 * FFmpeg here has no such device. */
typedef int sound_look(const struct ffmpeg_devices *devices, AVDeviceInfoList **list, const char *device);
sound_look sound_inputs_look;

/* A line for each input that look finds, by the name that --sound takes, or why there is none. */
void sound_inputs_print(FILE *out, const struct ffmpeg_devices *devices, sound_look *look);

#endif
