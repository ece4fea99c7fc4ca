/* The ops that are layers of networks: convolutions, linear layers, attention and others. op.h says how ops are
 * declared. */
#ifndef UNET_PLAN_OP_LAYERS_H
#define UNET_PLAN_OP_LAYERS_H

#include "unet/base/controls.h"
#include "unet/plan/operands.h"

/* y = act(conv(upsample(prologue(x ++ x2))) + bias + time + residual). Zero padding is applied after the prologue.
 * Output size: (up * h + 2 pad - k) / stride + 1. With pad_end_only, which the KL autoencoder's downsampling uses, one
 * row and one column of zeros are added at the end and none at the start; pad must be 0, and the output size is (h + 1
 * - k) / stride + 1.
 *   x2        concatenated after x along c; same n, h, w
 *   weight    [c_out, k, k, c_in]; k is 1 or 3
 *   bias      [c_out]
 *   time      [1, 1, 1, c_out]: added to every pixel of all pictures; or [n, 1, 1, c_out]: one row for each picture,
 *             and act must be ACT_NONE
 *   residual  shape of y */
#define OPERANDS_CONV(T, P)                                                                                            \
  T(x, OPERAND_READ)                                                                                                   \
  T(x2, OPERAND_READ | OPERAND_OPTIONAL)                                                                               \
  T(weight, OPERAND_READ | OPERAND_MATRIX)                                                                             \
  T(bias, OPERAND_READ | OPERAND_VECTOR | OPERAND_OPTIONAL)                                                            \
  P(prologue)                                                                                                          \
  T(time, OPERAND_READ | OPERAND_VECTOR | OPERAND_VIEW | OPERAND_OPTIONAL)                                             \
  T(residual, OPERAND_READ | OPERAND_OPTIONAL | OPERAND_ADDEND)                                                        \
  T(y, OPERAND_WRITE)
struct op_conv {
  OPERANDS(CONV)
  bool upsample; /* nearest 2x, between prologue and convolution */
  int stride;    /* 1 or 2 */
  int pad;
  bool pad_end_only;
  enum activation act;
};

/* y = act(prologue(x ++ x2) W^T + bias) + residual, over rows of channels. The residual is added after act.
 *   x2        concatenated after x along c
 *   weight    [N, 1, 1, K]
 *   bias      [N]
 *   residual  shape of y
 *   y         c = N, or N / 2 with ACT_GEGLU; may be given as a state (for time projections), which then gets the
 *             result */
#define OPERANDS_LINEAR(T, P)                                                                                          \
  T(x, OPERAND_READ)                                                                                                   \
  T(x2, OPERAND_READ | OPERAND_OPTIONAL)                                                                               \
  T(weight, OPERAND_READ | OPERAND_MATRIX)                                                                             \
  T(bias, OPERAND_READ | OPERAND_VECTOR | OPERAND_OPTIONAL)                                                            \
  P(prologue)                                                                                                          \
  T(residual, OPERAND_READ | OPERAND_OPTIONAL | OPERAND_ADDEND)                                                        \
  T(y, OPERAND_WRITE)
struct op_linear {
  OPERANDS(LINEAR)
  enum activation act;
};

/* y += g * (x W^T + bias), over rows of channels, in place: a control network adds its result to a U-Net's tensor. Each
 * picture of y has its own g: run.control[control].gain[step + i] for all rows of latent i. With
 * run.control[control].guess this is multiplied by 10^(-1 + index / (count - 1)) for the latent's first row and by 0
 * for its other rows.
 *   x       [n, h, w, c]; without a weight n may be 1, and this picture is added to all of y
 *   weight  [c_out, 1, 1, c]; without it x itself is multiplied by g
 *   bias    [c_out]
 *   y       [n, h, w, c_out]: a temporary or a state */
#define OPERANDS_INJECT(T, P)                                                                                          \
  T(x, OPERAND_READ)                                                                                                   \
  T(weight, OPERAND_READ | OPERAND_MATRIX | OPERAND_OPTIONAL)                                                          \
  T(bias, OPERAND_READ | OPERAND_VECTOR | OPERAND_OPTIONAL)                                                            \
  T(y, OPERAND_READ | OPERAND_WRITE)
struct op_inject {
  OPERANDS(INJECT)
  /* step: number of the U-Net's call; in a loop that of the first iteration, and one more in each later one */
  int control, step;
  int index, count; /* this is injection number `index` (from 0) of the control's `count` in one call of the U-Net */
  /* the first `first` pictures of y belong to the first latent, the next `rows` to each later one; rows 0 means all
   * pictures of y, first 0 means `rows` */
  int rows, first;
};
/* Returns 10^(-1 + index / (count - 1)): the factor of g for a latent's first row with run.control[control].guess. */
float inject_guess(const struct op_inject *op);

/* y = prologue(x): a norm or activation as an op of its own, where the op that reads the result cannot apply it to its
 * input. */
#define OPERANDS_NORM(T, P)                                                                                            \
  T(x, OPERAND_READ)                                                                                                   \
  P(prologue)                                                                                                          \
  T(y, OPERAND_WRITE)
struct op_norm {
  OPERANDS(NORM)
};

/* y = scale * x + bias for each value; scale and bias are fields of the op.
 *   x  may be a view of some of a tensor's pictures
 *   y  ELEMENT_PRECISE if the op's field `precise` is set */
#define OPERANDS_AFFINE(T, P)                                                                                          \
  T(x, OPERAND_READ | OPERAND_VIEW)                                                                                    \
  T(y, OPERAND_WRITE)
struct op_affine {
  OPERANDS(AFFINE)
  float scale, bias;
  bool precise;
};

/* Each block of size x size pixels of x becomes one pixel of y. Its channels are all values of the block: channel (k
 * size + row) size + column of y is channel k of the block's pixel (row, column). With mean, channel k of y is the mean
 * of the block's channel k.
 *   x  [n, size h, size w, c]
 *   y  [n, h, w, c size^2], or with mean [n, h, w, c] */
#define OPERANDS_BLOCKS(T, P)                                                                                          \
  T(x, OPERAND_READ | OPERAND_VIEW)                                                                                    \
  T(y, OPERAND_WRITE)
struct op_blocks {
  OPERANDS(BLOCKS)
  int size;
  bool mean;
};

/* y = softmax(scale * q k^T) v for each n and head. Tokens are rows (h * w); head i has channels [i D, (i + 1) D). Sums
 * and the softmax are FP32. With k2 and v2, their first F rows of keys and values are appended to k and v for each n,
 * where F is the first value of bank (BANK_COUNT), clamped to 0..k2.h, and 0 if run.bank.frames is 0. The other rows
 * are not read. If F is 0, y equals that of the op without k2 and v2, to the bit.
 *   q, k, v  read in place from fused projections and prompt state; k, v with n == 1 are used for all n of q
 *   k2, v2   [k.n, frames there is room for, tokens of a frame, k.c]: slices of a ring (op_memory.h); not with causal
 *   bank     [1, 1, 1, BANK_VALUES]; a plan with it has regions of REGION_BANK
 *   y        [n, h, w, q.c] */
#define OPERANDS_ATTENTION(T, P)                                                                                       \
  T(q, OPERAND_READ | OPERAND_VIEW)                                                                                    \
  T(k, OPERAND_READ | OPERAND_VIEW)                                                                                    \
  T(v, OPERAND_READ | OPERAND_VIEW)                                                                                    \
  T(k2, OPERAND_READ | OPERAND_VIEW | OPERAND_OPTIONAL)                                                                \
  T(v2, OPERAND_READ | OPERAND_VIEW | OPERAND_OPTIONAL)                                                                \
  T(bank, OPERAND_READ | OPERAND_OPTIONAL | OPERAND_WHOLE)                                                             \
  T(y, OPERAND_WRITE)
struct op_attention {
  OPERANDS(ATTENTION)
  int heads;   /* head_dim = q.c / heads */
  float scale; /* usually 1 / sqrt(head_dim) */
  bool causal; /* row i attends to columns 0..i */
};

/* y += sum over s of run.style[s].weight * run.style[s].part[part] * softmax(scale * q k^T) v for each n and head, in
 * place, where k and v are made of style picture s, and each picture has its own softmax. The first row of a latent
 * uses the k and v in slot run.style[s].slot. Its other rows are for the negative prompt and use those in the last
 * slot, which stand for no picture. Styles whose weight is 0 are not read.
 *   k, v  [slots, 1, tokens, c]: slices of one state
 *   y     [n, h, w, q.c] */
#define OPERANDS_STYLE(T, P)                                                                                           \
  T(q, OPERAND_READ | OPERAND_VIEW)                                                                                    \
  T(k, OPERAND_READ | OPERAND_VIEW | OPERAND_STATE)                                                                    \
  T(v, OPERAND_READ | OPERAND_VIEW | OPERAND_STATE)                                                                    \
  T(y, OPERAND_READ | OPERAND_WRITE)
struct op_style {
  OPERANDS(STYLE)
  int heads;
  float scale;
  enum style_part part;
  /* the first `first` pictures of y belong to the first latent, the next `rows` to each later one; rows 0 means all
   * pictures of y, first 0 means `rows` */
  int rows, first;
};

/* y = the tokens of x, followed by those of x2, + position.
 *   x, x2     [1, 1, tokens, c]; may be weights
 *   position  [tokens of both, 1, 1, c]
 *   y         [1, 1, tokens of both, c] */
#define OPERANDS_JOIN(T, P)                                                                                            \
  T(x, OPERAND_READ)                                                                                                   \
  T(x2, OPERAND_READ)                                                                                                  \
  T(position, OPERAND_READ | OPERAND_MATRIX | OPERAND_OPTIONAL)                                                        \
  T(y, OPERAND_WRITE)
struct op_join {
  OPERANDS(JOIN)
};

#endif
