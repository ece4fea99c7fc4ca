/* The built-in moving pattern. Its pixels are the same on each machine and in each run, and show the frame's number;
 * "pattern-marked:WIDTHxHEIGHT" has a marker (marker.h) instead. */
#ifndef APP_SOURCE_SOURCE_PATTERN_H
#define APP_SOURCE_SOURCE_PATTERN_H

#include "unet/base/frame.h"

/* The number is drawn as PATTERN_BITS black or white blocks of PATTERN_BLOCK pixels, from left to right from the top
 * left corner, in as many rows as the width requires: 32 bits of the number, lowest first, then 8 of a checksum. */
enum { PATTERN_BLOCK = 8, PATTERN_BITS = 40 };

/* Reads the number from a picture whose blocks are at their original place. Returns false if there is none. Works for
 * formats with luma in plane 0 only (NV12, YUV420P). */
bool pattern_read_number(const struct frame *frame, uint32_t *number);

#endif
