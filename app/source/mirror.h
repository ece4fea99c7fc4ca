/* Mirrors frames, left to right. */
#ifndef APP_SOURCE_MIRROR_H
#define APP_SOURCE_MIRROR_H

#include <stdatomic.h>

#include "unet/base/picture.h"

enum mirror_wish {
  MIRROR_AUTO /* the program mirrors only cameras in which people look at themselves */,
  MIRROR_ON,
  MIRROR_OFF
};

/* Settings for mirroring that a source reads at each frame, while another thread may change them. */
struct mirror {
  atomic_int wish; /* the user's wish, a value of enum mirror_wish */
  atomic_bool now; /* true if the frame read last was mirrored */
};

/* Replaces the frame's picture by its mirror image; the frame's other fields stay. Returns 0, or -1 with err; then the
 * frame is released. */
int mirror_frame(struct host_pictures *pictures, struct frame *frame, struct error *err);

#endif
