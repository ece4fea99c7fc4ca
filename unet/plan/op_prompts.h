/* The ops that times, prompts and guidance go through on their way to a network (op.h). */
#ifndef UNET_PLAN_OP_PROMPTS_H
#define UNET_PLAN_OP_PROMPTS_H

#include "unet/plan/operands.h"

/* y[0, 0, i] = token[run.tokens[i]] + position[i].
 *   token     [vocabulary, 1, 1, c]
 *   position  [positions, 1, 1, c]
 *   y         [1, 1, positions, c] */
#define OPERANDS_EMBED(T, P)                                                                                           \
  T(token, OPERAND_READ | OPERAND_MATRIX)                                                                              \
  T(position, OPERAND_READ | OPERAND_MATRIX)                                                                           \
  T(y, OPERAND_WRITE)
struct op_embed {
  OPERANDS(EMBED)
};

/* Sinusoidal embedding: row i of y is that of t = run.step[i].timestep, a real number. half = c / 2, f_k =
 * exp(-ln(10000) k / (half - shift)); [cos | sin] of t f_k with cos_first (diffusers' flip_sin_to_cos), else [sin |
 * cos]. Computed in FP32 or better. With rows, so many rows in a row are of the same step, first of them of the first.
 * With values, each row is the
 * embeddings of these values beside each other instead, with half = c / (2 values).
 *   y  [rows, 1, 1, c]; rows and c are given as y.n and y.c */
#define OPERANDS_TIMESTEP(T, P) T(y, OPERAND_WRITE)
struct op_timestep {
  OPERANDS(TIMESTEP)
  bool cos_first;
  float shift;     /* freq_shift */
  int rows, first; /* of each step; 0: 1. Of the first one; 0: as many */
  int values;
  float value[SIZES];
};

/* w-embedding of full LCM models, the same for each row: w = (run.guidance - 1) * 1000,
 * f_k = exp(-ln(10000) k / (half - 1)), [sin | cos] of w f_k.
 *   y  [rows, 1, 1, time_cond_proj_dim]; rows and c are given */
#define OPERANDS_GUIDANCE_EMBED(T, P) T(y, OPERAND_WRITE)
struct op_guidance_embed {
  OPERANDS(GUIDANCE_EMBED)
};

/* y = the rows of `step` in table, in a loop of the iteration's step: all time projections of one U-Net call. Outside a
 * loop tensor_rows_of says the same without an op.
 *   table  [steps * rows, 1, 1, c]: a state
 *   y      [rows, 1, 1, c]; the rows are given as y.n, or 0 for 1 */
#define OPERANDS_TIME_ROW(T, P)                                                                                        \
  T(table, OPERAND_READ | OPERAND_MATRIX | OPERAND_STATE)                                                              \
  T(y, OPERAND_WRITE)
struct op_time_row {
  OPERANDS(TIME_ROW)
  int step; /* in a loop (plan.h) that of its first iteration; each iteration's is the next */
};

/* slots[run.slot] = x: the last op of the plans that make a prompt. Of a ring, slots[run.turn % n] = x.
 *   x      [1, h, w, c]
 *   slots  [n, h, w, c] */
#define OPERANDS_STORE_SLOT(T, P)                                                                                      \
  T(x, OPERAND_READ)                                                                                                   \
  T(slots, OPERAND_WRITE | OPERAND_STATE)
struct op_store_slot {
  OPERANDS(STORE_SLOT)
  bool ring;
};

/* What waits goes `by` places on, and x takes the first ones: from the last on, rows[i] = rows[i - by]; then
 * rows[0 .. by) = x. Without x these stay as they are.
 *   x     [by, h, w, c]
 *   rows  [a multiple of by, h, w, c] */
#define OPERANDS_SHIFT(T, P)                                                                                           \
  T(x, OPERAND_READ | OPERAND_OPTIONAL)                                                                                \
  T(rows, OPERAND_READ | OPERAND_WRITE | OPERAND_STATE)
struct op_shift {
  OPERANDS(SHIFT)
  int by; /* 0: 1 */
};

/* Row r of y = sum over i of run.prompt[p].weight[i] * slots[run.prompt[p].slot[i]], for r < y.n, where p is r for the
 * first rows and then their number modulo rows. The sum ends before the first weight of 0: what is behind is not
 * read.
 *   y  [n, 1, tokens, c]; n is given, first and a multiple of rows */
#define OPERANDS_PROMPT(T, P)                                                                                          \
  T(slots, OPERAND_READ | OPERAND_MATRIX | OPERAND_STATE)                                                              \
  T(y, OPERAND_WRITE)
struct op_prompt {
  OPERANDS(PROMPT)
  int rows, first; /* 0: n, and as many as rows */
};

/* y = token run.end of x: the one whose hidden state stands for the whole text.
 *   x  [1, 1, tokens, c]
 *   y  [1, 1, 1, c] */
#define OPERANDS_END_TOKEN(T, P)                                                                                       \
  T(x, OPERAND_READ)                                                                                                   \
  T(y, OPERAND_WRITE)
struct op_end_token {
  OPERANDS(END_TOKEN)
};

/* y = f w x, where w = 1 + run.emphasis[t] for each token t. The factor f = mean(x) / mean(w x) restores the mean over
 * tokens and channels that x had. It is clamped to -EMPHASIS_MAX..EMPHASIS_MAX, and is 1 where the quotient is no
 * number. Without emphasis y equals x to the bit.
 *   x  [1, 1, tokens, c] */
#define OPERANDS_EMPHASIS(T, P)                                                                                        \
  T(x, OPERAND_READ)                                                                                                   \
  T(y, OPERAND_WRITE)
struct op_emphasis {
  OPERANDS(EMPHASIS)
};

#endif
