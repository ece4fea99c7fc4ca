/* Finds ops that one launch can do together. A plan's ops are searched once, before memory is laid out: tensors between
 * such ops need no memory, and tensors that they read must stay valid until the last of them.
 *
 * A pattern depends on shapes and operands, not on models. Ops that match no pattern are prepared one by one. */
#ifndef CUDA_FUSE_H
#define CUDA_FUSE_H

#include "cuda/program.h"

/* Searches the plan's ops for sequences that one launch can do, and stores them in program->fused. */
int fusions_find(const struct cuda_device *device, struct cuda_program *program, struct error *err);
/* Prolongs the lifetimes of temporaries that a fused sequence uses: those that it reads last until its last op, and
 * those that it writes begin with its first op. lifetimes: a copy of plan->temporaries, which is changed. */
void fusions_lifetimes(const struct cuda_program *program, struct temporary *lifetimes);
/* Appends the launches of the sequence that begins with op number `index` to program->launches. */
int fused_prepare(struct cuda_device *device, struct cuda_program *program, int index, struct error *err);

#endif
