/* Turns the ops that measure motion, and those of the canvas (a plane on which the scene stands still while the camera
 * moves), into launches. */
#ifndef CUDA_OPS_MOTION_H
#define CUDA_OPS_MOTION_H

#include "cuda/preparation.h"

/* Each of these functions turns one kind of op into launches, and is named after it: prepare_match is for OP_MATCH. */
int prepare_canvas_place(struct preparation *p);
int prepare_canvas_draw(struct preparation *p);
int prepare_canvas_noise(struct preparation *p);
int prepare_pyramid(struct preparation *p);
int prepare_match(struct preparation *p);
int prepare_fit(struct preparation *p);
int prepare_flow(struct preparation *p);

/* Returns how many bytes of scratch memory an op that measures motion needs; 0 for other ops. */
size_t motion_scratch(const struct op *op);

#endif
