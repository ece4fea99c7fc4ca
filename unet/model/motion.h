/* The ops that measure how the picture moved since the last run, in their order. */
#ifndef UNET_MODEL_MOTION_H
#define UNET_MODEL_MOTION_H

#include "unet/plan/plan.h"

/* The results of OP_FLOW (op_motion.h), the picture's motion since the last run: states of the plan, whole numbers. */
struct motion {
  struct tensor flow, back, visible, global;
};

/* Appends the ops that compare a picture with that of the last run, in a region of REGION_MOTION. A run that skips the
 * region leaves all results as they were; the next one that does not must have run.restart set.
 * pixels: [1, h, w, 3]; value * scale + bias is in 0..1. cell: side of a latent's cell in pixels, which divides h and
 * w. */
struct motion motion_of(struct plan *plan, struct tensor pixels, float scale, float bias, int cell);

#endif
