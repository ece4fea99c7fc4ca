/* Reads config.json of DepthAnythingForDepthEstimation, with its DINOv2 backbone, and preprocessor_config.json.
 * Defaults are those of transformers. */
#include <string.h>

#include "unet/checkpoint/config.h"
#include "unet/checkpoint/parts.h"

/* Fields that are ignored: those that transformers writes into every config, and those that matter only in training. */
static const char *const no_matter[] = {"architectures",
                                        "chunk_size_feed_forward",
                                        "dtype",
                                        "id2label",
                                        "initializer_range",
                                        "label2id",
                                        "model_type",
                                        "return_dict",
                                        "torch_dtype",
                                        "transformers_version",
                                        "output_hidden_states",
                                        "output_attentions",
                                        NULL};

static void check_type(struct config *config, const char *type, const char *class) {
  char found[64];
  config_string(config, "model_type", type, found, sizeof found);
  if (strcmp(found, type))
    config_refuse(config, "model_type", found, type);
  config_item(config, "architectures", 0, found, sizeof found);
  if (class && *found && strcmp(found, class))
    config_refuse(config, "architectures", found, class);
}

/* Reads one number, or a list of height and width, which must be equal. */
static int read_square(struct config *config, const char *key, int absent, int max) {
  int side[2];
  if (config_length(config, key) == 2)
    config_ints(config, key, absent, 1, max, side, 2);
  else
    side[0] = side[1] = config_int(config, key, absent, 1, max);
  if (side[0] != side[1])
    config_refuse(config, key, "a height that is not the width", "a square is");
  return side[0];
}

static void read_features(struct depth_config *depth, struct config *config) {
  static const char hint[] = "four layers, each behind the one before, are";
  if (config_length(config, "out_indices") != DEPTH_FEATURES) {
    config_refuse(config, "out_indices", config_has(config, "out_indices") ? "their number" : "their absence", hint);
    return;
  }
  config_ints(config, "out_indices", 0, 1, depth->layers, depth->feature, DEPTH_FEATURES);
  for (int i = 1; i < DEPTH_FEATURES; i++)
    if (depth->feature[i] <= depth->feature[i - 1])
      config_refuse(config, "out_indices", "their order", hint);
}

static void read_backbone(struct depth_config *depth, struct config *config) {
  check_type(config, "dinov2", NULL);
  config_ignore(config, no_matter);
  depth->hidden_size = config_int(config, "hidden_size", 768, 1, 1 << 13);
  depth->layers = config_int(config, "num_hidden_layers", 12, 1, 128);
  depth->heads = config_int(config, "num_attention_heads", 12, 1, 1024);
  depth->mlp = depth->hidden_size * config_int(config, "mlp_ratio", 4, 1, 64);
  depth->patch = read_square(config, "patch_size", 14, 64);
  depth->side = read_square(config, "image_size", 224, 1 << 13) / depth->patch;
  depth->layer_norm_eps = (float)config_number(config, "layer_norm_eps", 1e-6, 1e-12, 1);
  depth->qkv_bias = config_bool(config, "qkv_bias", true);
  depth->feature_norm = config_bool(config, "apply_layernorm", true);
  read_features(depth, config);
  config_only_string(config, "hidden_act", "gelu");
  config_only_number(config, "num_channels", 3);
  config_only_null(config, (const char *const[]){"use_swiglu_ffn", "reshape_hidden_states", NULL});
  /* ignored, because out_features only names the layers of out_indices, and the other fields matter only in training */
  config_ignore(config,
                (const char *const[]){"out_features", "stage_names", "layerscale_value", "drop_path_rate",
                                      "hidden_dropout_prob", "attention_probs_dropout_prob", "use_mask_token", NULL});
  if (depth->hidden_size % depth->heads)
    config_refuse(config, "num_attention_heads", "a number that does not divide hidden_size", NULL);
  if (depth->side < 1)
    config_refuse(config, "image_size", "less than a patch", NULL);
}

static void read_neck(struct depth_config *depth, struct config *config) {
  static const double factors[DEPTH_FEATURES] = {4, 2, 1, 0.5};
  double given[DEPTH_FEATURES];
  if (config_length(config, "neck_hidden_sizes") > 1)
    config_ints(config, "neck_hidden_sizes", 0, 1, 1 << 13, depth->neck, DEPTH_FEATURES);
  else if (config_has(config, "neck_hidden_sizes"))
    config_refuse_field(config, "neck_hidden_sizes", "a list of four widths is");
  else
    memcpy(depth->neck, (const int[]){48, 96, 192, 384}, sizeof depth->neck);
  config_numbers(config, "reassemble_factors", factors, 0, 64, given, DEPTH_FEATURES);
  if (memcmp(given, factors, sizeof given))
    config_refuse(config, "reassemble_factors", "others than 4, 2, 1 and 0.5", NULL);
  depth->fusion = config_int(config, "fusion_hidden_size", 64, 2, 1 << 13);
  depth->head = config_int(config, "head_hidden_size", 32, 1, 1 << 13);
  config_only_number(config, "head_in_index", -1);
}

static void check_estimate(struct config *config) {
  char type[32];
  config_string(config, "depth_estimation_type", "relative", type, sizeof type);
  if (strcmp(type, "relative"))
    config_refuse(config, "depth_estimation_type", type,
                  "relative is: a metric model's distances are the other way round; take the model that its name lacks "
                  "Metric of");
  /* The field max_depth is ignored, because it only scales the network's output, which is normalised afterwards. */
  config_ignore(config, (const char *const[]){"max_depth", NULL});
}

int depth_config_parse(struct depth_config *depth, const char *text, const char *path, struct error *err) {
  struct config config, backbone;
  *depth = (struct depth_config){0};
  config_start(&config, text, path);
  check_type(&config, "depth_anything", "DepthAnythingForDepthEstimation");
  config_ignore(&config, no_matter);
  check_estimate(&config);
  config_only_null(&config, (const char *const[]){"backbone", "use_pretrained_backbone", "use_timm_backbone",
                                                  "backbone_kwargs", NULL});
  config_inner(&config, "backbone_config", &backbone);
  read_backbone(depth, &backbone);
  config_finish_inner(&config, &backbone);
  read_neck(depth, &config);
  config_only_number(&config, "patch_size", depth->patch);
  config_only_number(&config, "reassemble_hidden_size", depth->hidden_size);
  return config_finish(&config, err);
}

/* Reads a size such as {"height": 518, "width": 518}, whose sides must be equal. */
static int read_size(struct config *config, int absent) {
  struct config size;
  config_inner(config, "size", &size);
  int height = config_int(&size, "height", absent, 1, 1 << 12), width = config_int(&size, "width", absent, 1, 1 << 12);
  if (height != width)
    config_refuse(&size, "width", "another than the height", "a square is, whose side the shorter side becomes");
  config_finish_inner(config, &size);
  return height;
}

int depth_preprocessor_parse(struct depth_config *depth, const char *text, const char *path, struct error *err) {
  static const double mean[3] = {0.485, 0.456, 0.406}, deviation[3] = {0.229, 0.224, 0.225};
  struct config config;
  config_start(&config, text ? text : "{}", path);
  config_ignore(&config, (const char *const[]){"image_processor_type", "feature_extractor_type", "processor_class",
                                               "keep_aspect_ratio", "_valid_processor_keys", NULL});
  depth->shorter_side = read_size(&config, 37 * 14);
  config_numbers(&config, "image_mean", mean, -16, 16, depth->mean, 3);
  config_numbers(&config, "image_std", deviation, 1e-3, 16, depth->deviation, 3);
  config_only_number(&config, "ensure_multiple_of", depth->patch);
  config_only_number(&config, "resample", 3); /* the value 3 of the field "resample" stands for bicubic interpolation */
  double factor = config_number(&config, "rescale_factor", 1 / 255.0, 0, 1);
  if (factor < 1 / 255.1 || factor > 1 / 254.9)
    config_refuse(&config, "rescale_factor", "another than 1 / 255", NULL);
  static const char *const needed[] = {"do_normalize", "do_rescale", "do_resize"};
  for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
    if (!config_bool(&config, needed[i], true))
      config_refuse(&config, needed[i], "false", "true is");
  return config_finish(&config, err);
}
