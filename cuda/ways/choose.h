/* Chooses the implementation (way) of a convolution or linear layer: the one that the tuning file names for its shape,
 * or else the fastest of those that are timed. */
#ifndef CUDA_WAYS_CHOOSE_H
#define CUDA_WAYS_CHOOSE_H

#include "cuda/ways/way.h"

/* Stores in bytes[] how many bytes of each scratch area (way.h) a convolution or linear layer needs: for each area the
 * most that any implementation needs. bytes[] must be zeroed. */
void product_scratch(const struct cuda_device *device, const struct cuda_program *program, const struct op *op,
                     size_t bytes[SCRATCH_AREAS]);
/* Appends the launches of op number `index`, an OP_CONV, OP_LINEAR or OP_INJECT, to program->launches. */
int product_prepare(struct cuda_device *device, struct cuda_program *program, const struct plan *plan, int index,
                    struct error *err);

#endif
