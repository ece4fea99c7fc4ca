/* What the files that find fused launches (fuse.c, fuse_convs.c) ask of an op's operands. */
#ifndef CUDA_FUSE_OPERANDS_H
#define CUDA_FUSE_OPERANDS_H

#include "cuda/program.h"

enum { LAUNCHES_MAX = 2 }; /* largest number of launches that replace one sequence of ops */

/* Returns true if the kernels of rows.h (several ops of a transformer in one launch) can read the tensor: it is FP16,
 * and its number of channels, its pitch and its offset are multiples of 8. */
static inline bool has_rows(const struct cuda_program *program, struct tensor t) {
  return tensor_exists(t) && t.offset % 8 == 0 && t.pitch % 8 == 0 && t.c % 8 == 0 &&
         element_is(tensor_element(program, t), DTYPE_F16);
}

static inline bool is_same(struct tensor a, struct tensor b) {
  return a.space == b.space && a.index == b.index && a.offset == b.offset && a.c == b.c && a.n == b.n && a.h == b.h &&
         a.w == b.w;
}

/* Returns true if no op after op number `last` reads the tensor, so that a launch for all ops up to `last` need not
 * store it. */
static inline bool is_inner(const struct cuda_program *program, struct tensor t, int last) {
  return t.space == TENSOR_TEMPORARY && program->base.plan->temporaries[t.index].last <= last;
}

static inline bool is_dense(const struct cuda_program *program, struct tensor t) {
  return has_rows(program, t) && t.pitch == t.c;
}

/* Arguments of address(), which returns a tensor's device address. If an address cannot be found, `ok` becomes false
 * and err is set. */
struct addresses {
  struct cuda_device *device;
  const struct cuda_program *program;
  struct error *err;
  bool ok;
};

static inline void *address(struct addresses *a, struct tensor t, enum role role) {
  if (!tensor_exists(t))
    return NULL;
  void *data = tensor_data_as(a->device, a->program, t, role == ROLE_VECTOR ? DTYPE_F32 : DTYPE_F16, role, a->err);
  a->ok = a->ok && data;
  return data;
}

#endif
