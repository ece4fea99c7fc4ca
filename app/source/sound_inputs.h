/* Prints the list of inputs with sound. */
#ifndef APP_SOURCE_SOUND_INPUTS_H
#define APP_SOURCE_SOUND_INPUTS_H

#include <stdio.h>

#include "app/source/ffmpeg_libraries.h"

/* Lists what FFmpeg's device "pulse" or "alsa" can record from. Returns a negative FFmpeg code after an error;
 * AVERROR_DEMUXER_NOT_FOUND: FFmpeg here has no such device. */
typedef int sound_look(const struct ffmpeg_devices *devices, AVDeviceInfoList **list, const char *device);
sound_look sound_inputs_look;

/* Prints each input that `look` finds, by the name that --sound takes, or why there are none. */
void sound_inputs_print(FILE *out, const struct ffmpeg_devices *devices, sound_look *look);

#endif
