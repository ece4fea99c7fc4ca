/* The ops that turn timesteps, prompts and guidance scales into a network's inputs. op.h says how ops are declared. */
#ifndef UNET_PLAN_OP_PROMPTS_H
#define UNET_PLAN_OP_PROMPTS_H

#include "unet/plan/operands.h"

/* y = the embeddings of a text's tokens, a row for each: row i = token[run.tokens[i]] + position[i].
 *   token     [vocabulary, 1, 1, c]: the table of token embeddings
 *   position  [positions, 1, 1, c]: the table of position embeddings
 *   y         [1, 1, positions, c] */
#define OPERANDS_EMBED(T, P)                                                                                           \
  T(token, OPERAND_READ | OPERAND_MATRIX)                                                                              \
  T(position, OPERAND_READ | OPERAND_MATRIX)                                                                           \
  T(y, OPERAND_WRITE)
struct op_embed {
  OPERANDS(EMBED)
};

/* y = the sinusoidal embeddings of timesteps: row i is that of t = run.step[i].timestep, a real number. With half = c /
 * 2 and f_k = exp(-ln(10000) k / (half - shift)), a row is [cos | sin] of t f_k if cos_first is true (diffusers'
 * flip_sin_to_cos), else [sin | cos]. It is computed in FP32 or better. By the fields `rows` and `first`, several
 * successive rows may belong to the same step. If `values` is not 0, all rows are instead the embeddings of the numbers
 * value[0] to value[values - 1], one after another, with half = c / (2 values).
 *   y  [rows, 1, 1, c]; the caller gives the number of rows and c as y.n and y.c */
#define OPERANDS_TIMESTEP(T, P) T(y, OPERAND_WRITE)
struct op_timestep {
  OPERANDS(TIMESTEP)
  bool cos_first;
  float shift; /* the number `shift` in the formula of OP_TIMESTEP; diffusers calls it freq_shift */
  /* the first `first` rows of y belong to the first step, and `rows` rows to each later one; if `rows` is 0, each later
   * step has one row; if `first` is 0, the first step has as many rows as each later one */
  int rows, first;
  int values;
  float value[SIZES];
};

/* y = the embedding of the guidance scale, which full LCM models take as an input; all rows are equal: w =
 * (run.guidance - 1) * 1000, f_k = exp(-ln(10000) k / (half - 1)) with half = c / 2, a row is [sin | cos] of w f_k.
 *   y  [rows, 1, 1, c]; the caller gives the number of rows and c (time_cond_proj_dim) as y.n and y.c */
#define OPERANDS_GUIDANCE_EMBED(T, P) T(y, OPERAND_WRITE)
struct op_guidance_embed {
  OPERANDS(GUIDANCE_EMBED)
};

/* y = those rows of a table that belong to call number `step` of the U-Net. The table holds the time projections of all
 * the U-Net's residual blocks for all calls. The op is for loops, in which each iteration is another call; outside a
 * loop tensor_rows_of gives the same rows without an op.
 *   table  [calls * rows, 1, 1, c]: a state
 *   y      [rows, 1, 1, c]; the caller gives the number of rows as y.n, where 0 means 1 */
#define OPERANDS_TIME_ROW(T, P)                                                                                        \
  T(table, OPERAND_READ | OPERAND_MATRIX | OPERAND_STATE)                                                              \
  T(y, OPERAND_WRITE)
struct op_time_row {
  OPERANDS(TIME_ROW)
  /* number of the U-Net's call, from 0. In a loop (plan.h), this is the number of the call in the first iteration; the
   * call in iteration i has the number step + i. */
  int step;
};

/* Stores x in a slot: slots[run.slot] = x. Plans that encode a prompt or a style picture end with this op. If `ring` is
 * true, the slots are written in turn: slots[run.turn % n] = x.
 *   x      [1, h, w, c]
 *   slots  [n, h, w, c]: a state */
#define OPERANDS_STORE_SLOT(T, P)                                                                                      \
  T(x, OPERAND_READ)                                                                                                   \
  T(slots, OPERAND_WRITE | OPERAND_STATE)
struct op_store_slot {
  OPERANDS(STORE_SLOT)
  bool ring;
};

/* Moves the rows of a queue back by `by` rows: from the last row to the first, rows[i] = rows[i - by]; then rows[0 ..
 * by) = x. Without x the first rows keep their values. (A stream batch moves its latents to their next step this way.)
 *   x     [by, h, w, c]
 *   rows  [a multiple of by, h, w, c] */
#define OPERANDS_SHIFT(T, P)                                                                                           \
  T(x, OPERAND_READ | OPERAND_OPTIONAL)                                                                                \
  T(rows, OPERAND_READ | OPERAND_WRITE | OPERAND_STATE)
struct op_shift {
  OPERANDS(SHIFT)
  int by; /* by how many places each row of the operand `rows` moves back; 0 means 1 */
};

/* y = the prompts that each guidance row reads, blended: row r of y = sum over i of run.prompt[p].weight[i] *
 * slots[run.prompt[p].slot[i]]. For the first `first` rows p is r; after them p is (r - first) modulo `rows`. The sum
 * ends at the first weight of 0, and later slots are not read.
 *
 * With the operand `note`, y is a state as well, and the blend that an earlier run has left there is kept if it is this
 * run's: with the same slots and weights, and with no write since then that may have changed a slot (device_changes).
 *   slots  [slots, 1, tokens, c]: encoded prompts
 *   note   int32 [1, 1, 1, PROMPT_NOTE_VALUES]: a state, struct prompt_note (run.h): what y is the blend of. Ops with
 *          this y have this note, the same `first` and the same `rows`, and no other op writes either
 *   y      [n, 1, tokens, c]; the caller gives n as y.n: first plus a multiple of rows */
#define OPERANDS_PROMPT(T, P)                                                                                          \
  T(slots, OPERAND_READ | OPERAND_MATRIX | OPERAND_STATE)                                                              \
  T(note, OPERAND_READ | OPERAND_WRITE | OPERAND_STATE | OPERAND_WHOLE | OPERAND_OPTIONAL)                             \
  T(y, OPERAND_WRITE)
struct op_prompt {
  OPERANDS(PROMPT)
  /* The first `first` rows of y belong to the first latent, and `rows` rows to each later one (guidance rows,
   * operands.h). If `rows` is 0, all rows of y belong to one latent. If `first` is 0, the first latent has `rows` rows,
   * too. */
  int rows, first;
};

/* y = the row of x for the text's end token, whose position is run.end. CLIP takes this token's hidden state as the
 * embedding of the whole text.
 *   x  [1, 1, tokens, c]
 *   y  [1, 1, 1, c] */
#define OPERANDS_END_TOKEN(T, P)                                                                                       \
  T(x, OPERAND_READ)                                                                                                   \
  T(y, OPERAND_WRITE)
struct op_end_token {
  OPERANDS(END_TOKEN)
};

/* Applies the weights that the prompt's syntax gives to tokens: y = f w x, where w = 1 + run.emphasis[t] for each token
 * t. The factor f = mean(x) / mean(w x) restores the mean over tokens and channels that x had. f is clamped to
 * -EMPHASIS_MAX..EMPHASIS_MAX, and is 1 where the quotient is no number. If all w are 1, y equals x to the bit.
 *   x  [1, 1, tokens, c]
 *   y  shape of x */
#define OPERANDS_EMPHASIS(T, P)                                                                                        \
  T(x, OPERAND_READ)                                                                                                   \
  T(y, OPERAND_WRITE)
struct op_emphasis {
  OPERANDS(EMPHASIS)
};

#endif
