/* Reads vae/config.json of an AutoencoderKL. Defaults are those of the diffusers class. */
#include <string.h>

#include "unet/checkpoint/autoencoders.h"
#include "unet/checkpoint/config.h"

/* Fields of autoencoders that are not supported: they give the latent's mean and deviation for each channel, in place
 * of scaling_factor and shift_factor. A file with one of them is refused. */
static const char *const other_networks[] = {"latents_mean", "latents_std", NULL};

static void read_channels(struct kl_config *kl, struct config *config) {
  kl->levels = config_has(config, "block_out_channels") ? config_length(config, "block_out_channels") : 1;
  if (kl->levels < 1 || kl->levels > LEVELS_MAX) {
    /* reading goes on after this error and needs a valid number of levels (resolutions of the autoencoder); errors that
     * result from the number are not reported */
    kl->levels = 1;
    config_refuse(config, "block_out_channels", "its length", "1 to 8 levels are");
    return;
  }
  config_ints(config, "block_out_channels", 64, 1, 1 << 14, kl->channels, kl->levels);
}

/* Checks that there is one block for each level, all of the type `wanted`. */
static void read_block_types(struct config *config, const char *key, const char *wanted, int levels) {
  int count = config_has(config, key) ? config_length(config, key) : 1;
  if (count != levels)
    config_refuse(config, key, "its length", "one type for each level is");
  for (int i = 0; config_has(config, key) && i < count && !config->failed; i++) {
    char type[64];
    config_item(config, key, i, type, sizeof type);
    if (strcmp(type, wanted))
      config_refuse(config, key, type, wanted);
  }
  config_ignore(config, (const char *const[]){key, NULL});
}

static void check_groups(const struct kl_config *kl, struct config *config) {
  for (int i = 0; i < kl->levels; i++)
    if (kl->channels[i] % kl->groups)
      config_refuse(config, "norm_num_groups", "a number that does not divide block_out_channels", NULL);
}

static void read_activation(struct config *config) {
  char act[32];
  config_string(config, "act_fn", "silu", act, sizeof act);
  if (strcmp(act, "silu") && strcmp(act, "swish")) /* "silu" and "swish" are names of the same activation, SiLU */
    config_refuse(config, "act_fn", act, "silu is");
}

void kl_config_read(struct autoencoder *autoencoder, struct config *config) {
  struct kl_config *kl = &autoencoder->kl;
  config_only_null(config, other_networks);
  read_channels(kl, config);
  read_block_types(config, "down_block_types", "DownEncoderBlock2D", kl->levels);
  read_block_types(config, "up_block_types", "UpDecoderBlock2D", kl->levels);
  autoencoder->scale = 1 << (kl->levels - 1);
  autoencoder->latent_channels = config_int(config, "latent_channels", 4, 1, 256);
  autoencoder->scaling_factor = (float)config_number(config, "scaling_factor", 0.18215, 1e-4, 1e4);
  autoencoder->shift_factor = 0;
  if (config_has(config, "shift_factor"))
    autoencoder->shift_factor = (float)config_number(config, "shift_factor", 0, -1e4, 1e4);
  kl->layers = config_int(config, "layers_per_block", 1, 1, LAYERS_MAX);
  kl->groups = config_int(config, "norm_num_groups", 32, 1, 1 << 14);
  kl->quant_conv = config_bool(config, "use_quant_conv", true);
  kl->post_quant_conv = config_bool(config, "use_post_quant_conv", true);
  kl->mid_attention = config_bool(config, "mid_block_add_attention", true);
  kl->force_upcast = config_bool(config, "force_upcast", true);
  check_groups(kl, config);
  read_activation(config);
  config_only_number(config, "in_channels", 3);
  config_only_number(config, "out_channels", 3);
  /* sample_size is ignored: it is the size of the tiles that diffusers can use */
  config_ignore(config, (const char *const[]){"sample_size", NULL});
}

void kl_print(const struct autoencoder *autoencoder, FILE *out) {
  const struct kl_config *kl = &autoencoder->kl;
  fprintf(out, "channels ");
  for (int i = 0; i < kl->levels; i++)
    fprintf(out, "%s%d", i ? "/" : "", kl->channels[i]);
  fprintf(out, ", %d layers", kl->layers);
}
