/* The networks. Names equal the checkpoint's. Functions append ops to a plan and return their output; what goes
 * wrong becomes the plan's error. */
#ifndef UNET_MODEL_MODELS_H
#define UNET_MODEL_MODELS_H

#include "unet/model/blocks.h"
#include "unet/checkpoint/checkpoint.h"
#include "unet/plan/plan.h"
#include "unet/text/prompt.h"

/* --- UNet2DConditionModel (unet.c) --- */

/* A U-Net apart from any plan. Borrows the predictor. */
struct unet {
  const struct unet_config *config;
  const struct component *weights;
  struct walk walk; /* over its blocks */
};

int unet_init(struct unet *unet, const struct predictor *predictor, struct error *err);
/* The same up to the middle block: a ControlNet's body. */
int unet_init_body(struct unet *unet, const struct unet_config *config, const struct component *weights,
                   struct error *err);
void unet_free(struct unet *unet); /* also of a zeroed one */

/* What a U-Net's time projections depend on beside the run's parameters. */
struct unet_moments {
  int steps;
  struct guidance_rows rows; /* of each step: those of guidance, where something tells them apart, else 1 */
  struct tensor pooled;      /* [rows of all steps, 1, 1, added_text_dim], of U-Nets that have that */
  float sizes[SIZES];        /* likewise */
};

/* The time projections of all res blocks for the timesteps of run.step[0..steps), and run.guidance where the U-Net has
 * a guidance embedding: [rows of all steps, 1, 1, walk.time_channels], in y where that is given. Whatever else a U-Net
 * adds to its time embedding belongs here. */
struct tensor unet_times(const struct unet *unet, struct plan *plan, const struct unet_moments *of, struct tensor y);
/* Keys and values of all attention to the text ++ text2 of [1, 1, tokens, cross_attention_dim]: [1, 1, tokens,
 * walk.text_channels]. text2 may be left out. */
struct tensor unet_texts(const struct unet *unet, struct plan *plan, struct tensor text, struct tensor text2);
/* States for what unet_texts makes of so many slots' prompts: keys[chunks - 1] for prompts of so many chunks of
 * `positions` tokens. whose: what follows their name; "": the model's own. */
int unet_add_keys(const struct unet *unet, struct tensor keys[PROMPT_CHUNKS_MAX], const char *whose, int slots,
                  int positions, struct resources *resources, struct error *err);
/* Of the table of time projections `rows` rows from `first` on, those of one call; in a loop of its first iteration. */
struct tensor unet_time_rows(struct plan *plan, struct tensor table, int first, int rows, bool loop);
/* One call in parts, between which others may change what is in skips and what the way down returns: x [rows, h, w,
 * in_channels], time a row of unet_times, or one for each of x, text [1 or rows, 1, tokens, walk.text_channels]. hint,
 * where given, is added to conv_in's output. The way up returns [rows, h, w, out_channels]. */
struct unet_call unet_begin(const struct unet *unet, struct plan *plan, struct tensor time, struct tensor text);
struct tensor unet_down(struct unet_call *call, struct tensor x, struct tensor hint, struct skips *skips);
struct tensor unet_up(struct unet_call *call, struct tensor x, struct skips *skips);

/* --- autoencoders (autoencoder.c; each kind in a file of its own) --- */

/* What each kind is: one struct of functions, FIELD_kind. */
struct autoencoder_kind {
  float black; /* in the pictures it reads and writes, whose white is 1 */
  /* picture [1, H, W, 3] -> latent [1, H / scale, W / scale, latent_channels], the network's own */
  struct tensor (*encode)(const struct autoencoder *autoencoder, struct plan *plan, struct tensor picture);
  /* such a latent, which may be precise -> picture, not clamped */
  struct tensor (*decode)(const struct autoencoder *autoencoder, struct plan *plan, struct tensor latent);
};

#define AUTOENCODER_KIND(KIND, field, class) extern const struct autoencoder_kind field##_kind;
AUTOENCODER_TABLE(AUTOENCODER_KIND)
#undef AUTOENCODER_KIND

const struct autoencoder_kind *autoencoder_kind(const struct autoencoder *autoencoder);

/* The network's own latent as the sampler has it, and back. */
struct tensor autoencoder_scaled(const struct autoencoder *autoencoder, struct plan *plan, struct tensor latent);
struct tensor autoencoder_unscaled(const struct autoencoder *autoencoder, struct plan *plan, struct tensor latent);

/* --- CLIPTextModel, CLIPTextModelWithProjection (clip.c) --- */

struct clip_text {
  struct tensor hidden; /* what the U-Net attends to: [1, 1, positions, hidden_size] */
  struct tensor pooled; /* the end token's projection, [1, 1, 1, projection_dim]; none where the encoder gives none */
};

/* Of run.tokens, whose end token run.end is. */
struct clip_text clip_encode(const struct text_encoder *encoder, struct plan *plan);
/* Its layers that run, and whether its final norm does. */
int clip_layers(const struct text_encoder *encoder);
bool clip_has_final_norm(const struct text_encoder *encoder);
/* Where in the tokens the text ends, by the rule of transformers. */
int clip_end(const struct text_encoder *encoder, const int *tokens);

#endif
