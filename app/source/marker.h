/* Draws a marker along the left edge of a frame: its number and a time, which can be read from the picture on the
 * screen. The marker has MARKER_COLUMNS by MARKER_ROWS black or white blocks, with a grey margin of one block. A
 * block's side is the picture's height divided by MARKER_ROWS. Blocks are read in their middle, so the picture may be
 * resized; chroma does not matter. */
#ifndef APP_SOURCE_MARKER_H
#define APP_SOURCE_MARKER_H

#include <stdbool.h>

#include "unet/base/frame.h"

enum { MARKER_COLUMNS = 4, MARKER_ROWS = 24, MARKER_BLOCKS = MARKER_COLUMNS * MARKER_ROWS };

struct marker {
  uint32_t number;
  /* time in microseconds, of which 48 bits are stored: when the frame was captured (platform_now_ns) or, in a clip,
   * when it is due, from the clip's beginning */
  int64_t time_us;
};

/* Draws the marker (blocks that show a frame's number and time) into a frame of PIXEL_YUV420P, whose planes must be
 * writable. */
void marker_draw(const struct frame *frame, const struct marker *marker);
/* Reads the marker from the brightness (0 to 255) in the middle of each block, row by row from the top left. Returns
 * false if the picture has no marker. */
bool marker_read(const uint8_t level[MARKER_BLOCKS], struct marker *marker);

/* marker_x and marker_y return the middle of one of the marker's square blocks, as fractions of the picture's width
 * and height from its top left corner. shape: the picture's width divided by its height. */
static inline double marker_x(int column, double shape) {
  return (column + 0.5) / MARKER_ROWS / shape;
}
static inline double marker_y(int row) {
  return (row + 0.5) / MARKER_ROWS;
}
/* Returns the fraction of the picture's width that the blocks and their margin take. */
static inline double marker_width(double shape) {
  return (MARKER_COLUMNS + 1.0) / MARKER_ROWS / shape;
}

#endif
