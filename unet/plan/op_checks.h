/* The rules of ops: op_check_<field> checks an op's operands and gives the shape of its y, as op_check does. Each is in
 * the op_*.c with the name of the header that has the op's struct. The inline functions below are shared by several of
 * them. */
#ifndef UNET_PLAN_OP_CHECKS_H
#define UNET_PLAN_OP_CHECKS_H

#include "unet/plan/op.h"

#define OP_CHECK(TYPE, field, ...) const char *op_check_##field(const struct op *op, int runs, struct op_result *y);
OP_TABLE(OP_CHECK)
#undef OP_CHECK

static inline bool has_size(struct tensor t, struct tensor other) {
  return t.n == other.n && t.h == other.h && t.w == other.w;
}

static inline bool fits_result(struct tensor t, const struct op_result *y) {
  return !tensor_exists(t) || (t.n == y->n && t.h == y->h && t.w == y->w && t.c == y->c);
}

static inline struct op_result shape_of(struct tensor x) {
  return (struct op_result){.n = x.n, .h = x.h, .w = x.w, .c = x.c};
}

/* True if n rows can be the first latent's rows, followed by those of some later latents. */
static inline bool has_rows(struct guidance_rows rows, int n) {
  return rows.first >= 1 && rows.first <= GUIDANCE_ROWS_MAX && rows.each >= 1 && rows.each <= GUIDANCE_ROWS_MAX &&
         n >= rows.first && (n - rows.first) % rows.each == 0;
}

/* True if an op that begins at this step and runs this often stays within CALLS_MAX. */
static inline bool has_steps(int step, int runs) {
  return step >= 0 && step < CALLS_MAX && step + runs <= CALLS_MAX;
}

static inline bool is_same(struct tensor a, struct tensor b) {
  return tensor_exists(a) && a.space == b.space && a.index == b.index;
}

/* True if t was left out or has the shape of other. */
static inline bool fits_latents(struct tensor t, struct tensor other) {
  return !tensor_exists(t) || (has_size(t, other) && t.c == other.c);
}

#endif
