/* Turns a plan's ops into launches: kernels or library functions with their arguments. */
#ifndef CUDA_OPS_H
#define CUDA_OPS_H

#include "cuda/program.h"

/* Appends the launches of op number `index` to program->launches. */
int op_prepare(struct cuda_device *device, struct cuda_program *program, const struct plan *plan, int index,
               struct error *err);
/* Stores in bytes[] how many bytes op number `index` needs of each scratch area; way.h lists the areas. */
void op_scratch(const struct cuda_device *device, const struct cuda_program *program, const struct op *op,
                size_t bytes[SCRATCH_AREAS]);

#endif
