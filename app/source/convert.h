/* From a decoded AVFrame to struct frame: its own planes where the engine reads its format, else a picture made by
 * swscale; in BT.709's colours where it has wider ones, and turned upright where the file says so. */
#ifndef APP_SOURCE_CONVERT_H
#define APP_SOURCE_CONVERT_H

#include <libavutil/frame.h>

#include "app/source/gamut.h"
#include "app/source/surfaces.h"
#include "unet/base/picture.h"

struct SwsContext;

/* Zero-initialise to start: nothing is turned then. It must stay where it is. */
struct convert {
  bool copies;    /* planes as they are belong to a driver that has few of them: they are not kept */
  struct gpu gpu; /* as in struct source_options */
  bool alpha;     /* as in struct source_options */
  /* Display pixel (x, y) = (xx x + xy y, yx x + yy y) of the stored one, each 0 or +-1; all 0: as stored. */
  int xx, xy, yx, yy;
  struct SwsContext *scaler;
  int scaler_key[6];            /* what the scaler was made for: width, height, formats, matrix, range */
  struct gamut gamut;           /* where colours are wider than BT.709's */
  AVFrame *deep;                /* a picture before those are converted */
  struct picture_pool *decoded; /* pictures that are AVFrames */
  struct host_pictures scaled, turned;
  bool unlocked; /* there is no page-locked memory to be had */
  struct surfaces surfaces;
};

/* Takes over an FFmpeg display matrix, but for its scale. False: it is not a turn by quarters or a mirror, and is
 * ignored. */
bool convert_orient(struct convert *convert, const int32_t matrix[9]);
/* Whether it is given out otherwise than as it is stored. */
bool convert_turns(const struct convert *convert);
/* Whether width and height change places. */
bool convert_swaps_sides(const struct convert *convert);

/* Fills frame with a picture of its own, format, size, matrix and range. Takes what `in` refers to, where the picture
 * is that. */
int convert_frame(struct convert *convert, AVFrame *in, struct frame *frame, struct error *err);

void convert_free(struct convert *convert);

#endif
