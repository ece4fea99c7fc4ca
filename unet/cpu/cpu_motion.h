/* What the parts of the definition of motion share. */
#ifndef UNET_CPU_CPU_MOTION_H
#define UNET_CPU_CPU_MOTION_H

#include "unet/plan/motion_math.h"

/* The search for the blocks of `now` in `last`. */
struct matching {
  struct motion_size size;
  const int32_t *now, *last; /* pyramids */
  int32_t *found;            /* for each block the key of the best vector at level 3 (motion_seek_key) */
  int32_t *out;              /* for each block MATCH_VALUES values of OP_MATCH's y */
};

#endif
