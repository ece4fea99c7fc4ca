/* Draws the cover (the source, black or a frozen picture over the engine's picture, see control/cover.h) into pixels in
 * host memory, for recordings, streams and remote clients; the window draws the cover on the GPU. A struct cover_pixels
 * is used by one thread. */
#ifndef APP_CONTROL_COVER_PIXELS_H
#define APP_CONTROL_COVER_PIXELS_H

#include "app/control/cover.h"
#include "unet/base/picture.h"

/* How the source is fitted into the picture. The numbers are those of the choices of the parameter "fit". */
enum fit_kind { FIT_AS_CROP, FIT_AS_LETTERBOX, FIT_AS_STRETCH };

/* The frames that the window shows at one moment, and how it mixes them. `held` and `source` have no pixels (are zeros)
 * if their levels in `cover` are 0. */
struct covered {
  struct frame picture; /* the newest picture of the engine, RGBA */
  struct frame held;    /* the picture that a freeze keeps on screen, RGBA; it is drawn with opacity cover.held */
  struct frame source;  /* the source's frame, in any format; it is drawn with opacity cover.bypass */
  enum fit_kind fit;    /* how the source is fitted into the picture */
  struct cover_levels cover;
};

/* covered_hold returns a copy of the struct with references of its own to the frames; covered_release releases them. */
struct covered covered_hold(const struct covered *covered);
void covered_release(struct covered *covered);

struct SwsContext;

/* Buffers in which the cover (black, the source, or a frozen picture) is drawn over the engine's picture. Initialise
 * with zeros. */
struct cover_pixels {
  struct host_pictures mixed, scaled;
  struct SwsContext *scaler;
};

/* Sets *out to covered->picture with what the window shows over it: black, the source's frame or a frozen picture. The
 * caller releases *out with frame_release. If the opacities of all three are 0, *out is covered->picture itself and
 * nothing is copied. Returns 0, or -1 with err set. */
int cover_pixels_apply(struct cover_pixels *cover_pixels, const struct covered *covered, struct frame *out,
                       struct error *err);
/* Frees the buffers and zeroes the struct. */
void cover_pixels_free(struct cover_pixels *cover_pixels);

#endif
