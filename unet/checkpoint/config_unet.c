/* Reads the config.json of a U-Net or of a ControlNet. Defaults are those of diffusers' UNet2DConditionModel;
 * ControlNetModel has the same except for its own fields. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unet/checkpoint/checkpoint.h"
#include "unet/checkpoint/config.h"

enum { CHANNELS_MAX = 1 << 14, SAMPLES_MAX = 1 << 12, DEPTH_MAX = 64 };

/* Fields of UNet2DConditionModel that only networks of unsupported kinds set. A file that sets one is refused. */
static const char *const other_networks[] = {"class_embed_type",
                                             "class_embeddings_concat",
                                             "cross_attention_norm",
                                             "encoder_hid_dim",
                                             "encoder_hid_dim_type",
                                             "num_attention_heads",
                                             "num_class_embeds",
                                             "dual_cross_attention",
                                             "center_input_sample",
                                             "resnet_skip_time_act",
                                             "time_embedding_act_fn",
                                             "timestep_post_act",
                                             NULL};

static const char *const no_matter[] = {"dropout", "addition_embed_type_num_heads", NULL};

/* Returns true for files that were written before diffusers 0.9. In such a file a single sample size below 64 is wrong:
 * this program, like diffusers' pipelines, replaces it by 64. */
static bool is_early(struct config *config) {
  char version[64];
  int major, minor;
  config_string(config, "_diffusers_version", "", version, sizeof version);
  return sscanf(version, "%d.%d", &major, &minor) == 2 && major == 0 && minor < 9;
}

static void read_sample_size(struct unet_config *unet, struct config *config) {
  int size[2] = {64, 64}; /* default size of the latent: that of SD 1 and of SD 2 base */
  bool one = config_length(config, "sample_size") == 1, early = is_early(config);
  if (config_has(config, "sample_size"))
    config_ints(config, "sample_size", 64, 1, SAMPLES_MAX, size, 2);
  if (one && early && size[0] < 64)
    size[0] = size[1] = 64;
  unet->sample_height = size[0];
  unet->sample_width = size[1];
}

static void read_channels(struct unet_config *unet, struct config *config) {
  static const int usual[] = {320, 640, 1280, 1280};
  unet->levels = 4;
  memcpy(unet->channels, usual, sizeof usual);
  if (!config_has(config, "block_out_channels"))
    return;
  unet->levels = config_length(config, "block_out_channels");
  if (unet->levels < 1 || unet->levels > LEVELS_MAX) {
    /* the rest of the file is read as if the network had one level; later errors do not matter, because only the
     * first one is reported */
    unet->levels = 1;
    config_refuse(config, "block_out_channels", "its length", "1 to 8 levels are");
    return;
  }
  config_ints(config, "block_out_channels", 0, 1, CHANNELS_MAX, unet->channels, unet->levels);
}

static void read_layers(struct unet_config *unet, struct config *config) {
  config_ints(config, "layers_per_block", 2, 1, LAYERS_MAX, unet->layers, unet->levels);
}

/* Reads the type of the blocks at each level, which must be `plain` or the type with attention. usual[]: the values if
 * the field is missing. */
static void read_block_types(struct unet_config *unet, struct config *config, const char *key, const char *plain,
                             const char *cross, const bool usual[4], bool reversed, bool *attention) {
  bool given = config_has(config, key);
  if ((given ? config_length(config, key) : 4) != unet->levels) {
    config_refuse(config, key, "its length", "one type for each level is");
    return;
  }
  for (int i = 0; i < unet->levels; i++) {
    char type[64];
    config_item(config, key, i, type, sizeof type);
    bool is_cross = given ? !strcmp(type, cross) : usual[i];
    if (given && !is_cross && strcmp(type, plain))
      config_refuse(config, key, type, "a plain or a cross-attention block is");
    attention[reversed ? unet->levels - 1 - i : i] = is_cross;
  }
  config_ignore(config, (const char *const[]){key, NULL});
}

static void read_down_blocks(struct unet_config *unet, struct config *config) {
  read_block_types(unet, config, "down_block_types", "DownBlock2D", "CrossAttnDownBlock2D",
                   (const bool[]){true, true, true, false}, false, unet->down_attention);
}

static void read_up_blocks(struct unet_config *unet, struct config *config) {
  read_block_types(unet, config, "up_block_types", "UpBlock2D", "CrossAttnUpBlock2D",
                   (const bool[]){false, true, true, true}, true, unet->up_attention);
}

static void read_mid_block(struct unet_config *unet, struct config *config) {
  char mid[64];
  config_string(config, "mid_block_type", "UNetMidBlock2DCrossAttn", mid, sizeof mid);
  unet->mid_block = *mid;
  unet->mid_attention = !strcmp(mid, "UNetMidBlock2DCrossAttn");
  if (*mid && !unet->mid_attention && strcmp(mid, "UNetMidBlock2D"))
    config_refuse(config, "mid_block_type", mid, "UNetMidBlock2DCrossAttn, UNetMidBlock2D or null is");
}

/* Reads the number of transformer blocks of each attention. The middle block has as many as the first attention of the
 * innermost level. */
static void read_depths(struct unet_config *unet, struct config *config) {
  static const char *const down = "transformer_layers_per_block", *const up = "reverse_transformer_layers_per_block";
  int levels = unet->levels;
  bool mirrored = !config_has(config, up);
  if (mirrored && config_is_nested(config, down))
    config_refuse_field(config, down, "its mirror image for the way up is not given");
  for (int i = 0; i < levels; i++) {
    int layers = unet->layers[i];
    config_item_ints(config, down, i, levels, 1, 1, DEPTH_MAX, unet->down_depth[i],
                     unet->down_attention[i] ? layers : 0);
    config_item_ints(config, mirrored ? down : up, mirrored ? i : levels - 1 - i, levels, 1, 1, DEPTH_MAX,
                     unet->up_depth[i], unet->up_attention[i] ? layers + 1 : 0);
  }
  config_item_ints(config, down, levels - 1, levels, 1, 1, DEPTH_MAX, &unet->mid_depth, unet->mid_attention);
  config_ignore(config, (const char *const[]){down, up, NULL});
}

static void read_attention(struct unet_config *unet, struct config *config) {
  int levels = unet->levels, width[LEVELS_MAX];
  config_ints(config, "attention_head_dim", 8, 1, 1024, unet->heads, levels);
  config_ints(config, "cross_attention_dim", 1280, 1, CHANNELS_MAX, width, levels);
  for (int i = 1; i < levels; i++)
    if (width[i] != width[0])
      config_refuse(config, "cross_attention_dim", "a list of different widths", "one text width is");
  unet->cross_attention_dim = width[0];
  config_bools(config, "only_cross_attention", false, unet->only_cross_attention, levels);
  config_bool(config, "mid_block_only_cross_attention", false); /* diffusers accepts this field without using it */
  unet->use_linear_projection = config_bool(config, "use_linear_projection", false);
  unet->upcast_attention = config_bool(config, "upcast_attention", false);
  config_only_string(config, "attention_type", "default");
}

static void read_time(struct unet_config *unet, struct config *config) {
  unet->flip_sin_to_cos = config_bool(config, "flip_sin_to_cos", true);
  unet->freq_shift = (float)config_number(config, "freq_shift", 0, 0, 1);
  unet->time_embed_dim = 4 * unet->channels[0];
  if (config_has(config, "time_embedding_dim"))
    unet->time_embed_dim = config_int(config, "time_embedding_dim", 0, 1, 4 * CHANNELS_MAX);
  if (config_has(config, "time_cond_proj_dim"))
    unet->time_cond_proj_dim = config_int(config, "time_cond_proj_dim", 0, 4, CHANNELS_MAX);
  if (unet->channels[0] % 2 || unet->time_cond_proj_dim % 2)
    config_refuse(config, "time embedding", "an odd width", NULL);
  config_only_string(config, "time_embedding_type", "positional");
}

/* Reads what is added to the time embedding: nothing, or pooled text and sizes. */
static void read_added(struct unet_config *unet, struct config *config) {
  static const char *const fields[] = {"addition_time_embed_dim", "projection_class_embeddings_input_dim", NULL};
  char type[32];
  config_string(config, "addition_embed_type", "", type, sizeof type);
  if (!*type) {
    config_only_null(config, fields);
    return;
  }
  if (strcmp(type, "text_time"))
    config_refuse(config, "addition_embed_type", type, "text_time is");
  unet->added_size_dim = config_int(config, fields[0], 0, 2, CHANNELS_MAX);
  int width = config_int(config, fields[1], 0, 1, CHANNELS_MAX);
  unet->added_text_dim = width - SIZES * unet->added_size_dim;
  if (unet->added_size_dim % 2)
    config_refuse(config, fields[0], "an odd width", NULL);
  if (!unet->added_size_dim || unet->added_text_dim < 1)
    config_refuse(config, fields[1], "a width without room for text and six sizes", NULL);
}

static void read_rest(struct unet_config *unet, struct config *config) {
  unet->in_channels = config_int(config, "in_channels", 4, 1, 1024);
  unet->out_channels = config_int(config, "out_channels", 4, 1, 1024);
  unet->image_scaling_factor = (float)config_number(config, "_image_scaling_factor", 0, 1e-6, 1e6);
  unet->norm_num_groups = config_int(config, "norm_num_groups", 32, 1, CHANNELS_MAX);
  unet->norm_eps = (float)config_number(config, "norm_eps", 1e-5, 1e-12, 1);
  config_only_string(config, "act_fn", "silu");
  config_only_string(config, "resnet_time_scale_shift", "default");
  config_only_number(config, "resnet_out_scale_factor", 1);
  config_only_number(config, "mid_block_scale_factor", 1);
  config_only_number(config, "downsample_padding", 1);
  config_only_number(config, "conv_in_kernel", 3);
  config_only_number(config, "conv_out_kernel", 3);
}

/* Refuses a config in which one of two sizes must divide the other and does not. */
static void check_sizes(const struct unet_config *unet, struct config *config) {
  for (int i = 0; i < unet->levels; i++) {
    bool attention = unet->down_attention[i] || unet->up_attention[i] || (unet->mid_attention && i == unet->levels - 1);
    if (unet->channels[i] % unet->norm_num_groups)
      config_refuse(config, "norm_num_groups", "a number that does not divide block_out_channels", NULL);
    if (attention && unet->channels[i] % unet->heads[i])
      config_refuse(config, "attention_head_dim", "a number of heads that does not divide block_out_channels", NULL);
  }
}

int unet_config_parse(struct unet_config *unet, const char *text, const char *path, struct error *err) {
  struct config config;
  *unet = (struct unet_config){0};
  config_start(&config, text, path);
  config_only_string(&config, "_class_name", "UNet2DConditionModel");
  config_only_null(&config, other_networks);
  config_ignore(&config, no_matter);
  read_sample_size(unet, &config);
  read_channels(unet, &config);
  read_layers(unet, &config);
  read_down_blocks(unet, &config);
  read_up_blocks(unet, &config);
  read_mid_block(unet, &config);
  read_attention(unet, &config);
  read_depths(unet, &config);
  read_time(unet, &config);
  read_added(unet, &config);
  read_rest(unet, &config);
  check_sizes(unet, &config);
  return config_finish(&config, err);
}

/* --- parsing the config of a ControlNet --- */

/* Reads the number of transformer blocks at each level of a ControlNet. It may be 0, as in the smaller variants for
 * SDXL: an attention then consists of its two projections only. */
static void read_own_depths(struct unet_config *body, struct config *config) {
  static const char *const depths = "transformer_layers_per_block";
  int levels = body->levels;
  for (int i = 0; i < levels; i++)
    config_item_ints(config, depths, i, levels, 1, 0, DEPTH_MAX, body->down_depth[i],
                     body->down_attention[i] ? body->layers[i] : 0);
  config_item_ints(config, depths, levels - 1, levels, 1, 0, DEPTH_MAX, &body->mid_depth, body->mid_attention);
  config_ignore(config, (const char *const[]){depths, NULL});
}

static void read_hint(struct controlnet_config *net, struct config *config) {
  static const char *const key = "conditioning_embedding_out_channels";
  static const int usual[] = {16, 32, 96, 256};
  net->hint_levels = 4;
  memcpy(net->hint, usual, sizeof usual);
  config_only_number(config, "conditioning_channels", 3);
  config_only_string(config, "controlnet_conditioning_channel_order", "rgb");
  if (!config_has(config, key))
    return;
  net->hint_levels = config_length(config, key);
  if (net->hint_levels >= 1 && net->hint_levels <= LEVELS_MAX) {
    config_ints(config, key, 0, 1, CHANNELS_MAX, net->hint, net->hint_levels);
    return;
  }
  net->hint_levels = 1;
  config_refuse(config, key, "its length", "1 to 8 numbers are");
}

int controlnet_config_parse(struct controlnet_config *net, const char *text, const char *path, struct error *err) {
  struct unet_config *body = &net->body;
  struct config config;
  *net = (struct controlnet_config){0};
  config_start(&config, text, path);
  config_only_string(&config, "_class_name", "ControlNetModel");
  config_only_null(&config, other_networks);
  net->says_pooled = config_has(&config, "global_pool_conditions");
  net->pooled = config_bool(&config, "global_pool_conditions", false);
  config_ignore(&config, no_matter);
  read_channels(body, &config);
  read_layers(body, &config);
  read_down_blocks(body, &config);
  read_mid_block(body, &config);
  read_attention(body, &config);
  read_own_depths(body, &config);
  read_time(body, &config);
  read_added(body, &config);
  read_rest(body, &config);
  read_hint(net, &config);
  check_sizes(body, &config);
  if (!body->mid_block)
    config_refuse(&config, "mid_block_type", "null", "ControlNets have a middle block");
  return config_finish(&config, err);
}
