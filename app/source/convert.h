/* From a decoded AVFrame to struct frame: as it is where the engine reads its format, else through swscale; turned
 * upright where the file says so. */
#ifndef APP_SOURCE_CONVERT_H
#define APP_SOURCE_CONVERT_H

#include <libavutil/frame.h>

#include "app/flow/picture.h"

struct SwsContext;

/* Zero-initialise to start: nothing is turned then. */
struct convert {
  /* Display pixel (x, y) = (xx x + xy y, yx x + yy y) of the stored one, each 0 or +-1; all 0: as stored. */
  int xx, xy, yx, yy;
  struct SwsContext *scaler;
  int scaler_key[5]; /* what the scaler was made for: width, height, format, matrix, range */
  struct picture scaled, turned;
};

/* Takes over an FFmpeg display matrix. false: it is not a turn by quarters or a mirror, and is ignored. */
bool convert_orient(struct convert *convert, const int32_t matrix[9]);
/* Whether width and height change places. */
bool convert_swaps_sides(const struct convert *convert);

/* Fills frame's pixels, format, size, matrix and range; its planes last until in is unreferenced or the next call. */
int convert_frame(struct convert *convert, const AVFrame *in, struct frame *frame, struct error *err);

void convert_finish(struct convert *convert);

#endif
