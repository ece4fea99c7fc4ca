/* Declares the functions that check ops, op_check_<field> for each row of OP_TABLE. Each checks the shapes of an op's
 * operands, and fills *y with the shape of the result. It returns NULL, or what is wrong, as op_check does. The
 * functions are in op_canvas.c, op_carry.c, op_layers.c, op_memory.c, op_motion.c, op_pixels.c, op_prompts.c and
 * op_steps.c, each beside the header with the op's struct. The inline functions below are shared by several of them. */
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

/* Returns true if n is a complete number of guidance rows (copies of a latent, one for each prompt): those of the first
 * latent plus those of zero or more later latents. */
static inline bool has_rows(struct guidance_rows rows, int n) {
  return rows.first >= 1 && rows.first <= GUIDANCE_ROWS_MAX && rows.each >= 1 && rows.each <= GUIDANCE_ROWS_MAX &&
         n >= rows.first && (n - rows.first) % rows.each == 0;
}

/* An op that is repeated for several calls of the U-Net belongs to calls number `step` to step + runs - 1. Returns true
 * if these numbers are all from 0 to CALLS_MAX - 1. */
static inline bool has_steps(int step, int runs) {
  return step >= 0 && step < CALLS_MAX && step + runs <= CALLS_MAX;
}

static inline bool is_same(struct tensor a, struct tensor b) {
  return tensor_exists(a) && a.space == b.space && a.index == b.index;
}

/* Returns true if the optional operand t was left out, or has the shape of `other`. */
static inline bool fits_latents(struct tensor t, struct tensor other) {
  return !tensor_exists(t) || (has_size(t, other) && t.c == other.c);
}

#endif
