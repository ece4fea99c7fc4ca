/* Mixes two frames of sources into one, in host memory, so that one source fades to another. The result has the format,
 * size and times of the frame that comes; the frame that goes is converted to those. A struct dissolve is used by one
 * thread at a time. */
#ifndef APP_SOURCE_DISSOLVE_H
#define APP_SOURCE_DISSOLVE_H

#include "unet/base/picture.h"

struct SwsContext;

/* Zero-initialise to start. It must not be moved. */
struct dissolve {
  struct host_pictures mixed, placed;
  struct SwsContext *scaler;
  int scaler_key[6];
  /* the frame that goes, as it was converted last, and that frame itself; both have no planes if none was */
  struct frame from, converted;
};

/* True if the frame's pixels can be read in host memory. */
bool dissolve_can_read(const struct frame *frame);
/* Mixes `from` and `to`: *out is a new frame with the share `share` (0 to 1) of `to`, and all other fields of `to`.
 * shape: width divided by height of the pictures into which frames are cropped afterwards: where the two have different
 * shapes, what is seen of `from` lies over what is seen of `to`. 0: not known, and the shape of `to` is used. The
 * caller releases *out. Returns 0, or -1 with err. */
int dissolve_mix(struct dissolve *dissolve, const struct frame *from, const struct frame *to, double shape, float share,
                 struct frame *out, struct error *err);
/* Releases the frame that was converted last, which is not needed any more. */
void dissolve_forget(struct dissolve *dissolve);
/* Frees all that it holds; frames that others still hold stay valid. */
void dissolve_free(struct dissolve *dissolve);

#endif
