/* The end of a transformer where libraries make its products: a linear layer with GEGLU, the narrowing layer behind it
 * with its residual, and the projection out. Three products, or two: the last two are one then, of the weights that
 * product_fold makes, and its input is the result of GEGLU and the residual side by side. */
#ifndef CUDA_WAYS_FEED_H
#define CUDA_WAYS_FEED_H

#include "cuda/program.h"

/* Returns true if a linear layer `op` and the one behind it, with residuals, can be one product of a library. The
 * product of their weights takes memory beside them, which is why wide layers do without. */
bool feed_supported(const struct cuda_device *device, const struct op *op);
/* Appends to program->launches what computes op number `index` and the two ops behind it, which fuse.c has found to be
 * such layers (FUSED_FEED). */
int feed_prepare(struct cuda_device *device, struct cuda_program *program, const struct plan *plan, int index,
                 struct error *err);

#endif
