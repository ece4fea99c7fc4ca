/* The ops that turn timesteps, prompts and guidance into a network's inputs. op.h says how ops are declared. */
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

/* y = the sinusoidal embedding of timesteps: row i is that of t = run.step[i].timestep, a real number. With half = c /
 * 2 and f_k = exp(-ln(10000) k / (half - shift)), a row is [cos | sin] of t f_k with cos_first (diffusers'
 * flip_sin_to_cos), else [sin | cos]. It is computed in FP32 or better. With `rows`, that many successive rows belong
 * to the same step, and `first` of them to the first step. With `values`, a row is the concatenated embeddings of these
 * values instead of a timestep's, with half = c / (2 values).
 *   y  [rows, 1, 1, c]; rows and c are given as y.n and y.c */
#define OPERANDS_TIMESTEP(T, P) T(y, OPERAND_WRITE)
struct op_timestep {
  OPERANDS(TIMESTEP)
  bool cos_first;
  float shift; /* freq_shift in diffusers */
  /* the first `first` rows of y belong to the first step, the next `rows` to each later one; rows 0 means 1, first 0
   * means `rows` */
  int rows, first;
  int values;
  float value[SIZES];
};

/* y = the guidance embedding of full LCM models, the same in each row: w = (run.guidance - 1) * 1000, f_k =
 * exp(-ln(10000) k / (half - 1)), [sin | cos] of w f_k.
 *   y  [rows, 1, 1, time_cond_proj_dim]; rows and c are given */
#define OPERANDS_GUIDANCE_EMBED(T, P) T(y, OPERAND_WRITE)
struct op_guidance_embed {
  OPERANDS(GUIDANCE_EMBED)
};

/* y = the rows of the table that belong to call number `step` of the U-Net: the time projections of all its res blocks.
 * In a loop the call is that of the iteration; outside a loop tensor_rows_of gives the same rows without an op.
 *   table  [calls * rows, 1, 1, c]: a state
 *   y      [rows, 1, 1, c]; the rows are given as y.n, where 0 means 1 */
#define OPERANDS_TIME_ROW(T, P)                                                                                        \
  T(table, OPERAND_READ | OPERAND_MATRIX | OPERAND_STATE)                                                              \
  T(y, OPERAND_WRITE)
struct op_time_row {
  OPERANDS(TIME_ROW)
  /* number of the U-Net's call; in a loop (plan.h) that of the first iteration, and one more in each later one */
  int step;
};

/* slots[run.slot] = x. It is the last op of the plans that encode a prompt. With ring, slots[run.turn % n] = x.
 *   x      [1, h, w, c]
 *   slots  [n, h, w, c] */
#define OPERANDS_STORE_SLOT(T, P)                                                                                      \
  T(x, OPERAND_READ)                                                                                                   \
  T(slots, OPERAND_WRITE | OPERAND_STATE)
struct op_store_slot {
  OPERANDS(STORE_SLOT)
  bool ring;
};

/* Moves a queue on by `by` rows: from the last row to the first, rows[i] = rows[i - by]; then rows[0 .. by) = x.
 * Without x the first rows keep their values.
 *   x     [by, h, w, c]
 *   rows  [a multiple of by, h, w, c] */
#define OPERANDS_SHIFT(T, P)                                                                                           \
  T(x, OPERAND_READ | OPERAND_OPTIONAL)                                                                                \
  T(rows, OPERAND_READ | OPERAND_WRITE | OPERAND_STATE)
struct op_shift {
  OPERANDS(SHIFT)
  int by; /* number of rows by which the queue moves; 0 means 1 */
};

/* Row r of y = sum over i of run.prompt[p].weight[i] * slots[run.prompt[p].slot[i]]. For the first `first` rows p is r;
 * after them p is the row's number modulo `rows`. The sum ends at the first weight of 0, and later slots are not read.
 *   y  [n, 1, tokens, c]; n is given: first plus a multiple of rows */
#define OPERANDS_PROMPT(T, P)                                                                                          \
  T(slots, OPERAND_READ | OPERAND_MATRIX | OPERAND_STATE)                                                              \
  T(y, OPERAND_WRITE)
struct op_prompt {
  OPERANDS(PROMPT)
  /* the first `first` rows of y belong to the first latent, the next `rows` to each later one; rows 0 means all rows of
   * y, first 0 means `rows` */
  int rows, first;
};

/* y = token run.end of x. That token's hidden state represents the whole text.
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
