/* Frames as a mirror shows them. */
#ifndef APP_SOURCE_MIRROR_H
#define APP_SOURCE_MIRROR_H

#include <stdatomic.h>

#include "unet/base/picture.h"

enum mirror_wish { MIRROR_AUTO /* of cameras that people stand before */, MIRROR_ON, MIRROR_OFF };

/* Shared by sources and whoever changes it while they run. */
struct mirror {
  atomic_int wish; /* enum mirror_wish */
  atomic_bool now; /* whether the frame read last is mirrored */
};

/* Puts the mirror image in the frame's place, which keeps all that it says beside. On failure the frame is released. */
int mirror_frame(struct host_pictures *pictures, struct frame *frame, struct error *err);

#endif
