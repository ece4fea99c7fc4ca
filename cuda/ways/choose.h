/* Which way does a convolution or linear layer: the one kept for its shape, else the fastest of the candidates. */
#ifndef CUDA_WAYS_CHOOSE_H
#define CUDA_WAYS_CHOOSE_H

#include "cuda/ways/way.h"

/* Scratch for a convolution or linear layer: bytes, zero at first, gets the most that any way needs of each area. */
void product_scratch(const struct cuda_device *device, const struct cuda_program *program, const struct op *op,
                     size_t bytes[SCRATCH_AREAS]);
/* Appends the launches of op number `index`, a convolution or linear layer. */
int product_prepare(struct cuda_device *device, struct cuda_program *program, const struct plan *plan, int index,
                    struct error *err);

#endif
