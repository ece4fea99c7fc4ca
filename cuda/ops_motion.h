/* Turns the ops of motion, and of the canvas that follows it, into launches. */
#ifndef CUDA_OPS_MOTION_H
#define CUDA_OPS_MOTION_H

#include "cuda/preparation.h"

int prepare_canvas_place(struct preparation *p);
int prepare_canvas_draw(struct preparation *p);
int prepare_canvas_noise(struct preparation *p);
int prepare_pyramid(struct preparation *p);
int prepare_match(struct preparation *p);
int prepare_fit(struct preparation *p);
int prepare_flow(struct preparation *p);

/* Returns the bytes of scratch that an op of motion needs; 0 for other ops. */
size_t motion_scratch(const struct op *op);

#endif
