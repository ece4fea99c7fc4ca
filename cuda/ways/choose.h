/* Chooses the implementation (way) of a convolution or linear layer: the one that the tuning file has for its shape,
 * else the fastest of those that are timed. */
#ifndef CUDA_WAYS_CHOOSE_H
#define CUDA_WAYS_CHOOSE_H

#include "cuda/ways/way.h"

/* Finds the scratch memory for a convolution or linear layer. bytes is zero at first, and gets the most bytes that any
 * way needs of each area. */
void product_scratch(const struct cuda_device *device, const struct cuda_program *program, const struct op *op,
                     size_t bytes[SCRATCH_AREAS]);
/* Appends the launches of op number `index`, a convolution or linear layer. */
int product_prepare(struct cuda_device *device, struct cuda_program *program, const struct plan *plan, int index,
                    struct error *err);

#endif
