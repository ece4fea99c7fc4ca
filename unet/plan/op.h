/* The ops: the whole contract between models, which append them to a plan, and devices, which run them. Both know this
 * file and nothing of each other.
 *
 * Ops are as coarse as the fastest device fuses. A field a device cannot fuse it runs before or after; the CPU's plain
 * loops (cpu_ops.c) are the definition of each op and what every other implementation is compared with.
 *
 * Each op is one row of OP_TABLE and one list of operands. From these come its type, its struct's tensors, its
 * constructor (plan.h), reads, writes and lifetimes, the checks that all ops share, and the devices' tables: an op that
 * lacks one of its parts does not compile. To add an op: a row, a list and a struct here, its rule in op.c, its
 * definition in the CPU device, its way on other devices, its cases in tests/op_cases*.c.
 *
 * Tensors are NHWC. Those called precise are ELEMENT_PRECISE. */
#ifndef UNET_PLAN_OP_H
#define UNET_PLAN_OP_H

#include "unet/base/controls.h"
#include "unet/base/maps.h"
#include "unet/plan/element.h"
#include "unet/plan/tensor.h"

enum {
  GUIDANCE_ROWS_MAX = 3, /* rows of one U-Net call: 1 none, 2 classifier-free, 3 InstructPix2Pix */
  TOKENS_MAX = 256,      /* text positions */
  TIMESTEPS = 1000,      /* of training: a timestep is a real number from 0 to one less */
  EARLIER_MAX = 3,       /* predictions that a sampler's step may look back on */
  EMPHASIS_MAX = 10,     /* that a token's weight may be, either way */
  EDGE_TILE = 128,       /* pixels that a round of a map's hysteresis goes */
  EDGE_ROUNDS = 4,
  SIZES = 6, /* that a U-Net may be told: of the original picture, of its crop's corner, of the target */
};

enum activation {
  ACT_NONE,
  ACT_RELU,
  ACT_SILU,       /* x * sigmoid(x) */
  ACT_GELU,       /* exact, with erf */
  ACT_QUICK_GELU, /* x * sigmoid(1.702 x) */
  ACT_GEGLU,      /* linear only: columns [0, N/2) times gelu(columns [N/2, N)); halves the output's channels */
  ACT_TANH3,      /* 3 tanh(x / 3): the clamp before AutoencoderTiny's decoder */
};

enum norm_kind { NORM_NONE, NORM_GROUP, NORM_LAYER };

/* What happens to an op's input first: norm, then activation. With NORM_NONE the activation alone.
 * Group norm: statistics over (h, w, c / groups) for each n and group. Layer norm: over c for each row. Biased
 * variance, y = (x - mean) / sqrt(var + eps) * gamma[c] + beta[c]. Over a concatenated input the norm spans both parts.
 */
struct prologue {
  enum norm_kind norm;
  enum activation act;
  int groups;
  float eps;
  struct tensor gamma, beta; /* vectors of c; optional, as 1 and 0 */
};

/* What an op does with an operand. */
enum operand_role {
  OPERAND_READ = 1,
  OPERAND_WRITE = 2,    /* with READ: in place */
  OPERAND_OPTIONAL = 4, /* may be TENSOR_NONE */
  OPERAND_VIEW = 8,     /* may be a channel slice; all others are whole tensors */
  OPERAND_MATRIX = 16,  /* rows: a product's weight, a table of embeddings; a resource, unless it may be a state */
  OPERAND_VECTOR = 32,  /* values for each channel: a weight, unless it may be a slice */
  OPERAND_STATE = 64,   /* what one run writes and later ones read: a plan's state, or a resource */
  OPERAND_ADDEND = 128, /* added to y elementwise: where nothing reads it later, y may take its place */
};

/* Guidance rows of several latents or steps after each other: so many of the first, so many of each later one. */
struct guidance_rows {
  int first, each;
};

/* Whose row it is, which of its rows, and how many rows there are of so many. */
static inline int guidance_index(struct guidance_rows rows, int row) {
  return row < rows.first ? 0 : 1 + (row - rows.first) / rows.each;
}
static inline int guidance_row(struct guidance_rows rows, int row) {
  return row < rows.first ? row : (row - rows.first) % rows.each;
}
static inline int guidance_total(struct guidance_rows rows, int count) {
  return count ? rows.first + (count - 1) * rows.each : 0;
}
/* How many steps behind the first one of several latents is, where so many in a row are at the same one; 0: 1. */
static inline int steps_behind(int latent, int together) {
  return latent / (together ? together : 1);
}
/* From an op's fields, where 0 stands for something. */
static inline struct guidance_rows guidance_rows(int first, int each, int standard) {
  each = each ? each : standard;
  return (struct guidance_rows){first ? first : each, each};
}

/* The lists of operands: T(name, roles) is a tensor; P(name) a prologue, whose gamma and beta are vectors. In this
 * order op_operands gives them. */
#define OPERAND_TENSOR(name, roles) struct tensor name;
#define OPERAND_PROLOGUE(name) struct prologue name;
#define OPERANDS(TYPE) OPERANDS_##TYPE(OPERAND_TENSOR, OPERAND_PROLOGUE)

/* y = act(conv(upsample(prologue(x ++ x2))) + bias + time + residual). Zero padding, after the prologue.
 * Output size: (up * h + 2 pad - k) / stride + 1, and with pad_end_only (the KL autoencoder's downsampling: one zero
 * row and column at the end, none at the start; pad must be 0) (h + 1 - k) / stride + 1.
 *   x2        concatenated after x along c; same n, h, w
 *   weight    [c_out, k, k, c_in]; k is 1 or 3
 *   bias      [c_out]
 *   time      [1 or n, 1, 1, c_out]: added to every pixel of all pictures, or of each; in the second case act is none
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

/* y = act(prologue(x ++ x2) W^T + bias) + residual, over rows of channels. Note: the residual comes after act.
 *   x2        concatenated after x along c
 *   weight    [N, 1, 1, K]
 *   bias      [N]
 *   residual  shape of y
 *   y         c = N, or N / 2 with ACT_GEGLU; may be given as a state (time projections) that the result goes to */
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

/* y += g * (x W^T + bias), over rows of channels, in place: what a control network adds to a U-Net's tensor. g is of
 * each picture of y: run.control[control].gain[step + i] for all of latent i's rows; with run.control[control].guess,
 * times 10^(-1 + index / (count - 1)) for the latent's first row and times 0 for its others. x       [n, h, w, c];
 * without a weight, one may be for all n weight  [c_out, 1, 1, c]; without it x alone is multiplied by g bias [c_out]
 *   y       [n, h, w, c_out]: a temporary or a state */
#define OPERANDS_INJECT(T, P)                                                                                          \
  T(x, OPERAND_READ)                                                                                                   \
  T(weight, OPERAND_READ | OPERAND_MATRIX | OPERAND_OPTIONAL)                                                          \
  T(bias, OPERAND_READ | OPERAND_VECTOR | OPERAND_OPTIONAL)                                                            \
  T(y, OPERAND_READ | OPERAND_WRITE)
struct op_inject {
  OPERANDS(INJECT)
  int control, step; /* step as OP_TIME_ROW's */
  int index, count;  /* which of the control's injections in a call of the network */
  int rows, first;   /* pictures of each latent, of the first one; 0: y.n, and as many as of each */
};
/* What guessing multiplies g by. */
float inject_guess(const struct op_inject *op);

/* y = prologue(x), for a norm that no other op can carry. */
#define OPERANDS_NORM(T, P)                                                                                            \
  T(x, OPERAND_READ)                                                                                                   \
  P(prologue)                                                                                                          \
  T(y, OPERAND_WRITE)
struct op_norm {
  OPERANDS(NORM)
};

/* y = scale * x + bias, value by value.
 *   x  may be some of a tensor's pictures
 *   y  precise where asked for */
#define OPERANDS_AFFINE(T, P)                                                                                          \
  T(x, OPERAND_READ | OPERAND_VIEW)                                                                                    \
  T(y, OPERAND_WRITE)
struct op_affine {
  OPERANDS(AFFINE)
  float scale, bias;
  bool precise;
};

/* Of each block of size x size pixels of x one pixel: its pixels beside each other, channel (c size + row) size +
 * column of what is channel c of x, or with mean what they are on average. x  [n, size h, size w, c] y  [n, h, w, c
 * size^2], or with mean [n, h, w, c] */
#define OPERANDS_BLOCKS(T, P)                                                                                          \
  T(x, OPERAND_READ | OPERAND_VIEW)                                                                                    \
  T(y, OPERAND_WRITE)
struct op_blocks {
  OPERANDS(BLOCKS)
  int size;
  bool mean;
};

/* y = softmax(scale * q k^T) v for each n and head. Tokens are rows (h * w); head i has channels [i D, (i + 1) D).
 * FP32 accumulation and softmax everywhere.
 *   q, k, v  read in place from fused projections and prompt state; k, v with n == 1 serve all n
 *   y        [n, h, w, q.c] */
#define OPERANDS_ATTENTION(T, P)                                                                                       \
  T(q, OPERAND_READ | OPERAND_VIEW)                                                                                    \
  T(k, OPERAND_READ | OPERAND_VIEW)                                                                                    \
  T(v, OPERAND_READ | OPERAND_VIEW)                                                                                    \
  T(y, OPERAND_WRITE)
struct op_attention {
  OPERANDS(ATTENTION)
  int heads;   /* head_dim = q.c / heads */
  float scale; /* usually 1 / sqrt(head_dim) */
  bool causal; /* row i sees columns 0..i */
};

/* y += sum over s of run.style[s].weight * run.style[s].part[part] * softmax(scale * q k^T) v for each n and head,
 * where k and v are those of a style picture: each has a softmax of its own. The first row of a latent sees those in
 * slot run.style[s].slot, its other rows, which guidance leads away from, those in the last slot: of no picture. In
 * place. Styles that count 0 are not read. k, v  [slots, 1, tokens, c], slices of one state y     [n, h, w, q.c] */
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
  int rows, first; /* of each latent, of the first one; 0: n, and as many as of each */
};

/* y = the tokens of x, then those of x2, + position, token by token.
 *   x, x2     [1, 1, tokens, c], also weights
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

/* y = f w x, where w = 1 + run.emphasis[t] for each token t, and f = mean(x) / mean(w x) brings the mean over tokens
 * and channels back to what it was. f stays within -EMPHASIS_MAX and EMPHASIS_MAX, and is 1 where it is no number.
 * Without emphasis y is x to the bit. x  [1, 1, tokens, c] */
#define OPERANDS_EMPHASIS(T, P)                                                                                        \
  T(x, OPERAND_READ)                                                                                                   \
  T(y, OPERAND_WRITE)
struct op_emphasis {
  OPERANDS(EMPHASIS)
};

/* noise = run.between[i][0] * a + run.between[i][1] * b, where ends is a and then b, and i a sample's number modulo
 * pictures.
 *   ends   precise [2 samples, h, w, c]
 *   noise  precise [samples, h, w, c] */
#define OPERANDS_BETWEEN(T, P)                                                                                         \
  T(ends, OPERAND_READ | OPERAND_STATE)                                                                                \
  T(noise, OPERAND_WRITE | OPERAND_STATE)
struct op_between {
  OPERANDS(BETWEEN)
  int pictures; /* 0: 1 */
};

/* y = run.start_latent * z + run.start_noise * noise: what the sampler starts from.
 *   z      [n, h, w, c]: without it, text to image
 *   noise  precise [n, h, w, c]; with z those behind the first n are not read
 *   y      precise */
#define OPERANDS_START(T, P)                                                                                           \
  T(z, OPERAND_READ | OPERAND_OPTIONAL)                                                                                \
  T(noise, OPERAND_READ | OPERAND_STATE)                                                                               \
  T(y, OPERAND_WRITE)
struct op_start {
  OPERANDS(START)
};

/* y = x where kept is at least 0.5, else value: what an inpainting network sees of the picture.
 *   x     [n, H, W, c]
 *   kept  precise [1, H, W, 1]: of all pictures */
#define OPERANDS_MASK(T, P)                                                                                            \
  T(x, OPERAND_READ)                                                                                                   \
  T(kept, OPERAND_READ | OPERAND_STATE)                                                                                \
  T(y, OPERAND_WRITE)
struct op_mask {
  OPERANDS(MASK)
  float value;
};

/* y = of each latent so many copies of [x | mask | image], the U-Net's input; where bit r of image_rows is clear, the
 * image part of its copy r is zero. mask is one channel, there with kept: 0 where kept is at least 0.5 in the first of
 * a pixel's k x k values, else 1. x      precise [n, h, w, c] kept   precise [1 or n, k h, k w, 1] image  [n, h, w,
 * c_image]
 *   y      [copies of all, h, w, c + 1 + c_image]; their number is given as y.n */
#define OPERANDS_UNET_INPUT(T, P)                                                                                      \
  T(x, OPERAND_READ)                                                                                                   \
  T(kept, OPERAND_READ | OPERAND_STATE | OPERAND_OPTIONAL)                                                             \
  T(image, OPERAND_READ | OPERAND_OPTIONAL)                                                                            \
  T(y, OPERAND_WRITE)
struct op_unet_input {
  OPERANDS(UNET_INPUT)
  unsigned image_rows;
  int rows, first; /* copies of each latent, of the first one; 0: y.n, and as many as of each */
};

/* What guidance makes of a U-Net's predictions, for each latent i of x, which is at s = step + steps_behind(i,
 * together), with rows model[first row of i + r]:
 *   m = sum over r of run.row_weight[r] * model[r]
 * and, where the op has an x that it compares with reference and no anew of its own for the latent,
 *   m += run.virtual_weight * (p.x * x + p.reference * reference), p = run.residual[s]
 * which is the prediction that would lead from x to the reference (zeros where there is none): Kodaira et al.,
 * StreamDiffusion, 2023. Then y = m * (1 - f + f * std(model[0]) / std(m)), f = run.guidance_rescale, std over all of a
 * latent: Lin et al., Common Diffusion Noise Schedules and Sample Steps are Flawed, 2023.
 * anew: of the latents at the first step, which have two rows, it becomes p.clean_x * x + p.clean_model * model[1]: the
 * picture that the negative prompt alone would lead to.
 *   model      [rows, h, w, c]
 *   x          precise [n, h, w, c]; without it there is one latent
 *   reference  [n, h, w, c]
 *   y          precise [n, h, w, c]
 *   anew       precise [n, h, w, c], of which that of these is written; may be reference */
#define OPERANDS_GUIDE(T, P)                                                                                           \
  T(model, OPERAND_READ)                                                                                               \
  T(x, OPERAND_READ | OPERAND_OPTIONAL)                                                                                \
  T(reference, OPERAND_READ | OPERAND_OPTIONAL)                                                                        \
  T(y, OPERAND_WRITE)                                                                                                  \
  T(anew, OPERAND_WRITE | OPERAND_OPTIONAL)
struct op_guide {
  OPERANDS(GUIDE)
  int step, together;
  int rows, first; /* of each latent, of the first one; 0: all there are, as many as of each */
};

/* x becomes s.x * x + s.model * model + sum over i of s.earlier[i] * earlier[i] + s.noise * noise[step], with
 * s = run.step[step]. Then earlier[i] becomes earlier[i - 1], and earlier[0] s.keep_x * x + s.keep_model * model, of
 * the x before: what the step knew, as epsilon or as x0. A step that keeps nothing, both factors 0, leaves earlier as
 * it is. Every few-step sampler on epsilon- or v-prediction is of this form, and so are multistep ones (DPM-Solver++,
 * PNDM, UniPC): unet/sample/ makes the coefficients in double. In place: x and earlier are what one iteration hands on.
 * What has the coefficient 0 is not read: before the first step, earlier may hold anything. Of several latents latent i
 * is at step + steps_behind(i, together), with an earlier and a noise of its own: samples are those of a step after
 * those of the step before, as many as are together.
 *   x      precise [n, h, w, c]
 *   model  [n, h, w, c]
 *   earlier  precise [n times 1..EARLIER_MAX, h, w, c], a temporary or a state: coefficients behind them must be 0
 *   noise  precise [samples, h, w, c]: without it s.noise is not read, and it must be 0 for steps from samples on
 *          (device_submit checks) */
#define OPERANDS_STEP(T, P)                                                                                            \
  T(x, OPERAND_READ | OPERAND_WRITE)                                                                                   \
  T(model, OPERAND_READ)                                                                                               \
  T(earlier, OPERAND_READ | OPERAND_WRITE | OPERAND_OPTIONAL)                                                          \
  T(noise, OPERAND_READ | OPERAND_STATE | OPERAND_OPTIONAL)
struct op_step {
  OPERANDS(STEP)
  int step; /* as OP_TIME_ROW's */
  int together;
};

/* y = frames of the run's, cropped, resized to y's size, as R, G, B in y = value * scale + bias with value in 0..1.
 * Picture i is of the frame number source * n + i, by run.geometry of this number. Each output pixel is the mean of the
 * source over its footprint, in samples of the plane, centred at its mapped centre and at least one sample wide each
 * way (so an enlargement is linear interpolation); edges are clamped at the plane's, not the rectangle's; chroma is
 * centre-sited (also YUYV's). Planes are resized first, then turned to R, G, B, which are clamped to 0..1. Outside the
 * destination rectangle: black (value 0). y  [n, H, W, 3]; its n (0: 1), h and w are given */
enum { SOURCES_MAX = 2, FRAMES_MAX = SOURCES_MAX * BATCH_MAX };
#define OPERANDS_PIXELS_IN(T, P) T(y, OPERAND_WRITE)
struct op_pixels_in {
  OPERANDS(PIXELS_IN)
  float scale, bias;
  int source; /* 0: the input; 1: what controls come from instead */
};

/* y = what a control network reads of a picture: a map, 0..1. Its parameters are run.control[control].param, in the
 * order of maps.c, each rounded to the nearest integer but gain. Everything is counted in integers, so that all devices
 * agree: the picture becomes 8-bit codes, floor(255 (scale x + bias) + 0.5) within 0..255 by one multiply-add in FP32,
 * no number being 0, and y is a code times 1/255. Beyond the picture's edges its outermost pixels go on. Quotients and
 * roots lose their fraction.
 *   grey(p)  (9798 r + 19235 g + 3735 b + 16384) / 32768, as OpenCV has it
 *   soft(p)  the codes in sixteenths, averaged with the weights of three boxes of n = 2 radius + 1 pixels after each
 *            other, along rows and then along columns: (16 sum + n^3 / 2) / n^3, then (sum + n^3 / 2) / n^3
 *   sobel(v) of values v, by 3x3 weights: |gx|, |gy|
 *   CANNY     OpenCV's Canny of grey, with its L1 norm; EDGE_ROUNDS rounds of hysteresis stand for what it does to
 *             the end. Where an edge's pixel is above `high` it is strong, above `low` weak (low is the smaller one).
 *             A round: in each tile of EDGE_TILE x EDGE_TILE pixels the strong ones in it and around it, as they were
 *             before the round, make weak neighbours strong, those theirs, to the end. Strong pixels are white
 *   LINEART   d = most of soft - 16 code over r, g, b; 0 where d is not above 16 low, else (d - 16 low) gain / 16,
 *             rounded; gain is rounded to sixteenths
 *   SOFTEDGE  m = the root of the largest gx^2 + gy^2 of soft's r, g, b, by sobel; e = m - 16 low; 0 where e is not
 *             above 0, else 255 e / (e + 16 half), rounded
 *   COLOR     the mean of its cell of cell x cell pixels, counted from the first, rounded
 *   TILE      the same means, with linear interpolation between the cells' centres, rounded
 *   BLUR      soft, rounded
 *   GRAY      grey
 *   MASK      white where low <= grey <= high
 *   x  [1, h, w, 3] */
#define OPERANDS_MAP(T, P)                                                                                             \
  T(x, OPERAND_READ)                                                                                                   \
  T(y, OPERAND_WRITE)
struct op_map {
  OPERANDS(MAP)
  enum map_kind kind; /* any but MAP_DEPTH and MAP_PICTURE */
  int control;
  float scale, bias;
};

/* The run's output pictures = clamp(mix * (x * scale + bias) + (1 - mix) * input, 0, 1), in the format of
 * program_options.output. YUV formats are written limited range, BT.709; a chroma sample is the mean of its pixels.
 * 8-bit values round to nearest.
 * With run.show SHOW_MAP it is map number run.show_control instead. With SHOW_BESIDE it has the map at the left and
 * what it would have been at the right, each whole and half as wide and high (W / 2 by H / 2, a pixel the mean of
 * four), the rows above and below them black: (H - H / 2) / 2 above. Where there is no such map it is the picture
 * whatever is asked for. x      [n, H, W, 3] input  from OP_PIXELS_IN map0.. [n, H, W, 3], 0..1: of each control */
#define OPERANDS_PIXELS_OUT(T, P)                                                                                      \
  T(x, OPERAND_READ)                                                                                                   \
  T(input, OPERAND_READ | OPERAND_OPTIONAL)                                                                            \
  T(map0, OPERAND_READ | OPERAND_OPTIONAL)                                                                             \
  T(map1, OPERAND_READ | OPERAND_OPTIONAL)                                                                             \
  T(map2, OPERAND_READ | OPERAND_OPTIONAL)                                                                             \
  T(map3, OPERAND_READ | OPERAND_OPTIONAL)
struct op_pixels_out {
  OPERANDS(PIXELS_OUT)
  float scale, bias;
  float input_scale, input_bias;
};

/* Of each control. */
static inline struct tensor pixels_out_map(const struct op_pixels_out *op, int control) {
  const struct tensor maps[CONTROLS_MAX] = {op->map0, op->map1, op->map2, op->map3};
  return maps[control];
}

/* y = x in patches, as rows for a product: x is resized to rows * size by columns * size pixels, and row
 * 1 + i * columns + j of y has the patch that is number i down and j across, pixel by pixel, with channel k times
 * scale[k] plus bias[k]; what is behind its 3 size^2 values is 0, as is all of row 0, the place of a class token.
 * Resizing is bicubic (Keys' kernel with a = -0.75, in FP32): centres of pixels are at halves, what lies outside is as
 * at the edge, and a reduction is not smoothed.
 *   x  [1, H, W, 3]
 *   y  [1, 1, 1 + rows * columns, c], c at least 3 size^2: given */
#define OPERANDS_PATCHES(T, P)                                                                                         \
  T(x, OPERAND_READ)                                                                                                   \
  T(y, OPERAND_WRITE)
struct op_patches {
  OPERANDS(PATCHES)
  int rows, columns, size;
  float scale[3], bias[3];
};

/* The other way: rows of tokens as a picture, in which each is a square of size x size pixels. Pixel (i, j) of the
 * square of token t has channels [(i size + j) c, (i size + j + 1) c) of row skip + t.
 *   x  [1, 1, skip + rows * columns, size^2 c]
 *   y  [1, rows * size, columns * size, c] */
#define OPERANDS_UNPATCH(T, P)                                                                                         \
  T(x, OPERAND_READ)                                                                                                   \
  T(y, OPERAND_WRITE)
struct op_unpatch {
  OPERANDS(UNPATCH)
  int rows, columns, size, skip;
};

/* y = x resized + residual: linear interpolation with aligned corners, so that pixel i of W is at i (w - 1) / (W - 1)
 * of x; 0 where W is 1. x         [n, h, w, c] residual  shape of y y         [n, H, W, c]; its h and w are given */
#define OPERANDS_RESIZE(T, P)                                                                                          \
  T(x, OPERAND_READ)                                                                                                   \
  T(residual, OPERAND_READ | OPERAND_OPTIONAL | OPERAND_ADDEND)                                                        \
  T(y, OPERAND_WRITE)
struct op_resize {
  OPERANDS(RESIZE)
};

/* The range of a scene's values, which follows them slowly. The least and the most of the means over squares of size x
 * size values are the frame's own range. The first one is taken as it is; then low and high go `speed` of the way to
 * those of each frame, which is run.control[control].param[0], or more where these are elsewhere: with d, the farther
 * of the two distances in widths of the wider range, speed + (1 - speed) clamp(4 d - 1, 0, 1) of the way, so that a cut
 * is followed at once. A frame whose range is not finite is left out.
 *   x      [1, h, w, 1], h and w multiples of size
 *   range  precise [1, 1, 1, 3]: low, high, and 1 where there is a range yet */
#define OPERANDS_RANGE(T, P)                                                                                           \
  T(x, OPERAND_READ)                                                                                                   \
  T(range, OPERAND_READ | OPERAND_WRITE | OPERAND_STATE)
struct op_range {
  OPERANDS(RANGE)
  int size, control;
};

/* y = clamp((resized x - low) / (high - low), 0, 1) in three channels, which are the same; 0 where high is not above
 * low. Resized as by OP_RESIZE.
 *   x      [1, h, w, 1]
 *   range  OP_RANGE's
 *   y      [1, H, W, 3]; its h and w are given, or it is a state */
#define OPERANDS_SPREAD(T, P)                                                                                          \
  T(x, OPERAND_READ)                                                                                                   \
  T(range, OPERAND_READ | OPERAND_STATE)                                                                               \
  T(y, OPERAND_WRITE)
struct op_spread {
  OPERANDS(SPREAD)
};

/* All ops: TYPE, its field in struct op, its name for people, which of the run's parameters device_submit checks for it
 * (device.c), and the function that counts its floating-point operations (op.c). */
#define OP_TABLE(ROW)                                                                                                  \
  ROW(CONV, conv, "conv", nothing, conv_flops)                                                                         \
  ROW(LINEAR, linear, "linear", nothing, linear_flops)                                                                 \
  ROW(INJECT, inject, "inject", gains, inject_flops)                                                                   \
  ROW(NORM, norm, "norm", nothing, no_flops)                                                                           \
  ROW(AFFINE, affine, "affine", nothing, no_flops)                                                                     \
  ROW(BLOCKS, blocks, "blocks", nothing, no_flops)                                                                     \
  ROW(ATTENTION, attention, "attention", nothing, attention_flops)                                                     \
  ROW(STYLE, style, "style", styles, style_flops)                                                                      \
  ROW(JOIN, join, "join", nothing, no_flops)                                                                           \
  ROW(EMBED, embed, "embed", tokens, no_flops)                                                                         \
  ROW(TIMESTEP, timestep, "timestep", timesteps, no_flops)                                                             \
  ROW(GUIDANCE_EMBED, guidance_embed, "guidance embed", nothing, no_flops)                                             \
  ROW(TIME_ROW, time_row, "time row", nothing, no_flops)                                                               \
  ROW(STORE_SLOT, store_slot, "store slot", slot, no_flops)                                                            \
  ROW(SHIFT, shift, "shift", nothing, no_flops)                                                                        \
  ROW(PROMPT, prompt, "prompt", prompts, no_flops)                                                                     \
  ROW(END_TOKEN, end_token, "end token", end, no_flops)                                                                \
  ROW(EMPHASIS, emphasis, "emphasis", emphasis, no_flops)                                                              \
  ROW(BETWEEN, between, "between", nothing, no_flops)                                                                  \
  ROW(START, start, "start", nothing, no_flops)                                                                        \
  ROW(MASK, mask, "mask", nothing, no_flops)                                                                           \
  ROW(UNET_INPUT, unet_input, "unet input", nothing, no_flops)                                                         \
  ROW(GUIDE, guide, "guide", nothing, no_flops)                                                                        \
  ROW(STEP, step, "step", coefficients, no_flops)                                                                      \
  ROW(PIXELS_IN, pixels_in, "pixels in", frame, no_flops)                                                              \
  ROW(PATCHES, patches, "patches", nothing, no_flops)                                                                  \
  ROW(UNPATCH, unpatch, "unpatch", nothing, no_flops)                                                                  \
  ROW(RESIZE, resize, "resize", nothing, no_flops)                                                                     \
  ROW(RANGE, range, "range", speed, no_flops)                                                                          \
  ROW(SPREAD, spread, "spread", nothing, no_flops)                                                                     \
  ROW(MAP, map, "map", map, no_flops)                                                                                  \
  ROW(PIXELS_OUT, pixels_out, "pixels out", shown, no_flops)

#define OP_TYPE(TYPE, field, ...) OP_##TYPE,
enum op_type { OP_TABLE(OP_TYPE) OP_TYPES };
#undef OP_TYPE

#define OP_FIELD(TYPE, field, ...) struct op_##field field;
struct op {
  enum op_type type;
  const char *name; /* where it is in the model ("down_blocks.0.resnets.1.conv1"); owned by the plan */
  union {
    OP_TABLE(OP_FIELD)
  };
};
#undef OP_FIELD

const char *op_type_name(enum op_type type);

struct op_operand {
  struct tensor tensor;
  const char *name; /* "x2", "prologue.gamma" */
  unsigned roles;   /* of enum operand_role */
};

/* The operands that have any of these roles, those left out left out, in the order of the op's list; the number of
 * them. */
enum { OPERANDS_MAX = 10 };
int op_operands(const struct op *op, unsigned roles, struct op_operand list[OPERANDS_MAX]);
/* The same without names. */
int op_tensors(const struct op *op, unsigned roles, struct tensor list[OPERANDS_MAX]);

/* What an op makes. */
struct op_result {
  int n, h, w, c; /* of y */
  enum demand demand;
};

/* Checks an op before it joins a plan in which it runs so many times in a row, and gives the shape of its y, where that
 * is to be made. Returns what is wrong with it in a few words; NULL: nothing. */
const char *op_check(const struct op *op, int runs, struct op_result *result);
/* The y of an op; NULL: it has none, and what it writes was there before. */
struct tensor *op_y(struct op *op);

/* Floating-point operations of the op's matrix products (2 per multiply-add); 0 for ops that have none. */
double op_flops(const struct op *op);

#endif
