/* The ops: the whole contract between models, which append them to a plan, and devices, which run them. Both know this
 * file and nothing of each other.
 *
 * Ops are as coarse as the fastest device fuses. A field a device cannot fuse it runs before or after; the CPU's plain
 * loops (cpu_ops.c) are the definition of each op and what every other implementation is compared with.
 *
 * Rules for all ops: tensors are NHWC; operands are whole tensors unless marked [view]; "optional" operands may be
 * TENSOR_NONE; no op but OP_STEP writes what it reads. */
#ifndef UNET_PLAN_OP_H
#define UNET_PLAN_OP_H

#include "unet/plan/tensor.h"

enum {
  STEPS_MAX = 50,        /* sampler steps */
  GUIDANCE_ROWS_MAX = 3, /* rows of one U-Net call: 1 none, 2 classifier-free, 3 InstructPix2Pix */
  TOKENS_MAX = 256,      /* text positions */
  TIMESTEPS = 1000,      /* rows of the time table */
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

enum op_type {
  OP_CONV,
  OP_LINEAR,
  OP_NORM,
  OP_ATTENTION,
  OP_EMBED,
  OP_TIMESTEP,
  OP_GUIDANCE_EMBED,
  OP_TIME_ROW,
  OP_STORE_SLOT,
  OP_PROMPT,
  OP_START,
  OP_UNET_INPUT,
  OP_STEP,
  OP_PIXELS_IN,
  OP_PIXELS_OUT,
  OP_TYPES
};

/* y = act(conv(upsample(prologue(x ++ x2))) + bias + time + residual). Zero padding, after the prologue.
 * Output size: (up * h + 2 pad - k) / stride + 1, and with pad_end_only (the KL autoencoder's downsampling: one zero
 * row and column at the end, none at the start; pad must be 0) (h + 1 - k) / stride + 1. */
struct op_conv {
  struct tensor x;
  struct tensor x2;     /* optional: concatenated after x along c; same n, h, w */
  struct tensor weight; /* [c_out, k, k, c_in]; k is 1 or 3 */
  struct tensor bias;   /* optional [c_out] */
  struct prologue prologue;
  bool upsample; /* nearest 2x, between prologue and convolution */
  int stride;    /* 1 or 2 */
  int pad;
  bool pad_end_only;
  struct tensor time;     /* optional [view] [1, 1, 1, c_out]: added to every pixel */
  struct tensor residual; /* optional, shape of y */
  enum activation act;
  struct tensor y;
};

/* y = act(prologue(x ++ x2) W^T + bias) + residual, over rows of channels. Note: the residual comes after act. */
struct op_linear {
  struct tensor x;
  struct tensor x2;     /* optional: concatenated after x along c */
  struct tensor weight; /* [N, 1, 1, K] */
  struct tensor bias;   /* optional [N] */
  struct prologue prologue;
  enum activation act;
  struct tensor residual; /* optional, shape of y */
  struct tensor y;        /* c = N, or N / 2 with ACT_GEGLU */
};

/* y = prologue(x), for a norm that no other op can carry. */
struct op_norm {
  struct tensor x;
  struct prologue prologue;
  struct tensor y;
};

/* y = softmax(scale * q k^T) v for each n and head. Tokens are rows (h * w); head i has channels [i D, (i + 1) D).
 * FP32 accumulation and softmax everywhere. */
struct op_attention {
  /* [view]s: read in place from fused projections and prompt state; k, v with n == 1 serve all n */
  struct tensor q, k, v;
  int heads;       /* head_dim = q.c / heads */
  float scale;     /* usually 1 / sqrt(head_dim) */
  bool causal;     /* row i sees columns 0..i */
  struct tensor y; /* [n, h, w, q.c] */
};

/* y[0, 0, i] = token[run.tokens[i]] + position[i]. */
struct op_embed {
  struct tensor token;    /* [vocabulary, 1, 1, c] */
  struct tensor position; /* [positions, 1, 1, c] */
  struct tensor y;        /* [1, 1, positions, c] */
};

/* Sinusoidal embedding: row t of y is that of timestep t = 0..999. half = c / 2, f_k = exp(-ln(10000) k / (half -
 * shift)); [cos | sin] of t f_k with cos_first (diffusers' flip_sin_to_cos), else [sin | cos]. Computed in FP32 or
 * better. */
struct op_timestep {
  bool cos_first;
  float shift;     /* freq_shift */
  struct tensor y; /* [1000, 1, 1, c] */
};

/* w-embedding of full LCM models, the same for each row: w = (run.guidance - 1) * 1000,
 * f_k = exp(-ln(10000) k / (half - 1)), [sin | cos] of w f_k. */
struct op_guidance_embed {
  struct tensor y; /* [1000, 1, 1, time_cond_proj_dim] */
};

/* y = row run.step[step].timestep of table: all time projections of one U-Net call. */
struct op_time_row {
  int step;            /* in a loop (plan.h) that of its first round; each round's is the next */
  struct tensor table; /* state [1000, 1, 1, c] */
  struct tensor y;     /* [1, 1, 1, c] */
};

/* slots[run.slot] = x: the prompt plan's last op. */
struct op_store_slot {
  struct tensor x;     /* [1, 1, tokens, c] */
  struct tensor slots; /* state [SLOTS, 1, tokens, c] */
};

/* Row r of y = sum over i of run.prompt[r].weight[i] * slots[run.prompt[r].slot[i]], for r < y.n. A weight of 0 means
 * the slot is not read. */
struct op_prompt {
  struct tensor slots;
  struct tensor y; /* [rows, 1, tokens, c] */
};

/* x = run.start_latent * z + run.start_noise * noise[0]: what the sampler starts from. */
struct op_start {
  struct tensor z;     /* optional [1, h, w, c]: without it, text to image */
  struct tensor noise; /* state, wide [steps, h, w, c] */
  struct tensor y;     /* wide */
};

/* y = rows copies of [x | image], the U-Net's input; where bit r of image_rows is clear, row r's image part is zero. */
struct op_unet_input {
  struct tensor x;     /* wide [1, h, w, c] */
  struct tensor image; /* optional [1, h, w, c_image] */
  unsigned image_rows;
  struct tensor y; /* [rows, h, w, c + c_image] */
};

/* x becomes s.x * x + s.model * sum over r of run.row_weight[r] * model[r] + s.noise * noise[step], with
 * s = run.step[step]. Every few-step sampler on epsilon- or v-prediction is of this form: sampler.c makes the
 * coefficients in double. In place: x is what a loop's rounds hand on. */
struct op_step {
  int step;            /* as OP_TIME_ROW's */
  struct tensor x;     /* wide [1, h, w, c] */
  struct tensor model; /* [rows, h, w, c] */
  struct tensor noise; /* optional state, wide [draws, h, w, c]: without it s.noise is not read, and
                          it must be 0 for steps from draws on (device_submit checks) */
};

/* y = the frame, cropped, resized to y's size, as R, G, B in y = value * scale + bias with value in 0..1.
 * Geometry: run.geometry. Each output pixel is the mean of the source over its footprint, in samples of the plane,
 * centred at its mapped centre and at least one sample wide each way (so an enlargement is linear interpolation); edges
 * are clamped at the plane's, not the rectangle's; chroma is centre-sited (also YUYV's). Planes are resized first, then
 * turned to R, G, B, which are clamped to 0..1. Outside the destination rectangle: black (value 0). */
struct op_pixels_in {
  float scale, bias;
  struct tensor y; /* [1, H, W, 3] */
};

/* The run's output picture = clamp(mix * (x * scale + bias) + (1 - mix) * input, 0, 1), as run.output_format. YUV
 * formats are written limited range, BT.709; a chroma sample is the mean of its pixels. 8-bit values round to nearest.
 */
struct op_pixels_out {
  float scale, bias;
  struct tensor x;     /* [1, H, W, 3] */
  struct tensor input; /* optional, from OP_PIXELS_IN */
  float input_scale, input_bias;
};

struct op {
  enum op_type type;
  const char *name; /* where it is in the model ("down_blocks.0.resnets.1.conv1"); owned by the plan */
  union {
    struct op_conv conv;
    struct op_linear linear;
    struct op_norm norm;
    struct op_attention attention;
    struct op_embed embed;
    struct op_timestep timestep;
    struct op_guidance_embed guidance_embed;
    struct op_time_row time_row;
    struct op_store_slot store_slot;
    struct op_prompt prompt;
    struct op_start start;
    struct op_unet_input unet_input;
    struct op_step step;
    struct op_pixels_in pixels_in;
    struct op_pixels_out pixels_out;
  };
};

const char *op_type_name(enum op_type type);

/* The tensors an op reads and writes, optional ones left out. */
enum { OP_READS_MAX = 10, OP_WRITES_MAX = 1 };
int op_reads(const struct op *op, struct tensor reads[OP_READS_MAX]);
int op_writes(const struct op *op, struct tensor writes[OP_WRITES_MAX]);

/* Floating-point operations of the op's matrix products (2 per multiply-add); 0 for ops that have none. */
double op_flops(const struct op *op);

#endif
