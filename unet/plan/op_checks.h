/* What each op asks of its operands, and the shape of what it makes: a function for each, as op_check, in the file
 * beside the header that has its struct; and what several of them ask. */
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

/* Whether n rows are those of one latent or step or of several. */
static inline bool has_rows(struct guidance_rows rows, int n) {
  return rows.first >= 1 && rows.first <= GUIDANCE_ROWS_MAX && rows.each >= 1 && rows.each <= GUIDANCE_ROWS_MAX &&
         n >= rows.first && (n - rows.first) % rows.each == 0;
}

/* Whether there are steps enough for an op that runs so often, first at this one. */
static inline bool has_steps(int step, int runs) {
  return step >= 0 && step < CALLS_MAX && step + runs <= CALLS_MAX;
}

static inline bool is_same(struct tensor a, struct tensor b) {
  return tensor_exists(a) && a.space == b.space && a.index == b.index;
}

/* Of as many latents of one shape; or left out. */
static inline bool fits_latents(struct tensor t, struct tensor other) {
  return !tensor_exists(t) || (has_size(t, other) && t.c == other.c);
}

#endif
