/* Turns the ops of noise that moves with the picture, and of feedback (the last latent mixed into the next one), into
 * launches. */
#ifndef CUDA_OPS_CARRY_H
#define CUDA_OPS_CARRY_H

#include "cuda/preparation.h"

/* prepare_advect turns an OP_ADVECT into launches, prepare_carried_noise an OP_CARRIED_NOISE. */
int prepare_advect(struct preparation *p);
int prepare_carried_noise(struct preparation *p);
/* Turns an OP_START with the operand `last` (the last frame's latent, for feedback) into launches. */
int prepare_feedback(struct preparation *p);

/* Returns how many bytes of scratch memory an OP_ADVECT needs; 0 for other ops. */
size_t advect_scratch(const struct op *op);

#endif
