/* Types that the ops' structs share: operands and their roles, norms, activations, and guidance rows. */
#ifndef UNET_PLAN_OPERANDS_H
#define UNET_PLAN_OPERANDS_H

#include "unet/plan/element.h"
#include "unet/plan/tensor.h"

enum {
  /* largest number of guidance rows (predictions that a step computes for each latent): 1 without guidance, 2 for
   * classifier-free guidance, 3 for InstructPix2Pix */
  GUIDANCE_ROWS_MAX = 3,
  TOKENS_MAX = 256,  /* largest number of tokens in one text */
  TIMESTEPS = 1000,  /* number of timesteps of the training; a timestep is a real number from 0 to TIMESTEPS - 1 */
  EARLIER_MAX = 3,   /* largest number of predictions of earlier steps that a multistep sampler's step uses */
  EMPHASIS_MAX = 10, /* largest weight of a token in a prompt, positive or negative */
  /* side, in pixels, of the tiles in which OP_MAP finds the edges of a Canny map; EDGE_ROUNDS: how many times strong
   * edges grow from each tile into the next ones */
  EDGE_TILE = 128,
  EDGE_ROUNDS = 4,
  /* number of sizes that SDXL's U-Net reads as input: height and width of the original picture, top and left of its
   * crop, height and width of the target */
  SIZES = 6,
};

enum activation {
  ACT_NONE,
  ACT_RELU,
  ACT_SILU,       /* x * sigmoid(x) */
  ACT_GELU,       /* GELU by its exact formula with erf */
  ACT_QUICK_GELU, /* x * sigmoid(1.702 x) */
  /* OP_LINEAR only: columns [0, N/2) of the product times gelu(columns [N/2, N)); the result has half as many
   * channels */
  ACT_GEGLU,
  ACT_TANH3, /* 3 tanh(x / 3): the clamp before AutoencoderTiny's decoder */
};

enum norm_kind { NORM_NONE, NORM_GROUP, NORM_LAYER };

/* A norm, and after it an activation, that an op applies to its input first; with NORM_NONE the activation alone. Group
 * norm has statistics over (h, w, c / groups) for each n and group; layer norm has them over c for each row. The
 * variance is biased: y = (x - mean) / sqrt(var + eps) * gamma[c] + beta[c]. If an op concatenates two inputs, the norm
 * spans the channels of both. */
struct prologue {
  enum norm_kind norm;
  enum activation act;
  int groups;
  float eps;
  struct tensor gamma, beta; /* one value for each channel; if left out, gamma is 1 and beta is 0 */
};

/* How an op uses an operand: bits that are combined. */
enum operand_role {
  OPERAND_READ = 1,
  OPERAND_WRITE = 2,    /* the op writes the operand; together with OPERAND_READ: the op changes the operand in place */
  OPERAND_OPTIONAL = 4, /* the operand may be left out (TENSOR_NONE) */
  /* the operand may be a view of some of a tensor's channels (tensor_channels); without this bit it is a whole
   * tensor */
  OPERAND_VIEW = 8,
  /* the operand is a table of rows: the weight of a matrix product, or embeddings; it is a resource (resources.h),
   * unless OPERAND_STATE is set */
  OPERAND_MATRIX = 16,
  OPERAND_VECTOR = 32, /* the operand has one value for each channel; it is a weight, unless OPERAND_VIEW is set */
  /* the operand is a tensor that keeps its values from one run to later ones: a state of the plan, or a resource
   * (resources.h: a weight or another tensor that plans share) */
  OPERAND_STATE = 64,
  /* the operand is added to y elementwise; y may be stored in the operand's memory if no later op reads the operand */
  OPERAND_ADDEND = 128,
  /* the operand's values are int32 (ELEMENT_WHOLE); operands without this bit never have that type */
  OPERAND_WHOLE = 256,
};

/* The numbers of guidance rows. A guidance row is the copy of a latent for which the network makes one prediction, with
 * one prompt; classifier-free guidance needs two for each latent. In a tensor the copies of the first latent come
 * first, `first` of them, then `each` copies of every later latent. */
struct guidance_rows {
  int first, each;
};

/* A guidance row is a copy of a latent for one prompt. guidance_index returns the number (from 0) of the latent to
 * which guidance row `row` belongs. guidance_row returns the number of this row among the latent's rows. guidance_total
 * returns the number of rows of `count` latents. */
static inline int guidance_index(struct guidance_rows rows, int row) {
  return row < rows.first ? 0 : 1 + (row - rows.first) / rows.each;
}
static inline int guidance_row(struct guidance_rows rows, int row) {
  return row < rows.first ? row : (row - rows.first) % rows.each;
}
static inline int guidance_total(struct guidance_rows rows, int count) {
  return count ? rows.first + (count - 1) * rows.each : 0;
}
/* In a stream batch (StreamDiffusion) each latent belongs to another frame and is at another step. Returns by how many
 * steps latent number `latent` is ahead of latent 0. together: number of neighbouring latents at each step; 0 means
 * 1. */
static inline int steps_behind(int latent, int together) {
  return latent / (together ? together : 1);
}
/* Returns the numbers of guidance rows (copies of a latent, one for each prompt) from an op's fields `first` and
 * `rows`, here `each`. If `each` is 0, `standard` is used; if `first` is 0, the first latent has as many rows as each
 * later one. */
static inline struct guidance_rows guidance_rows(int first, int each, int standard) {
  each = each ? each : standard;
  return (struct guidance_rows){first ? first : each, each};
}

/* Each op has a macro OPERANDS_<TYPE>(T, P) that lists its operands, in the order in which op_operands lists them.
 * T(name, roles) is a tensor with bits of enum operand_role. P(name) is a prologue (norm and activation), whose gamma
 * and beta are operands as well. */
#define OPERAND_TENSOR(name, roles) struct tensor name;
#define OPERAND_PROLOGUE(name) struct prologue name;
#define OPERANDS(TYPE) OPERANDS_##TYPE(OPERAND_TENSOR, OPERAND_PROLOGUE)

#endif
