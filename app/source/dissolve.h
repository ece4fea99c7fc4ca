/* Mixes two frames of sources into one, in host memory, so that one source fades to another. The result has the
 * format, size and times of the frame that fades in; the one that fades out is converted to its format and size. One
 * thread at a time uses a struct dissolve. */
#ifndef APP_SOURCE_DISSOLVE_H
#define APP_SOURCE_DISSOLVE_H

#include "unet/base/picture.h"

struct SwsContext;

/* The buffers and the converter with which frames are mixed. Zero-initialise to start. The struct must stay at its
 * address while it is used. */
struct dissolve {
  struct host_pictures mixed, placed;
  struct SwsContext *scaler;
  int scaler_key[6];
  /* Of the source that fades out: `from` is the frame that was last converted to the other source's format and size,
   * `converted` is that conversion's result. Neither of the two has planes before the first conversion. */
  struct frame from, converted;
};

/* True if the frame's pixels can be read in host memory. */
bool dissolve_can_read(const struct frame *frame);
/* Mixes two frames to a new one, *out: its pixels are `share` * `to` + (1 - `share`) * `from`, its other fields those
 * of `to`. shape: aspect ratio (width / height) to which frames are cropped afterwards; 0: not known, and that of `to`
 * is used. If the frames have different aspect ratios, `from` is scaled so that its part that remains after cropping
 * covers that of `to`. The caller releases *out. Returns 0, or -1 with err. */
int dissolve_mix(struct dissolve *dissolve, const struct frame *from, const struct frame *to, double shape, float share,
                 struct frame *out, struct error *err);
/* Releases the frame that dissolve_mix converted last and keeps for its next call. Called when a fade has ended. */
void dissolve_forget(struct dissolve *dissolve);
/* Frees the memory of *dissolve. Mixed frames that others have not released yet stay valid. */
void dissolve_free(struct dissolve *dissolve);

#endif
