/* Reads text_encoder/config.json. Defaults are those of transformers' CLIPTextConfig. */
#include <string.h>

#include "unet/checkpoint/checkpoint.h"
#include "unet/checkpoint/config.h"

enum activation clip_activation(struct config *config) {
  char name[32];
  config_string(config, "hidden_act", "quick_gelu", name, sizeof name);
  if (!strcmp(name, "quick_gelu"))
    return ACT_QUICK_GELU;
  if (strcmp(name, "gelu"))
    config_refuse(config, "hidden_act", name, "quick_gelu or gelu is");
  return ACT_GELU;
}

/* Fields that transformers writes into every config, and fields that matter only in training or text generation. Fields
 * that would change the forward pass are not in this list, and so are refused. */
const char *const clip_no_matter[] = {"architectures",
                                      "model_type",
                                      "attention_dropout",
                                      "dropout",
                                      "initializer_factor",
                                      "initializer_range",
                                      "torch_dtype",
                                      "dtype",
                                      "transformers_version",
                                      "gradient_checkpointing",
                                      "use_cache",
                                      "bos_token_id",
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
  if (*class && strcmp(class, "CLIPTextModel") && strcmp(class, "CLIPTextModelWithProjection"))
    config_refuse(config, "architectures", class, "CLIPTextModel and CLIPTextModelWithProjection are");
}

int clip_config_parse(struct clip_config *clip, const char *text, const char *path, struct error *err) {
  struct config config;
  *clip = (struct clip_config){0};
  config_start(&config, text, path);
  check_clip(&config);
  config_ignore(&config, clip_no_matter);
  clip->vocab_size = config_int(&config, "vocab_size", 49408, 1, 1 << 22);
  clip->hidden_size = config_int(&config, "hidden_size", 512, 1, 1 << 14);
  clip->intermediate_size = config_int(&config, "intermediate_size", 2048, 1, 1 << 16);
  clip->layers = config_int(&config, "num_hidden_layers", 12, 1, 128);
  clip->heads = config_int(&config, "num_attention_heads", 8, 1, 1024);
  clip->positions = config_int(&config, "max_position_embeddings", 77, 4, TOKENS_MAX);
  clip->layer_norm_eps = (float)config_number(&config, "layer_norm_eps", 1e-5, 1e-12, 1);
  clip->hidden_act = clip_activation(&config);
  clip->projection_dim = 512;
  clip->end_token = 49407;
  if (config_has(&config, "projection_dim"))
    clip->projection_dim = config_int(&config, "projection_dim", 512, 1, 1 << 14);
  if (config_has(&config, "eos_token_id"))
    clip->end_token = config_int(&config, "eos_token_id", 49407, 0, 1 << 22);
  if (clip->hidden_size % clip->heads)
    config_refuse(&config, "num_attention_heads", "a number that does not divide hidden_size", NULL);
  return config_finish(&config, err);
}
