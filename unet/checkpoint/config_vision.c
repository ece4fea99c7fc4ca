/* Reads image_encoder/config.json. Defaults are those of transformers' CLIPVisionConfig. */
#include <string.h>

#include "unet/checkpoint/config.h"
#include "unet/checkpoint/ip_adapter.h"

static void check_class(struct config *config) {
  char type[64], class[64];
  config_string(config, "model_type", "clip_vision_model", type, sizeof type);
  if (strcmp(type, "clip_vision_model"))
    config_refuse(config, "model_type", type, "clip_vision_model is");
  config_item(config, "architectures", 0, class, sizeof class);
  if (*class && strcmp(class, "CLIPVisionModelWithProjection"))
    config_refuse(config, "architectures", class, "CLIPVisionModelWithProjection is");
}

int vision_config_parse(struct vision_config *vision, const char *text, const char *path, struct error *err) {
  struct config config;
  *vision = (struct vision_config){0};
  config_start(&config, text, path);
  check_class(&config);
  config_ignore(&config, clip_no_matter);
  config_only_number(&config, "num_channels", 3);
  vision->hidden_size = config_int(&config, "hidden_size", 768, 1, 1 << 14);
  vision->intermediate_size = config_int(&config, "intermediate_size", 3072, 1, 1 << 16);
  vision->layers = config_int(&config, "num_hidden_layers", 12, 1, 128);
  vision->heads = config_int(&config, "num_attention_heads", 12, 1, 1024);
  vision->projection_dim = config_int(&config, "projection_dim", 512, 1, 1 << 14);
  vision->image_size = config_int(&config, "image_size", 224, 1, 1024);
  vision->patch_size = config_int(&config, "patch_size", 32, 1, 64);
  vision->layer_norm_eps = (float)config_number(&config, "layer_norm_eps", 1e-5, 1e-12, 1);
  vision->hidden_act = clip_activation(&config);
  if (vision->hidden_size % vision->heads)
    config_refuse(&config, "num_attention_heads", "a number that does not divide hidden_size", NULL);
  if (vision->image_size % vision->patch_size)
    config_refuse(&config, "patch_size", "a number that does not divide image_size", NULL);
  return config_finish(&config, err);
}
