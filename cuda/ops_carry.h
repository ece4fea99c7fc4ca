/* Turns the ops of noise that moves with the picture, and of feedback, into launches. */
#ifndef CUDA_OPS_CARRY_H
#define CUDA_OPS_CARRY_H

#include "cuda/preparation.h"

int prepare_advect(struct preparation *p);
int prepare_carried_noise(struct preparation *p);
int prepare_feedback(struct preparation *p); /* OP_START with `last` */

#endif
