/* Mixes two frames of sources into one, so that one source fades to another. The result has the format, size and times
 * of the frame that fades in, and is made where that frame's pixels are: in the GPU's memory, or in the host's. The one
 * that fades out is converted to its format and size. One thread at a time uses a struct dissolve. */
#ifndef APP_SOURCE_DISSOLVE_H
#define APP_SOURCE_DISSOLVE_H

#include "app/source/surfaces.h"
#include "unet/base/picture.h"

struct SwsContext;
enum { SCALER_KEY = 10 };

/* The buffers and the converter with which frames are mixed. The struct must stay at its address while it is used. */
struct dissolve {
  struct gpu gpu; /* the GPU that reads the mixtures; zeroed: there is none */
  /* mixed, mixed_there: mixtures in host memory, and in the GPU's; placed: frames that were converted to the layout of
   * others */
  struct host_pictures mixed, placed;
  struct surfaces mixed_there;
  struct SwsContext *scaler;
  int scaler_key[SCALER_KEY]; /* values for which the scaler was made */
  /* from: the last frame of the source that fades out; converted: that frame in the other source's format and size.
   * Neither has planes before the first conversion. */
  struct frame from, converted;
};

/* Sets up a struct dissolve. gpu: the GPU that reads the mixtures; its impl NULL: there is none. */
void dissolve_init(struct dissolve *dissolve, const struct gpu *gpu);
/* Mixes two frames to a new one, *out. Its pixels are `share` * `to` + (1 - `share`) * `from`; its other fields are
 * those of `to`. If their aspect ratios differ, `from` is scaled so that its visible part covers that of `to`. shape:
 * aspect ratio (width / height) to which frames are cropped later; 0: unknown, and that of `to` is used. The caller
 * releases *out. Returns 0, or -1 with err. */
int dissolve_mix(struct dissolve *dissolve, const struct frame *from, const struct frame *to, double shape, float share,
                 struct frame *out, struct error *err);
/* Releases the frame that dissolve_mix converted last and keeps for its next call. Called when a fade has ended. */
void dissolve_forget(struct dissolve *dissolve);
/* Frees the memory of *dissolve. Mixed frames that others have not released yet stay valid. */
void dissolve_free(struct dissolve *dissolve);

#endif
