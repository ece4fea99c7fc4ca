/* Checks whether the file of a still picture ends where its format says. If a picture was cut off, FFmpeg decodes it in
 * some formats all the same, fills what is missing, and reports no error. */
#ifndef APP_SOURCE_PICTURE_END_H
#define APP_SOURCE_PICTURE_END_H

#include <stdbool.h>

/* Returns true if the file is a JPEG without the marker of its end, or an OpenEXR picture of scan lines whose table
 * names data beyond the end of the file. False for other formats, and if the file cannot be read. */
bool picture_is_cut(const char *path);

#endif
