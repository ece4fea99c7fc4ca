/* OpenEXR, as far as it has to be known to tell whether a file was cut off: FFmpeg's decoder leaves out what is missing
 * and does not say so. */
#ifndef APP_SOURCE_EXR_H
#define APP_SOURCE_EXR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether all rows are there that the file's table names. Files of several parts, or of tiles, are taken to be whole.
 */
bool exr_is_whole(const uint8_t *data, size_t size);

#endif
