/* Mixes two frames of sources into one, in host memory, so that one source fades to another. The result has the
 * format, size and times of the frame that fades in; the one that fades out is converted to its format and size. One
 * thread at a time uses a struct dissolve. */
#ifndef APP_SOURCE_DISSOLVE_H
#define APP_SOURCE_DISSOLVE_H

#include "unet/base/picture.h"

struct SwsContext;

/* Zero-initialise to start. It must not be moved. */
struct dissolve {
  struct host_pictures mixed, placed;
  struct SwsContext *scaler;
  int scaler_key[6];
  /* from: the frame of the source that fades out that was converted last; converted: the result of the conversion;
   * both have no planes before the first conversion */
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
