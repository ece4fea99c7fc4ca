/* Finds sequences of ops that one launch can do together. A plan is searched once, before its memory is laid out,
 * because sequences change what memory is needed: a tensor that only ops of one sequence use needs none, and a tensor
 * that a sequence reads must stay valid until its last op. Patterns look at shapes and operands, not at models. Ops
 * that match no pattern are prepared one by one. */
#ifndef CUDA_FUSE_H
#define CUDA_FUSE_H

#include "cuda/program.h"

/* Searches the plan's ops for sequences that one launch can do, and stores them in program->fused. */
int fusions_find(const struct cuda_device *device, struct cuda_program *program, struct error *err);
/* Prolongs the lifetimes of temporaries that a fused sequence of ops uses. One that the sequence reads stays valid
 * until the sequence's last op; one that it writes exists from the sequence's first op on. lifetimes: a copy of
 * plan->temporaries, which this function changes. */
void fusions_lifetimes(const struct cuda_program *program, struct temporary *lifetimes);
/* Appends to program->launches what computes the fused sequence of ops that begins with op number `index`. */
int fused_prepare(struct cuda_device *device, struct cuda_program *program, int index, struct error *err);

#endif
