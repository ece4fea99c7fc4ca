/* From a plan's ops to launches. */
#ifndef CUDA_OPS_H
#define CUDA_OPS_H

#include "cuda/program.h"

/* Appends what runs op number `index` of the plan to program->launches. */
int op_prepare(struct cuda_device *device, struct cuda_program *program, const struct plan *plan, int index,
               struct error *err);
/* Bytes that an op needs of each of the program's scratch areas. */
void op_scratch(const struct cuda_device *device, const struct cuda_program *program, const struct op *op,
                size_t bytes[SCRATCH_AREAS]);

#endif
