/* What lies over a picture (control/cover.h), in pixels: for outputs that are no window, and for who looks on from
 * elsewhere. One thread uses it. */
#ifndef APP_CONTROL_COVER_PIXELS_H
#define APP_CONTROL_COVER_PIXELS_H

#include "app/control/cover.h"
#include "unet/base/picture.h"

enum fit_kind { FIT_AS_CROP, FIT_AS_LETTERBOX, FIT_AS_STRETCH }; /* as the choices of the parameter fit */

/* What is shown at a moment. held and source hold nothing where their levels are 0. */
struct covered {
  struct frame picture; /* RGBA */
  struct frame held;    /* RGBA, by cover.held */
  struct frame source;  /* any format, by cover.bypass */
  enum fit_kind fit;    /* of the source */
  struct cover_levels cover;
};

/* Copies with holds of their own, and ends them. */
struct covered covered_hold(const struct covered *covered);
void covered_release(struct covered *covered);

struct SwsContext;

/* Zero-initialise to start. */
struct cover_pixels {
  struct host_pictures mixed, scaled;
  struct SwsContext *scaler;
};

/* *out is the picture as it is to be seen, with a hold; the picture itself where nothing lies over it. */
int cover_pixels_apply(struct cover_pixels *cover_pixels, const struct covered *covered, struct frame *out,
                       struct error *err);
void cover_pixels_free(struct cover_pixels *cover_pixels);

#endif
