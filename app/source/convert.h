/* Converts a decoded AVFrame to struct frame. If the engine reads the AVFrame's pixel format, the frame refers to its
 * planes without a copy; else swscale converts it to a new picture. Colours with wider primaries than BT.709's are
 * converted, and the picture is turned upright if the file says so. */
#ifndef APP_SOURCE_CONVERT_H
#define APP_SOURCE_CONVERT_H

#include <libavutil/frame.h>

#include "app/source/gamut.h"
#include "app/source/surfaces.h"
#include "unet/base/picture.h"

struct SwsContext;

/* The state of converting. Zero-initialise it to start; then nothing is turned. The struct must not move while it is
 * used. */
struct convert {
  bool copies;    /* frames are copied at once, because their planes are a driver's own buffers, of which it has few */
  struct gpu gpu; /* the GPU that reads the frames; gpu.impl NULL: none */
  bool alpha;     /* pictures keep their alpha */
  /* The orientation: the displayed pixel (x, y) is the stored pixel (xx x + xy y, yx x + yy y), where negative
   * coordinates count from the right or bottom edge. Each of the four is -1, 0 or 1; all 0: pictures stay as stored. */
  int xx, xy, yx, yy;
  struct SwsContext *scaler;
  int scaler_key[6];            /* parameters of the scaler: width, height, formats, matrix, range */
  struct gamut gamut;           /* conversion of wider colours */
  AVFrame *deep;                /* picture in 16 bits, before wider colours are converted */
  struct picture_pool *decoded; /* pictures that refer to the planes of an AVFrame */
  struct host_pictures scaled, turned;
  bool unlocked; /* no page-locked memory is available */
  struct surfaces surfaces;
};

/* Sets the orientation by an FFmpeg display matrix, without its scale. Returns false and ignores the matrix if it is
 * not a rotation by quarters or a mirror. */
bool convert_orient(struct convert *convert, const int32_t matrix[9]);
/* True if the orientation turns or mirrors pictures. */
bool convert_turns(const struct convert *convert);
/* True if the orientation swaps width and height. */
bool convert_swaps_sides(const struct convert *convert);

/* Fills frame with the picture of `in`, its format, size, matrix and range. If the picture refers to the planes of
 * `in`, it takes over the reference, and `in` is empty afterwards. Returns 0, or -1 with err. */
int convert_frame(struct convert *convert, AVFrame *in, struct frame *frame, struct error *err);

/* Frees what convert holds; pictures that are still held stay valid. Accepts zeros. */
void convert_free(struct convert *convert);

#endif
