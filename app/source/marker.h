/* A frame's number and a time that tells it from others, drawn along its left edge so that whoever sees the picture can
 * read them: MARKER_COLUMNS columns of MARKER_ROWS black or white blocks, the picture's height divided by MARKER_ROWS
 * in size, and a grey margin of one block beside them. Blocks are read in their middle, so that the picture may be
 * resized and its chroma may be anything. */
#ifndef APP_SOURCE_MARKER_H
#define APP_SOURCE_MARKER_H

#include <stdbool.h>

#include "unet/base/frame.h"

enum { MARKER_COLUMNS = 4, MARKER_ROWS = 24, MARKER_BLOCKS = MARKER_COLUMNS * MARKER_ROWS };

struct marker {
  uint32_t number;
  int64_t time_us; /* in microseconds, 48 bits are kept: when it was captured, of platform_now_ns; in a clip, when it is
                    * to be seen, from the clip's begin on */
};

/* Into a frame of PIXEL_YUV420P whose planes may be written. */
void marker_draw(const struct frame *frame, const struct marker *marker);
/* From the brightness in the middle of each block, row by row. false: there is no number in it. */
bool marker_read(const uint8_t level[MARKER_BLOCKS], struct marker *marker);

/* Where the middle of a block lies in a picture of that shape, width over height, as parts of its width and height. */
static inline double marker_x(int column, double shape) {
  return (column + 0.5) / MARKER_ROWS / shape;
}
static inline double marker_y(int row) {
  return (row + 0.5) / MARKER_ROWS;
}
/* Part of the width that blocks and margin take. */
static inline double marker_width(double shape) {
  return (MARKER_COLUMNS + 1.0) / MARKER_ROWS / shape;
}

#endif
