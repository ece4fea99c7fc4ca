/* The ops that are layers of networks: convolutions, linear layers, attention and others. op.h says how ops are
 * declared. In the formulas, x ++ x2 is x with the channels of x2 appended, and prologue() is a norm and an
 * activation. */
#ifndef UNET_PLAN_OP_LAYERS_H
#define UNET_PLAN_OP_LAYERS_H

#include "unet/base/controls.h"
#include "unet/plan/operands.h"

/* A convolution with all that a U-Net has around it: y = act(conv(upsample(prologue(x ++ x2))) + bias + time +
 * residual). Zeros are padded after the prologue. The output has (up * h + 2 pad - k) / stride + 1 rows, where up is 2
 * with `upsample`, else 1, and columns by the same formula. With pad_end_only, which the KL autoencoder's downsampling
 * uses, one row and one column of zeros are added at the end and none at the start; pad must be 0, and the output has
 * (h + 1 - k) / stride + 1 rows.
 *   x2        same n, h, w as x
 *   weight    [c_out, k, k, c_in]; k is 1 or 3
 *   bias      [c_out]
 *   time      the time embedding's bias. [1, 1, 1, c_out]: added to every pixel of all pictures; [n, 1, 1, c_out]: one
 *             row for each picture, and act must be ACT_NONE
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
  bool upsample; /* true: x is enlarged to twice the size by repeating pixels, between prologue and convolution */
  int stride;    /* stride of the convolution: 1 or 2 */
  int pad;
  bool pad_end_only;
  enum activation act;
};

/* A linear layer over the channels of each pixel or token: y = act(prologue(x ++ x2) W^T + bias) + residual. The
 * residual is added after act.
 *   x2        same n, h, w as x
 *   weight    [N, 1, 1, K]: W
 *   bias      [N]
 *   residual  shape of y
 *   y         has N channels, or N / 2 with ACT_GEGLU; the caller may name a state as y (for time projections), which
 *             then gets the result */
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

/* Adds a control network's result to a tensor of the U-Net, in place: y += g * (x W^T + bias) for each pixel. The
 * factor g is run.control[control].gain[step + i] in all pictures of latent i. With run.control[control].guess (guess
 * mode) it is multiplied by 10^(-1 + index / (count - 1)) in the latent's first picture, and by 0 in its others.
 *   x       [n, h, w, c]; without a weight n may be 1: this picture is added to all of y
 *   weight  [c_out, 1, 1, c]: W; without it y += g * x
 *   bias    [c_out]
 *   y       [n, h, w, c_out]: a temporary or a state */
#define OPERANDS_INJECT(T, P)                                                                                          \
  T(x, OPERAND_READ)                                                                                                   \
  T(weight, OPERAND_READ | OPERAND_MATRIX | OPERAND_OPTIONAL)                                                          \
  T(bias, OPERAND_READ | OPERAND_VECTOR | OPERAND_OPTIONAL)                                                            \
  T(y, OPERAND_READ | OPERAND_WRITE)
struct op_inject {
  OPERANDS(INJECT)
  /* step: number, from 0, of the U-Net's call to which the op belongs. In the plan's loop it is the number of the call
   * in the first iteration; in iteration i the call has the number step + i */
  int control, step;
  /* the control network adds `count` tensors in one call of the U-Net; this op adds number `index` of them, from 0 */
  int index, count;
  /* y has one picture for each guidance row (operands.h). The first `first` of them belong to the first latent, and
   * `rows` to each later one. If `rows` is 0, all pictures belong to one latent. If `first` is 0, the first latent has
   * `rows` pictures, too. */
  int rows, first;
};
/* Returns 10^(-1 + index / (count - 1)), the factor of guess mode in the formula of OP_INJECT. */
float inject_guess(const struct op_inject *op);

/* y = prologue(x): a norm and an activation as an op of its own. Used if the ops that read y cannot apply them to their
 * input. */
#define OPERANDS_NORM(T, P)                                                                                            \
  T(x, OPERAND_READ)                                                                                                   \
  P(prologue)                                                                                                          \
  T(y, OPERAND_WRITE)
struct op_norm {
  OPERANDS(NORM)
};

/* y = scale * x + bias for each value of x. scale and bias are single numbers. */
#define OPERANDS_AFFINE(T, P)                                                                                          \
  T(x, OPERAND_READ | OPERAND_VIEW)                                                                                    \
  T(y, OPERAND_WRITE)
struct op_affine {
  OPERANDS(AFFINE)
  float scale, bias;
  bool precise;
};

/* Each block of size x size pixels of x becomes one pixel of y (space to depth). Channel (k size + row) size + column
 * of y is channel k of the block's pixel (row, column). With `mean`, channel k of y is instead the mean of the block's
 * channel k.
 *   x  [n, size h, size w, c]
 *   y  [n, h, w, c size^2], or with `mean` [n, h, w, c] */
#define OPERANDS_BLOCKS(T, P)                                                                                          \
  T(x, OPERAND_READ | OPERAND_VIEW)                                                                                    \
  T(y, OPERAND_WRITE)
struct op_blocks {
  OPERANDS(BLOCKS)
  int size;
  bool mean;
};

/* Attention: y = softmax(scale * q k^T) v for each n and head. The h * w pixels of a picture are its tokens; head i has
 * channels i D to (i + 1) D - 1. Sums and the softmax are FP32. With k2 and v2, queries also attend to earlier frames
 * (the bank, op_memory.h): the keys and values of the first F frames in them follow those of k and v, for each n. F is
 * the first value of `bank` (BANK_COUNT), clamped to 0..k2.h, and 0 if run.bank.frames is 0. The other frames of k2 and
 * v2 are not read. If F is 0, y equals that of the op without k2 and v2, to the bit.
 *   q, k, v  may be views of fused projections or of the prompt's keys and values; k and v with n == 1 serve all n of q
 *   k2, v2   [k.n, frames there is room for, tokens of a frame, k.c]; not together with causal
 *   bank     int32 [1, 1, 1, BANK_VALUES]: how many frames k2 and v2 hold; a plan with it has regions of REGION_BANK
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
  int heads;   /* number of attention heads; each has q.c / heads channels */
  float scale; /* factor of the scores, usually 1 / sqrt(channels of a head) */
  bool causal; /* true: token i attends only to tokens 0..i; false: to all */
};

/* Adds the attention to style pictures (IP-Adapter) to y, in place: y += sum over s of run.style[s].weight *
 * run.style[s].part[part] * softmax(scale * q k^T) v for each n and head. Here k and v are the keys and values of style
 * picture s, so that each picture has its own softmax. y has one or more rows (indices n) for each latent. For a
 * latent's first row, k and v are read from slot run.style[s].slot. The latent's other rows are for the negative prompt
 * and use the last slot, which stands for no style picture. Style pictures with weight 0 are not read.
 *   q     [n, h, w, c]: tokens as in OP_ATTENTION
 *   k, v  [slots, 1, tokens, c]: views of one state
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
  /* y has one picture for each guidance row (operands.h). The first `first` of them belong to the first latent, and
   * `rows` to each later one. If `rows` is 0, all pictures belong to one latent. If `first` is 0, the first latent has
   * `rows` pictures, too. */
  int rows, first;
};

/* y = the tokens of x, followed by those of x2; then `position` is added, a row for each token.
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
