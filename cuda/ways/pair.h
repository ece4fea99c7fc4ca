/* Two linear layers with a layer norm between them: one launch (kernels/row_pair.cu), or a launch for each. */
#ifndef CUDA_WAYS_PAIR_H
#define CUDA_WAYS_PAIR_H

#include "cuda/program.h"

/* Appends to program->launches what computes op number `index` and the op behind it, which fuse.c has found to be such
 * layers (FUSED_PAIR). If the kernel does not have the second product, the launch stores the norm's result, and the
 * product is a launch of its own. */
int pair_prepare(struct cuda_device *device, struct cuda_program *program, const struct plan *plan, int index,
                 struct error *err);

#endif
