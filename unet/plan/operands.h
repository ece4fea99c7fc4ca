/* Types that the ops' structs share: operands and their roles, norms, activations, and guidance rows. */
#ifndef UNET_PLAN_OPERANDS_H
#define UNET_PLAN_OPERANDS_H

#include "unet/plan/element.h"
#include "unet/plan/tensor.h"

enum {
  /* largest number of guidance rows: 1 without guidance, 2 for classifier-free guidance, 3 for InstructPix2Pix */
  GUIDANCE_ROWS_MAX = 3,
  TOKENS_MAX = 256,  /* largest number of tokens of a text */
  TIMESTEPS = 1000,  /* number of timesteps of the training; a timestep is a real number from 0 to TIMESTEPS - 1 */
  EARLIER_MAX = 3,   /* largest number of earlier predictions that a sampler's step may use */
  EMPHASIS_MAX = 10, /* largest weight of a token, positive or negative */
  EDGE_TILE = 128,   /* side of the tiles, in pixels, within which one round of a map's hysteresis spreads */
  EDGE_ROUNDS = 4,
  /* number of size values that a U-Net may take: height and width of the original picture, position of its crop, height
   * and width of the target */
  SIZES = 6,
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

/* The norm and then the activation that an op applies to its input first. With NORM_NONE there is the activation alone.
 * Group norm: statistics over (h, w, c / groups) for each n and group. Layer norm: over c for each row. Biased
 * variance, y = (x - mean) / sqrt(var + eps) * gamma[c] + beta[c]. Over a concatenated input the norm spans both
 * parts. */
struct prologue {
  enum norm_kind norm;
  enum activation act;
  int groups;
  float eps;
  struct tensor gamma, beta; /* vectors of c; without them gamma is 1 and beta is 0 */
};

/* The use that an op makes of an operand. */
enum operand_role {
  OPERAND_READ = 1,
  OPERAND_WRITE = 2,    /* together with OPERAND_READ: changed in place */
  OPERAND_OPTIONAL = 4, /* may be TENSOR_NONE */
  OPERAND_VIEW = 8,     /* may be a channel slice; all others are whole tensors */
  /* rows of values: a product's weight or a table of embeddings; a resource, unless OPERAND_STATE is set */
  OPERAND_MATRIX = 16,
  OPERAND_VECTOR = 32,  /* a value for each channel: a weight, unless OPERAND_VIEW is set */
  OPERAND_STATE = 64,   /* written by one run and read by later ones: a plan's state, or a resource */
  OPERAND_ADDEND = 128, /* added to y elementwise; y may take its memory if no later op reads it */
  OPERAND_WHOLE = 256,  /* whole numbers (ELEMENT_WHOLE); without this role an operand never is of that type */
};

/* Guidance rows of several latents, one latent after another: the first latent has `first` rows, every later one
 * `each`. A row is the copy of a latent that is computed for one prompt. */
struct guidance_rows {
  int first, each;
};

/* guidance_index returns the number of the latent to which row number `row` belongs, guidance_row the number of the row
 * within that latent, and guidance_total the number of rows of `count` latents. */
static inline int guidance_index(struct guidance_rows rows, int row) {
  return row < rows.first ? 0 : 1 + (row - rows.first) / rows.each;
}
static inline int guidance_row(struct guidance_rows rows, int row) {
  return row < rows.first ? row : (row - rows.first) % rows.each;
}
static inline int guidance_total(struct guidance_rows rows, int count) {
  return count ? rows.first + (count - 1) * rows.each : 0;
}
/* Returns by how many steps latent number `latent` is ahead of the first one, if groups of `together` neighbours are at
 * the same step; together 0 is the same as 1. */
static inline int steps_behind(int latent, int together) {
  return latent / (together ? together : 1);
}
/* Returns the rows that an op's fields `first` and `rows` (here each) stand for: each 0 is replaced by `standard`, and
 * then first 0 by `each`. */
static inline struct guidance_rows guidance_rows(int first, int each, int standard) {
  each = each ? each : standard;
  return (struct guidance_rows){first ? first : each, each};
}

/* Each op has a list of operands, OPERANDS_<TYPE>. T(name, roles) is a tensor; P(name) is a prologue, whose gamma and
 * beta are vectors. op_operands lists them in this order. */
#define OPERAND_TENSOR(name, roles) struct tensor name;
#define OPERAND_PROLOGUE(name) struct prologue name;
#define OPERANDS(TYPE) OPERANDS_##TYPE(OPERAND_TENSOR, OPERAND_PROLOGUE)

#endif
