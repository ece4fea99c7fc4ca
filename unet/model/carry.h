/* Noise that moves with the picture, and feedback of the last picture: the ops that a frame's plan has for them. */
#ifndef UNET_MODEL_CARRY_H
#define UNET_MODEL_CARRY_H

#include "unet/model/motion.h"
#include "unet/model/plans.h"

/* Appends the ops that move the frame's noise. Returns the noise as the networks read it, in states. motion: of the
 * input, at the latent's grid. cell: side of a latent's cell in pixels. */
struct frame_noise carry_noise(struct plan *plan, const struct motion *motion, const struct frame_noise *noise,
                               int cell);
/* Sets the operands with which OP_START mixes the last picture's latent into the input's, op->z. */
void carry_feed(struct plan *plan, const struct motion *motion, int cell, struct op_start *op);
/* Appends the op that stores this picture's latent x as the last one. */
void carry_keep(struct plan *plan, struct tensor last, struct tensor x);

#endif
