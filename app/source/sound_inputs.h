/* Prints the list of sound inputs that --sound can use. */
#ifndef APP_SOURCE_SOUND_INPUTS_H
#define APP_SOURCE_SOUND_INPUTS_H

#include <stdio.h>

#include "app/source/ffmpeg_libraries.h"

/* Lists the inputs from which FFmpeg's device "pulse" or "alsa" can record. The caller frees *list with
 * devices->free_list_devices. Returns a negative FFmpeg code after an error; AVERROR_DEMUXER_NOT_FOUND: this FFmpeg was
 * built without the device. */
typedef int sound_look(const struct ffmpeg_devices *devices, AVDeviceInfoList **list, const char *device);
sound_look sound_inputs_look;

/* Prints each input that `look` finds, by the name that --sound takes; if there are no inputs, prints the reason. */
void sound_inputs_print(FILE *out, const struct ffmpeg_devices *devices, sound_look *look);

#endif
