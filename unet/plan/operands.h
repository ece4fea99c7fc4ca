/* What the ops' structs are made of: their operands and what is done with them, norms and activations, rows. */
#ifndef UNET_PLAN_OPERANDS_H
#define UNET_PLAN_OPERANDS_H

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

#endif
