/* Draws the cover (control/cover.h) into pixels: for recordings, streams and clients, which have no window. Only one
 * thread uses a struct cover_pixels. */
#ifndef APP_CONTROL_COVER_PIXELS_H
#define APP_CONTROL_COVER_PIXELS_H

#include "app/control/cover.h"
#include "unet/base/picture.h"

/* in the order of the choices of the parameter "fit" */
enum fit_kind { FIT_AS_CROP, FIT_AS_LETTERBOX, FIT_AS_STRETCH };

/* All that the window shows at one moment. held and source are empty where their levels are 0. */
struct covered {
  struct frame picture; /* RGBA */
  struct frame held;    /* RGBA, mixed in by cover.held */
  struct frame source;  /* any format, mixed in by cover.bypass */
  enum fit_kind fit;    /* how the source is fitted into the picture */
  struct cover_levels cover;
};

/* covered_hold returns a copy with holds of its own on the frames. covered_release ends them. */
struct covered covered_hold(const struct covered *covered);
void covered_release(struct covered *covered);

struct SwsContext;

/* Initialise with zeros. */
struct cover_pixels {
  struct host_pictures mixed, scaled;
  struct SwsContext *scaler;
};

/* Sets *out to the picture with its cover. The caller gets a hold and ends it with frame_release. Without a cover *out
 * is the picture itself, not a copy. */
int cover_pixels_apply(struct cover_pixels *cover_pixels, const struct covered *covered, struct frame *out,
                       struct error *err);
/* Frees the buffers and leaves zeros behind. */
void cover_pixels_free(struct cover_pixels *cover_pixels);

#endif
