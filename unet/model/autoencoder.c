#include "unet/model/models.h"

const struct autoencoder_kind *autoencoder_kind(const struct autoencoder *autoencoder) {
#define AUTOENCODER_KIND(KIND, field, class) [AUTOENCODER_##KIND] = &field##_kind,
  static const struct autoencoder_kind *const kinds[AUTOENCODER_TYPES] = {AUTOENCODER_TABLE(AUTOENCODER_KIND)};
#undef AUTOENCODER_KIND
  return kinds[autoencoder->type];
}

static struct tensor affine(struct plan *plan, const char *name, struct tensor x, float scale, float bias) {
  if (plan->failed || (scale == 1 && bias == 0))
    return x;
  return plan_affine(plan, name, (struct op_affine){.x = x, .scale = scale, .bias = bias});
}

struct tensor autoencoder_scaled(const struct autoencoder *autoencoder, struct plan *plan, struct tensor latent) {
  float scale = autoencoder->scaling_factor;
  return affine(plan, "latent scale", latent, scale, -scale * autoencoder->shift_factor);
}

struct tensor autoencoder_unscaled(const struct autoencoder *autoencoder, struct plan *plan, struct tensor latent) {
  return affine(plan, "latent unscale", latent, 1 / autoencoder->scaling_factor, autoencoder->shift_factor);
}
