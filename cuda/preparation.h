/* Helpers of the functions that turn ops into launches (ops.c and others): they look up the addresses of an op's
 * operands, and append launches. */
#ifndef CUDA_PREPARATION_H
#define CUDA_PREPARATION_H

#include "cuda/program.h"

/* The arguments of the functions prepare_conv, prepare_linear and so on, each of which turns one op into launches. */
struct preparation {
  struct cuda_device *device;
  struct cuda_program *program;
  const struct op *op;
  int index;
  struct error *err;
  bool failed; /* true: the address of an operand could not be found, and err is set */
};

/* Returns an operand's device address, for kernels that take vectors (ROLE_VECTOR) in FP32 and all else in FP16. NULL:
 * the op has no such operand, or p->failed is set. */
static inline void *operand(struct preparation *p, struct tensor t, enum role role) {
  if (!tensor_exists(t))
    return NULL;
  void *data = tensor_data_as(p->device, p->program, t, role == ROLE_VECTOR ? DTYPE_F32 : DTYPE_F16, role, p->err);
  p->failed = p->failed || !data;
  return data;
}

/* Returns an operand's device address, for kernels that take FP32 and FP16. Stores the operand's type in *type. */
static inline void *operand_either(struct preparation *p, struct tensor t, enum dtype *type) {
  if (!tensor_exists(t))
    return NULL;
  void *data = tensor_data_either(p->device, p->program, t, type, p->err);
  p->failed = p->failed || !data;
  return data;
}

/* Returns the device address of an operand whose elements are whole numbers (int32). */
static inline void *operand_whole(struct preparation *p, struct tensor t) {
  void *data = tensor_data_as(p->device, p->program, t, DTYPE_I32, ROLE_ANY, p->err);
  p->failed = p->failed || !data;
  return data;
}

static inline int append(struct preparation *p, const struct launch *launch) {
  struct launch numbered = *launch;
  numbered.op = p->index;
  return p->failed ? -1 : launches_append(&p->program->launches, &numbered, p->err);
}

#endif
