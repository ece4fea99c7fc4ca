/* Appends to a frame's plan the ops for noise that moves with the picture, and for feedback, which mixes the last
 * picture's latent into the input's. */
#ifndef UNET_MODEL_CARRY_H
#define UNET_MODEL_CARRY_H

#include "unet/model/motion.h"
#include "unet/model/plans.h"

/* Appends the op OP_ADVECT. For each of h x w cells of the latent, it finds where the noise that moves with the picture
 * comes from. Returns the state (a tensor that outlives a run) with the op's result. cell: side of a latent's cell in
 * pixels. */
struct tensor carry_places(struct plan *plan, const struct motion *motion, int h, int w, int cell);
/* Appends the ops that move the noise with the picture, and returns the moved noise, in states. motion: how the input
 * moved, for each cell of the latent; cell: side of a latent's cell in pixels. */
struct frame_noise carry_noise(struct plan *plan, const struct motion *motion, const struct frame_noise *noise,
                               int cell);
/* Sets the operands by which OP_START mixes the last picture's latent into op->z, the latent of the input
 * (feedback). */
void carry_feed(struct plan *plan, const struct motion *motion, int cell, struct op_start *op);
/* Appends the op that stores x, the latent of this run's picture, in the state `last` (a tensor that outlives the run),
 * for the feedback of the next run. */
void carry_keep(struct plan *plan, struct tensor last, struct tensor x);

#endif
