/* Reads vae/config.json of an AutoencoderTiny. Defaults are those of the diffusers class. */
#include <string.h>

#include "unet/checkpoint/autoencoders.h"
#include "unet/checkpoint/config.h"

/* Reads the number of channels, which must be the same at all levels, because AutoencoderTiny's convolutions between
 * two levels do not change it. */
static int read_width(struct config *config, const char *key, int levels) {
  int width[LEVELS_MAX];
  config_ints(config, key, 64, 1, 4096, width, levels);
  for (int i = 1; i < levels; i++)
    if (width[i] != width[0])
      config_refuse(config, key, "a list of different widths", "the same at each level is");
  return width[0];
}

static void read_counts(struct config *config, const char *key, const int usual[4], int *counts, int levels) {
  if (config_has(config, key))
    config_ints(config, key, 0, 0, 64, counts, levels);
  else if (levels == 4)
    memcpy(counts, usual, 4 * sizeof *counts);
  else
    config_refuse(config, key, "its absence", "one number for each level is");
}

static int read_levels(struct config *config) {
  int levels =
      config_has(config, "encoder_block_out_channels") ? config_length(config, "encoder_block_out_channels") : 4;
  int back = config_has(config, "decoder_block_out_channels") ? config_length(config, "decoder_block_out_channels") : 4;
  if (levels != back || levels < 1 || levels > LEVELS_MAX) {
    config_refuse(config, "encoder_block_out_channels", "its length",
                  "1 to 8 levels, as many as decoder_block_out_channels, are");
    return 1;
  }
  return levels;
}

void tae_config_read(struct autoencoder *autoencoder, struct config *config) {
  struct tae_config *tae = &autoencoder->tae;
  tae->levels = read_levels(config);
  autoencoder->scale = 1 << (tae->levels - 1);
  autoencoder->latent_channels = config_int(config, "latent_channels", 4, 1, 256);
  autoencoder->scaling_factor = 1;
  autoencoder->shift_factor = 0;
  config_only_number(config, "in_channels", 3);
  config_only_number(config, "out_channels", 3);
  tae->encoder_channels = read_width(config, "encoder_block_out_channels", tae->levels);
  tae->decoder_channels = read_width(config, "decoder_block_out_channels", tae->levels);
  read_counts(config, "num_encoder_blocks", (const int[]){1, 3, 3, 3}, tae->encoder_blocks, tae->levels);
  read_counts(config, "num_decoder_blocks", (const int[]){3, 3, 3, 1}, tae->decoder_blocks, tae->levels);
  config_only_string(config, "act_fn", "relu");
  config_only_string(config, "upsample_fn", "nearest");
  config_only_number(config, "upsampling_scaling_factor", 2);
  config_only_number(config, "scaling_factor", 1);
  config_only_number(config, "shift_factor", 0);
  /* These fields change nothing here. latent_magnitude and latent_shift matter only if latents are stored as bytes; the
   * network's clamp has a fixed range. */
  config_ignore(config, (const char *const[]){"latent_magnitude", "latent_shift", "block_out_channels", "force_upcast",
                                              "sample_size", NULL});
}

static void print_counts(const int *counts, int levels, FILE *out) {
  for (int i = 0; i < levels; i++)
    fprintf(out, "%s%d", i ? "/" : "", counts[i]);
}

void tae_print(const struct autoencoder *autoencoder, FILE *out) {
  const struct tae_config *tae = &autoencoder->tae;
  fprintf(out, "width %d/%d, blocks ", tae->encoder_channels, tae->decoder_channels);
  print_counts(tae->encoder_blocks, tae->levels, out);
  fprintf(out, " and ");
  print_counts(tae->decoder_blocks, tae->levels, out);
}
