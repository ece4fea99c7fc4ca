/* The networks. A struct holds a network's shape and where its weights are; functions append the network's ops to a
 * plan and return its output. Tensors' names are those of the checkpoint. Errors become the plan's error, which
 * plan_finish reports. */
#ifndef UNET_MODEL_MODELS_H
#define UNET_MODEL_MODELS_H

#include "unet/model/blocks.h"
#include "unet/checkpoint/checkpoint.h"
#include "unet/plan/plan.h"
#include "unet/text/prompt.h"

/* --- UNet2DConditionModel (unet.c) --- */

/* A U-Net, independent of any plan. Borrows the predictor. */
struct unet {
  const struct unet_config *config;
  const struct component *weights;
  struct walk walk; /* all layers between conv_in and conv_norm_out, in the order in which they run */
};

int unet_init(struct unet *unet, const struct predictor *predictor, struct error *err);
/* Initialises a U-Net that ends with the middle block: the body of a ControlNet. */
int unet_init_body(struct unet *unet, const struct unet_config *config, const struct component *weights,
                   struct error *err);
void unet_free(struct unet *unet); /* takes a zeroed U-Net too */

/* The inputs of a U-Net's time projections that are fixed in the plan; timesteps and guidance are run parameters. */
struct unet_moments {
  int steps;
  struct guidance_rows rows; /* rows of the first step, and of each later one: see frame_time_rows */
  /* for U-Nets with a pooled text: [rows of all steps, 1, 1, added_text_dim] */
  struct tensor pooled;
  float sizes[SIZES]; /* for U-Nets that read sizes */
};

/* Appends the time projections of all res blocks for the timesteps run.step[0..steps), with run.guidance if the U-Net
 * has a guidance embedding: [rows of all steps, 1, 1, walk.time_channels], written to y if y is given. Any other input
 * that a U-Net adds to its time embedding belongs here. */
struct tensor unet_times(const struct unet *unet, struct plan *plan, const struct unet_moments *of, struct tensor y);
/* Appends the keys and values of all attention to the text (text, or text ++ text2): [1, 1, tokens,
 * cross_attention_dim] -> [1, 1, tokens, walk.text_channels]. text2 may be left out. */
struct tensor unet_texts(const struct unet *unet, struct plan *plan, struct tensor text, struct tensor text2);
/* Makes states for the results of unet_texts: keys[chunks - 1] has `slots` entries for prompts of `chunks` chunks with
 * `positions` tokens each. whose: text that is appended to the states' names, "" for the model's own U-Net. */
int unet_add_keys(const struct unet *unet, struct tensor keys[PROMPT_CHUNKS_MAX], const char *whose, int slots,
                  int positions, struct resources *resources, struct error *err);
/* Returns rows [first, first + rows) of the table of time projections, which belong to one call; in a loop, to the call
 * of its first iteration. */
struct tensor unet_time_rows(struct plan *plan, struct tensor table, int first, int rows, bool loop);
/* A call of the U-Net in parts: unet_begin, unet_down, unet_up. Between them, other code may change the tensors in
 * skips and the result of unet_down. x is [rows, h, w, in_channels], time one row of unet_times or one for each of x,
 * text [1 or rows, 1, tokens, walk.text_channels]. hint, if given, is added to conv_in's output. unet_up returns [rows,
 * h, w, out_channels]. */
struct unet_call unet_begin(const struct unet *unet, struct plan *plan, struct tensor time, struct tensor text);
struct tensor unet_down(struct unet_call *call, struct tensor x, struct tensor hint, struct skips *skips);
struct tensor unet_up(struct unet_call *call, struct tensor x, struct skips *skips);

/* --- autoencoders (autoencoder.c; each kind in a file of its own) --- */

/* The functions of one kind of autoencoder. Each kind defines a constant of this type: kl_kind and tae_kind. */
struct autoencoder_kind {
  float black; /* value of black in the pictures that it reads and writes; white is 1 */
  /* Encodes picture [1, H, W, 3] to the network's own latent [1, H / scale, W / scale, latent_channels]. */
  struct tensor (*encode)(const struct autoencoder *autoencoder, struct plan *plan, struct tensor picture);
  /* Decodes the network's own latent, which may be precise, to a picture that is not clamped. */
  struct tensor (*decode)(const struct autoencoder *autoencoder, struct plan *plan, struct tensor latent);
};

#define AUTOENCODER_KIND(KIND, field, class) extern const struct autoencoder_kind field##_kind;
AUTOENCODER_TABLE(AUTOENCODER_KIND)
#undef AUTOENCODER_KIND

const struct autoencoder_kind *autoencoder_kind(const struct autoencoder *autoencoder);

/* The sampler works on latents that are scaled to a standard deviation of about 1: autoencoder_scaled converts the
 * network's own latent to that scale, autoencoder_unscaled converts it back. */
struct tensor autoencoder_scaled(const struct autoencoder *autoencoder, struct plan *plan, struct tensor latent);
struct tensor autoencoder_unscaled(const struct autoencoder *autoencoder, struct plan *plan, struct tensor latent);

/* --- CLIPTextModel, CLIPTextModelWithProjection (clip.c) --- */

struct clip_text {
  struct tensor hidden; /* the tokens to which the U-Net attends: [1, 1, positions, hidden_size] */
  /* projection of the end token, [1, 1, 1, projection_dim]; no tensor if the encoder has no projection */
  struct tensor pooled;
};

/* Appends the encoding of run.tokens, whose end token is number run.end. */
struct clip_text clip_encode(const struct text_encoder *encoder, struct plan *plan);
/* clip_layers returns how many of the encoder's layers run, because a U-Net may read the output of one before the last;
 * clip_has_final_norm is true if the final norm runs after them. */
int clip_layers(const struct text_encoder *encoder);
bool clip_has_final_norm(const struct text_encoder *encoder);
/* Returns the position of the end token, by the rule of transformers. */
int clip_end(const struct text_encoder *encoder, const int *tokens);

#endif
