/* The built-in moving test pattern. Its pixels are the same on each machine and in each run. Blocks of pixels show the
 * frame's number; the source "pattern-marked:WIDTHxHEIGHT" shows a marker (marker.h) instead. */
#ifndef APP_SOURCE_SOURCE_PATTERN_H
#define APP_SOURCE_SOURCE_PATTERN_H

#include "unet/base/frame.h"

/* The number is drawn as PATTERN_BITS black or white blocks of PATTERN_BLOCK pixels, from the top left corner to the
 * right, in as many rows as the width requires. The blocks are 32 bits of the number, lowest first, then 8 of a
 * checksum. */
enum { PATTERN_BLOCK = 8, PATTERN_BITS = 40 };

/* Reads the frame's number from a picture of the test pattern, which contains it as black and white blocks; the blocks
 * must be at their original position. Returns false if there are no valid blocks. Works for formats with luma alone in
 * plane 0 (NV12, YUV420P). */
bool pattern_read_number(const struct frame *frame, uint32_t *number);

#endif
