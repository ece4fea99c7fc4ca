/* The three networks. Names equal the checkpoint's. Functions append ops to a plan and return their output; what goes
 * wrong becomes the plan's error. */
#ifndef UNET_MODEL_MODELS_H
#define UNET_MODEL_MODELS_H

#include "unet/model/blocks.h"
#include "unet/checkpoint/checkpoint.h"
#include "unet/plan/plan.h"

/* --- UNet2DConditionModel (unet.c) --- */

/* A U-Net apart from any plan. Borrows the checkpoint. */
struct unet {
  const struct unet_config *config;
  const struct component *weights;
  struct walk walk; /* over its blocks */
};

int unet_init(struct unet *unet, const struct checkpoint *checkpoint, struct error *err);
void unet_finish(struct unet *unet); /* also of a zeroed one */

/* The time projections of all res blocks for each timestep 0..999, into table [1000, 1, 1, walk.time_channels]. The op
 * reads run.guidance where the U-Net has a guidance embedding. */
void unet_times(const struct unet *unet, struct plan *plan, struct tensor table);
/* Keys and values of all attention to text [1, 1, tokens, cross_attention_dim]: [1, 1, tokens, walk.text_channels]. */
struct tensor unet_texts(const struct unet *unet, struct plan *plan, struct tensor text);
/* One call: x [rows, h, w, in_channels], time a row of the table, text [1 or rows, 1, tokens, walk.text_channels].
 * Returns [rows, h, w, out_channels]. */
struct tensor unet_predict(const struct unet *unet, struct plan *plan, struct tensor x, struct tensor time,
                           struct tensor text);

/* --- AutoencoderTiny (tae.c) --- */

/* picture [1, H, W, 3] with values 0..1 -> latent [1, H / scale, W / scale, latent_channels], tae_scale(config). */
struct tensor tae_encode(const struct tae_config *config, const struct component *weights, struct plan *plan,
                         struct tensor picture);
/* latent -> picture with values 0..1, not clamped. */
struct tensor tae_decode(const struct tae_config *config, const struct component *weights, struct plan *plan,
                         struct tensor latent);

/* --- CLIPTextModel (clip.c) --- */

/* run.tokens -> last hidden state after the final norm, [1, 1, positions, hidden_size]. */
struct tensor clip_encode(const struct clip_config *config, const struct component *weights, struct plan *plan);

#endif
