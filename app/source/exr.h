/* Checks if an OpenEXR file was cut off. FFmpeg's decoder leaves out the missing rows without an error. */
#ifndef APP_SOURCE_EXR_H
#define APP_SOURCE_EXR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True if all rows that the file's table lists are in the file. Files with several parts or with tiles count as
 * complete. */
bool exr_is_whole(const uint8_t *data, size_t size);

#endif
