/* What the preparation of all ops shares: the addresses of operands, and the list of launches. */
#ifndef CUDA_PREPARATION_H
#define CUDA_PREPARATION_H

#include "cuda/program.h"

/* The arguments of prepare_conv, prepare_linear, ..., each of which turns one op into launches of kernels. */
struct preparation {
  struct cuda_device *device;
  struct cuda_program *program;
  const struct op *op;
  int index;
  struct error *err;
  bool failed; /* true: an operand's address could not be found, and err is set */
};

/* Returns an operand's address, for kernels whose vectors are FP32 and all other operands FP16. */
static inline void *operand(struct preparation *p, struct tensor t, enum role role) {
  if (!tensor_exists(t))
    return NULL;
  void *data = tensor_data_as(p->device, p->program, t, role == ROLE_VECTOR ? DTYPE_F32 : DTYPE_F16, role, p->err);
  p->failed = p->failed || !data;
  return data;
}

/* Returns an operand's address, for kernels that take FP32 or FP16. Stores the type in *type. */
static inline void *operand_either(struct preparation *p, struct tensor t, enum dtype *type) {
  if (!tensor_exists(t))
    return NULL;
  void *data = tensor_data_either(p->device, p->program, t, type, p->err);
  p->failed = p->failed || !data;
  return data;
}

/* Returns the address of an operand that holds whole numbers. */
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
