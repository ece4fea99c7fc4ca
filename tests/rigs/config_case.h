/* Helpers for tests of config files: texts of configs, and checks of error messages. */
#ifndef TESTS_CONFIG_CASE_H
#define TESTS_CONFIG_CASE_H

#include "unet/checkpoint/checkpoint.h"

/* Configs of published models as JSON text, with only the fields that matter. */
#define SD15_UNET                                                                                                      \
  "{\"_class_name\": \"UNet2DConditionModel\", \"_diffusers_version\": \"0.6.0\", \"act_fn\": \"silu\","               \
  "\"attention_head_dim\": 8, \"block_out_channels\": [320, 640, 1280, 1280], \"center_input_sample\": false,"         \
  "\"cross_attention_dim\": 768, \"down_block_types\": [\"CrossAttnDownBlock2D\", \"CrossAttnDownBlock2D\","           \
  "\"CrossAttnDownBlock2D\", \"DownBlock2D\"], \"downsample_padding\": 1, \"flip_sin_to_cos\": true,"                  \
  "\"freq_shift\": 0, \"in_channels\": 4, \"layers_per_block\": 2, \"mid_block_scale_factor\": 1,"                     \
  "\"norm_eps\": 1e-05, \"norm_num_groups\": 32, \"out_channels\": 4, \"sample_size\": 64, \"up_block_types\":"        \
  "[\"UpBlock2D\", \"CrossAttnUpBlock2D\", \"CrossAttnUpBlock2D\", \"CrossAttnUpBlock2D\"]}"
#define SD21_EXTRA                                                                                                     \
  "\"attention_head_dim\": [5, 10, 20, 20], \"cross_attention_dim\": 1024, \"dual_cross_attention\": false,"           \
  "\"num_class_embeds\": null, \"only_cross_attention\": false, \"sample_size\": 96, \"upcast_attention\": true,"      \
  "\"use_linear_projection\": true"
#define LEVELS2                                                                                                        \
  "\"block_out_channels\": [32, 64], \"down_block_types\": [\"CrossAttnDownBlock2D\", \"DownBlock2D\"],"               \
  "\"up_block_types\": [\"UpBlock2D\", \"CrossAttnUpBlock2D\"]"

/* Fails the test unless the message names the file, the field and the value. */
void check_message(const struct error *err, const char *path, const char *field, const char *value);

/* What a field of a class of diffusers or transformers does at a value other than its default: this program refuses it,
 * or it changes pictures, or neither. */
enum effect { REFUSED, CHANGES, NOTHING /* diffusers ignores the field as well, in these pipelines */ };

struct field {
  const char *key, *value;
  enum effect effect;
};

#endif
