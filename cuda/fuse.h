/* Finds ops that one launch can do together. A plan's ops are searched once, before memory is laid out: tensors between
 * such ops need no memory, and tensors that they read must stay valid until the last of them.
 *
 * A pattern depends on shapes and operands, not on models. Ops that match no pattern are prepared one by one. */
#ifndef CUDA_FUSE_H
#define CUDA_FUSE_H

#include "cuda/program.h"

/* Fills program->fused. */
int fusions_find(const struct cuda_device *device, struct cuda_program *program, struct error *err);
/* Adapts the lifetimes of temporaries to the program's launches. lifetimes: a copy of the plan's temporaries. */
void fusions_lifetimes(const struct cuda_program *program, struct temporary *lifetimes);
/* Appends the launch of the fused ops that begin with number `index`. */
int fused_prepare(struct cuda_device *device, struct cuda_program *program, int index, struct error *err);

#endif
