/* Ops that one launch does together. A plan's ops are looked through once, before memory is laid out: what passes
 * between such ops needs none, and what they read has to stay until the last of them.
 *
 * A pattern knows shapes and operands, nothing of models. What fits no pattern is prepared op by op. */
#ifndef CUDA_FUSE_H
#define CUDA_FUSE_H

#include "cuda/program.h"

/* Fills program->fused. */
int fusions_find(const struct cuda_device *device, struct cuda_program *program, struct error *err);
/* The plan's temporaries with lifetimes as the program's launches have them; lifetimes is a copy of the plan's. */
void fusions_lifetimes(const struct cuda_program *program, struct temporary *lifetimes);
/* Appends the launch of the ops that begin with number `index`, of which program->fused tells how many there are. */
int fused_prepare(struct cuda_device *device, struct cuda_program *program, int index, struct error *err);

#endif
