#include "app/models/engine_wish.h"

#include <string.h>

#include "app/models/names.h"
#include "app/platform/app_platform.h"
#include "unet/checkpoint/ip_adapter.h"

static bool names_standard(enum parameter id, const char *name) {
  const char *word = id == PARAMETER_MODEL        ? PARAMETER_MODEL_BUILT_IN
                     : id == PARAMETER_VAE        ? PARAMETER_VAE_OWN
                     : id == PARAMETER_IP_ADAPTER ? PARAMETER_IP_ADAPTER_OWN
                                                  : NULL;
  bool always = id == PARAMETER_IP_ADAPTER; /* --style alone stands for the word, which must not find a file then */
  return word && !strcmp(name, word) && (always || !platform_exists(name));
}

/* Finds the file or folder that the parameter's value names (by a path, or by a name in the models folder), and writes
 * its path into path. *found is path, or NULL if the value is empty, or the word for the built-in model or for the
 * model's own VAE or IP-Adapter. Returns 0, or -1 with err. */
static int find_named(const char **found, char *path, const struct parameters *values, enum parameter id, int index,
                      struct error *err) {
  const char *name = parameters_text(values, id, index);
  bool named = name && !names_standard(id, name);
  *found = named ? path : NULL;
  return named ? names_find(path, name, err) : 0;
}

/* Finds the network that estimates depth, if any control is a depth map, and writes its path into wish. Returns 0, or
 * -1 with err. */
static int find_depth(struct engine_wish *wish, const struct parameters *values, struct error *err) {
  const char *name = parameters_text(values, PARAMETER_DEPTH_MODEL, 0);
  for (int i = 0; i < wish->engine.control_count; i++) {
    if (wish->controls[i].map != MAP_DEPTH)
      continue;
    if (names_find(wish->depth, name ? name : PARAMETER_DEPTH_USUAL, err))
      return error_prefix(err, "--control depth: ");
    wish->controls[i].depth = wish->depth;
  }
  return 0;
}

static int find_models(struct engine_wish *wish, const struct parameters *values, struct error *err) {
  struct engine_params *engine = &wish->engine;
  if (find_named(&engine->model, wish->model, values, PARAMETER_MODEL, 0, err) ||
      find_named(&engine->vae, wish->vae, values, PARAMETER_VAE, 0, err) ||
      find_named(&engine->unet, wish->unet, values, PARAMETER_UNET, 0, err) ||
      find_named(&engine->config, wish->config, values, PARAMETER_CONFIG, 0, err))
    return -1;
  if (find_named(&engine->ip_adapter, wish->ip_adapter, values, PARAMETER_IP_ADAPTER, 0, err) ||
      find_named(&engine->image_encoder, wish->image_encoder, values, PARAMETER_IMAGE_ENCODER, 0, err))
    return -1;
  engine->own_adapter = values->ip_adapter.given && !engine->ip_adapter;
  if (engine->ip_adapter && platform_is_folder(engine->ip_adapter))
    return error_set(err, STATUS_MODEL, "--ip-adapter %s: is a folder: give one of its files, ip-adapter_*.safetensors",
                     engine->ip_adapter);
  for (int i = 0; i < wish->engine.adapter_count; i++)
    if (find_named(&wish->adapters[i], wish->adapter[i], values, PARAMETER_LORA, i + 1, err))
      return -1;
  for (int i = 0; i < wish->engine.control_count; i++) {
    wish->controls[i] =
        (struct engine_control){.map = (enum map_kind)(values->control[i] - 1), .source = values->control_source[i]};
    if (find_named(&wish->controls[i].model, wish->control[i], values, PARAMETER_CONTROL_MODEL, i + 1, err))
      return -1;
  }
  if (find_depth(wish, values, err))
    return -1;
  if (engine->model) {
    const char *name = parameters_text(values, PARAMETER_MODEL, 0);
    engine->name = strcmp(name, wish->model) ? name : NULL;
    return 0;
  }
  engine->model = wish->model;
  return paths_data(wish->model, "mini/model", STATUS_MODEL, err);
}

/* Returns how many LoRAs the user has set, counted from lora[1] up to the first that is not set. */
static int count_adapters(const struct parameters *values) {
  int count = 0;
  while (count < ADAPTERS_MAX && values->lora[count].given)
    count++;
  return count;
}

static int count_controls(const struct parameters *values) {
  int count = 0;
  while (count < CONTROLS_MAX && values->control[count])
    count++;
  return count;
}

int engine_wish_fill(struct engine_wish *wish, const struct parameters *values, struct error *err) {
  bool has_vocabulary = !paths_data(wish->vocabulary, "clip/bpe_simple_vocab_16e6.txt.gz", STATUS_MODEL, NULL);
  wish->engine = (struct engine_params){
      .vocabulary = has_vocabulary ? wish->vocabulary : NULL,
      .prediction = (enum engine_prediction)values->prediction,
      .zero_snr = (enum engine_switch)values->zero_snr,
      .clip_skip = (int)values->clip_skip,
      .text_fix = (enum engine_text_fix)values->text_fix,
      .prompt_syntax = (enum engine_prompt_syntax)values->prompt_syntax,
      .strength_diffusers = values->strength_grid == STRENGTH_DIFFUSERS,
      .snap_strength = values->strength_grid == STRENGTH_TRAINED,
      .fit = (enum fit)values->fit,
      .adapters = wish->adapters,
      .adapter_count = count_adapters(values),
      .adapters_lenient = values->lora_lenient,
      .controls = wish->controls,
      .control_count = count_controls(values),
  };
  values_shape(values, &wish->shape);
  return find_models(wish, values, err);
}

int engine_wish_check_adapter(const struct engine_wish *wish, struct error *err) {
  if (!wish->engine.own_adapter || ip_adapter_is_in(wish->engine.model))
    return 0;
  return error_set(
      err, STATUS_USAGE,
      "%s: has no IP-Adapter of its own (ip_adapter.safetensors), which would read the style of a picture: "
      "give one with --ip-adapter, beside a model of SD 1.5 or SDXL",
      wish->engine.model);
}
