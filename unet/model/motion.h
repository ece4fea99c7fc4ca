/* Appends the ops that measure how the input picture moved since the last run. */
#ifndef UNET_MODEL_MOTION_H
#define UNET_MODEL_MOTION_H

#include "unet/plan/plan.h"

/* The results of OP_FLOW (op_motion.h): how the picture moved since the last run. All three are states of the plan
 * (tensors that outlive a run), with int32 values. */
struct motion {
  struct tensor flow, visible, global;
};

/* Appends the ops that compare a picture with that of the last run, in a region (ops that a run may skip) of kind
 * REGION_MOTION. A run that skips the region leaves all results unchanged; the next run that executes it must have
 * run.restart set. pixels: [1, h, w, 3], of which value * scale + bias is in 0..1. cell: side of a latent's cell in
 * pixels, which divides h and w. */
struct motion motion_of(struct plan *plan, struct tensor pixels, float scale, float bias, int cell);

#endif
