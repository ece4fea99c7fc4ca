/* vae/config.json and text_encoder/config.json. Defaults are those of diffusers' AutoencoderTiny and transformers'
 * CLIPTextConfig. */
#include <stdio.h>
#include <string.h>

#include "unet/checkpoint/checkpoint.h"
#include "unet/checkpoint/config.h"

/* One width for all levels: the class' strided and upsampling convolutions keep the number of channels. */
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

static void check_tiny(struct config *config) {
  char class[64];
  config_string(config, "_class_name", "", class, sizeof class);
  if (strcmp(class, "AutoencoderTiny"))
    config_refuse(config, "_class_name", *class ? class : "no name",
                  "AutoencoderTiny is: give the folder of one with --vae, such as madebyollin/taesd for SD 1 and 2");
}

int tae_config_parse(struct tae_config *tae, const char *text, const char *path, struct error *err) {
  struct config config;
  *tae = (struct tae_config){0};
  config_start(&config, text, path);
  check_tiny(&config);
  tae->levels = read_levels(&config);
  tae->in_channels = config_int(&config, "in_channels", 3, 3, 3);
  tae->out_channels = config_int(&config, "out_channels", 3, 3, 3);
  tae->latent_channels = config_int(&config, "latent_channels", 4, 1, 256);
  tae->encoder_channels = read_width(&config, "encoder_block_out_channels", tae->levels);
  tae->decoder_channels = read_width(&config, "decoder_block_out_channels", tae->levels);
  read_counts(&config, "num_encoder_blocks", (const int[]){1, 3, 3, 3}, tae->encoder_blocks, tae->levels);
  read_counts(&config, "num_decoder_blocks", (const int[]){3, 3, 3, 1}, tae->decoder_blocks, tae->levels);
  config_only_string(&config, "act_fn", "relu");
  config_only_string(&config, "upsample_fn", "nearest");
  config_only_number(&config, "upsampling_scaling_factor", 2);
  config_only_number(&config, "scaling_factor", 1);
  config_only_number(&config, "shift_factor", 0);
  /* latent_magnitude and latent_shift are for storing latents as bytes; the network's own clamp is fixed. */
  config_ignore(&config, (const char *const[]){"latent_magnitude", "latent_shift", "block_out_channels", "force_upcast",
                                               "sample_size", NULL});
  return config_finish(&config, err);
}

static enum activation read_activation(struct config *config) {
  char name[32];
  config_string(config, "hidden_act", "quick_gelu", name, sizeof name);
  if (!strcmp(name, "quick_gelu"))
    return ACT_QUICK_GELU;
  if (strcmp(name, "gelu"))
    config_refuse(config, "hidden_act", name, "quick_gelu or gelu is");
  return ACT_GELU;
}

/* What transformers writes into every config and what acts in training or text generation alone. Those that would
 * change the forward pass are absent from this list and so refused. */
static const char *const text_no_matter[] = {"architectures",
                                             "model_type",
                                             "attention_dropout",
                                             "dropout",
                                             "initializer_factor",
                                             "initializer_range",
                                             "torch_dtype",
                                             "dtype",
                                             "transformers_version",
                                             "projection_dim",
                                             "gradient_checkpointing",
                                             "use_cache",
                                             "bos_token_id",
                                             "eos_token_id",
                                             "pad_token_id",
                                             "return_dict",
                                             "id2label",
                                             "label2id",
                                             "chunk_size_feed_forward",
                                             "tie_word_embeddings",
                                             NULL};

static void check_clip(struct config *config) {
  char type[64], class[64];
  config_string(config, "model_type", "clip_text_model", type, sizeof type);
  if (strcmp(type, "clip_text_model"))
    config_refuse(config, "model_type", type, "clip_text_model is");
  config_item(config, "architectures", 0, class, sizeof class);
  if (*class && strcmp(class, "CLIPTextModel"))
    config_refuse(config, "architectures", class, "CLIPTextModel is");
}

int clip_config_parse(struct clip_config *clip, const char *text, const char *path, struct error *err) {
  struct config config;
  *clip = (struct clip_config){0};
  config_start(&config, text, path);
  check_clip(&config);
  config_ignore(&config, text_no_matter);
  clip->vocab_size = config_int(&config, "vocab_size", 49408, 1, 1 << 22);
  clip->hidden_size = config_int(&config, "hidden_size", 512, 1, 1 << 14);
  clip->intermediate_size = config_int(&config, "intermediate_size", 2048, 1, 1 << 16);
  clip->layers = config_int(&config, "num_hidden_layers", 12, 1, 128);
  clip->heads = config_int(&config, "num_attention_heads", 8, 1, 1024);
  clip->positions = config_int(&config, "max_position_embeddings", 77, 4, TOKENS_MAX);
  clip->layer_norm_eps = (float)config_number(&config, "layer_norm_eps", 1e-5, 1e-12, 1);
  clip->hidden_act = read_activation(&config);
  if (clip->hidden_size % clip->heads)
    config_refuse(&config, "num_attention_heads", "a number that does not divide hidden_size", NULL);
  return config_finish(&config, err);
}
