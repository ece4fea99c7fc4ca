/* The built-in moving pattern: the same pixels on every machine and in every run, with the frame's number in it.
 * "pattern-marked:WIDTHxHEIGHT" has a marker (marker.h) in its place. */
#ifndef APP_SOURCE_SOURCE_PATTERN_H
#define APP_SOURCE_SOURCE_PATTERN_H

#include "unet/base/frame.h"

/* The number is drawn as PATTERN_BITS black or white blocks of PATTERN_BLOCK pixels, left to right from the top left
 * corner, in as many rows as the width needs: 32 bits of the number, lowest first, then 8 of a checksum. */
enum { PATTERN_BLOCK = 8, PATTERN_BITS = 40 };

/* Reads the number out of a picture in which the blocks still stand at their place. false: none is there. Formats with
 * luma in plane 0 (NV12, YUV420P) only. */
bool pattern_read_number(const struct frame *frame, uint32_t *number);

#endif
