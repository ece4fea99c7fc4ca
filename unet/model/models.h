/* The networks: U-Net, autoencoders and text encoders. A struct has a network's shape and says where its weights are;
 * functions append the network's ops to a plan and return its output. Tensors' names are those of the checkpoint.
 * Errors become the plan's error, which plan_finish reports. */
#ifndef UNET_MODEL_MODELS_H
#define UNET_MODEL_MODELS_H

#include "unet/model/blocks.h"
#include "unet/checkpoint/checkpoint.h"
#include "unet/plan/plan.h"
#include "unet/text/prompt.h"

/* --- the U-Net: diffusers' UNet2DConditionModel (unet.c) --- */

/* A U-Net: its config, its weights and the list of its layers. It may be appended to several plans. The checkpoint's
 * predictor, from which it is made, is borrowed. */
struct unet {
  const struct unet_config *config;
  const struct component *weights;
  struct walk walk; /* the list of all layers between conv_in and conv_norm_out, in the order in which they run */
};

int unet_init(struct unet *unet, const struct predictor *predictor, struct error *err);
/* Initialises a U-Net without up blocks, which ends with the middle block: the body of a ControlNet. */
int unet_init_body(struct unet *unet, const struct unet_config *config, const struct component *weights,
                   struct error *err);
void unet_free(struct unet *unet); /* frees the U-Net's memory; accepts a zeroed U-Net */

/* The inputs of a U-Net's time projections (each residual block's bias from the time embedding) that are fixed when the
 * plan is made; timesteps and guidance are run parameters. */
struct unet_moments {
  int steps;
  /* the rows of the table of time projections that each step reads: how many the first step reads, and how many each
   * later one */
  struct guidance_rows rows;
  /* the pooled text, for U-Nets that read one: [rows of all steps, 1, 1, added_text_dim] */
  struct tensor pooled;
  float sizes[SIZES]; /* for U-Nets that read sizes of pictures (SDXL): the sizes (operands.h, SIZES) */
};

/* Appends the time projections of all residual blocks for the timesteps run.step[0..steps), with run.guidance if the
 * U-Net has a guidance embedding. The result is [rows of all steps, 1, 1, walk.time_channels]. y: where it is written;
 * no tensor: to a new temporary. Any further input of a U-Net's time embedding must be added here. */
struct tensor unet_times(const struct unet *unet, struct plan *plan, const struct unet_moments *of, struct tensor y);
/* Appends the layer that computes the keys and values of all attention to the text, [1, 1, tokens, walk.text_channels],
 * from encoded tokens: `text`, or `text` and `text2` concatenated to [1, 1, tokens, cross_attention_dim]. text2 may be
 * left out. */
struct tensor unet_texts(const struct unet *unet, struct plan *plan, struct tensor text, struct tensor text2);
/* Makes states for the results of unet_texts. keys[chunks - 1] is for prompts of `chunks` chunks, with room for `slots`
 * prompts; positions: number of tokens in a chunk. whose: appended to the states' names, to say for which network they
 * are; "" for the model's own U-Net. */
int unet_add_keys(const struct unet *unet, struct tensor keys[PROMPT_CHUNKS_MAX], const char *whose, int slots,
                  int positions, struct resources *resources, struct error *err);
/* Returns rows `first` to `first + rows - 1` of the table of time projections, those of one call of the U-Net. loop:
 * true: the call is in the plan's loop, and these are the rows of the first iteration; an op chooses the rows in each
 * iteration. */
struct tensor unet_time_rows(struct plan *plan, struct tensor table, int first, int rows, bool loop);
/* Appends the op that blends the keys and values of prompts, and returns its result. It is kept from run to run: calls
 * for one network that have the same rows share one state for it. op: all but `y` (whose n is set) and `note`.
 * whose: as in unet_add_keys. */
struct tensor unet_text(struct plan *plan, const char *whose, struct op_prompt op);
/* Append a call of the U-Net in three parts: unet_begin, unet_down, unet_up. Between them the caller may change the
 * tensors in skips and the result of unet_down. x: [rows, h, w, in_channels]. time: one row of unet_times, or one for
 * each of x's rows. text: [1 or rows, 1, tokens, walk.text_channels]. hint: added to conv_in's output if it is a
 * tensor. unet_up returns [rows, h, w, out_channels]. */
struct unet_call unet_begin(const struct unet *unet, struct plan *plan, struct tensor time, struct tensor text);
struct tensor unet_down(struct unet_call *call, struct tensor x, struct tensor hint, struct skips *skips);
struct tensor unet_up(struct unet_call *call, struct tensor x, struct skips *skips);

/* --- autoencoders (autoencoder.c, and a file for each kind) --- */

/* The functions of one kind of autoencoder. Each kind defines a constant of this type: kl_kind and tae_kind. */
struct autoencoder_kind {
  float black; /* value of black in the pictures that the autoencoder reads and writes; white is 1 */
  /* Encodes picture [1, H, W, 3] to a latent [1, H / scale, W / scale, latent_channels] in the scale of the network
   * (autoencoder_scaled). */
  struct tensor (*encode)(const struct autoencoder *autoencoder, struct plan *plan, struct tensor picture);
  /* Decodes a latent to a picture. The latent is in the scale of the network, and may be FP32. The picture's values are
   * not clamped. */
  struct tensor (*decode)(const struct autoencoder *autoencoder, struct plan *plan, struct tensor latent);
};

#define AUTOENCODER_KIND(KIND, field, class) extern const struct autoencoder_kind field##_kind;
AUTOENCODER_TABLE(AUTOENCODER_KIND)
#undef AUTOENCODER_KIND

const struct autoencoder_kind *autoencoder_kind(const struct autoencoder *autoencoder);

/* autoencoder_scaled converts a latent from the scale of the autoencoder's network to that of the sampler, with a
 * standard deviation of about 1. autoencoder_unscaled converts it back. */
struct tensor autoencoder_scaled(const struct autoencoder *autoencoder, struct plan *plan, struct tensor latent);
struct tensor autoencoder_unscaled(const struct autoencoder *autoencoder, struct plan *plan, struct tensor latent);

/* --- text encoders: transformers' CLIPTextModel and CLIPTextModelWithProjection (clip.c) --- */

struct clip_text {
  struct tensor hidden; /* the encoded tokens, which the U-Net reads: [1, 1, positions, hidden_size] */
  /* projection of the end token, [1, 1, 1, projection_dim]; no tensor if the encoder has no projection */
  struct tensor pooled;
};

/* Appends the text encoder, which encodes the tokens in run.tokens; run.end is the position of their end token. */
struct clip_text clip_encode(const struct text_encoder *encoder, struct plan *plan);
/* clip_layers returns how many of the encoder's layers run; a U-Net may read the output of a layer before the last one.
 * clip_has_final_norm returns true if the final norm is applied after these layers. */
int clip_layers(const struct text_encoder *encoder);
bool clip_has_final_norm(const struct text_encoder *encoder);
/* Returns the position of the end token among these tokens, found as the transformers library finds it. */
int clip_end(const struct text_encoder *encoder, const int *tokens);

#endif
