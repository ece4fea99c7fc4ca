#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unet/devices.h"
#include "unet/engine/engine_impl.h"

/* --- opening and closing the engine --- */

static int open_adapters(struct engine *engine, const struct engine_params *params, struct error *err) {
  const struct adapter_options options = {.lenient = params->adapters_lenient, .log = engine->log};
  return adapters_open(&engine->adapters, params->adapters, params->adapter_count, engine->checkpoint, &options,
                       &engine->resources, err);
}

static int prepare_prompts(struct engine *engine, struct error *err) {
  return prompts_prepare(engine, err) < 0 || text_keys_prepare(engine, &(struct frame_shape){.chunks = 1}, err) < 0 ||
                 prompts_restore(engine, err) < 0
             ? -1
             : 0;
}

/* Fails if the device has too little memory for the weights alone. This is checked before any weight is loaded, because
 * loading may take long. */
static int check_room(const struct engine *engine, struct error *err) {
  struct device_info info;
  device_get_info(engine->device, &info);
  size_t need = engine->weight_elements * dtype_size(info.element), limit = engine->options.memory_limit;
  bool limited = limit && (!info.memory_free || limit < info.memory_free);
  size_t room = limited ? limit : info.memory_free;
  if (!room || need <= room)
    return 0;
  return error_set(err, STATUS_DEVICE, "%s: its weights take %.1f MB on %s, more than the %.1f MB %s: %s",
                   engine->checkpoint->name, (double)need * 1e-6, info.name, (double)room * 1e-6,
                   limited ? "allowed" : "free there",
                   limited ? "allow more with --memory-limit, or choose a smaller model"
                           : "end what else uses it, or choose a smaller model or another device");
}

/* Opens the device, and loads and prepares what all handles (prepared engines) share, because it does not depend on
 * size, sampler or step count. */
static int open_device(struct engine *engine, struct error *err) {
  if (device_open(&engine->device, &engine->resources, &engine->options, err) < 0 || check_room(engine, err) < 0 ||
      prepare_prompts(engine, err) < 0 || style_pictures_begin(engine, err) < 0)
    return -1;
  return engine->background.smooth ? adapters_load(&engine->adapters, engine->device, err) : 0;
}

static void leave_device(struct engine *engine) {
  background_free(engine);
  prepared_release_all(engine);
  style_pictures_leave(engine);
  text_keys_leave(engine);
  prompts_leave(engine);
  device_close(&engine->device);
}

/* Returns true if the CPU may replace the device: the user did not name a device, and the GPU could be opened but
 * failed afterwards, most often because other programs use its memory. */
static bool is_replaceable(const struct engine *engine, const struct error *err) {
  struct device_info info;
  if (strcmp(engine->options.name, "auto") || err->status != STATUS_DEVICE || !engine->device || engine->handles ||
      engine->resources.version)
    return false;
  device_get_info(engine->device, &info);
  return info.replaceable;
}

int engine_fall_back(struct engine *engine, struct error *err) {
  if (!is_replaceable(engine, err))
    return -1;
  log_line(engine->log, LOG_WARNING, "not on the GPU: %s", err->message);
  leave_device(engine);
  /* options.name is "auto" here (is_replaceable), so its memory has room for the shorter "cpu". */
  strcpy((char *)engine->options.name, "cpu");
  return open_device(engine, err);
}

static int copy_options(struct engine *engine, const struct engine_params *params, struct error *err) {
  const struct device_options *wish = &params->device;
  engine->options = *wish;
  engine->options.two_sets = params->smooth && params->adapter_count > 0;
  engine->options.name = strdup(wish->name ? wish->name : "auto");
  engine->options.cache_dir = wish->cache_dir ? strdup(wish->cache_dir) : NULL;
  engine->options.choices = wish->choices ? strdup(wish->choices) : NULL;
  engine->model_path = strdup(params->model);
  bool whole = engine->options.name && engine->model_path && (!wish->cache_dir || engine->options.cache_dir) &&
               (!wish->choices || engine->options.choices);
  return whole ? 0 : error_set(err, STATUS_FAILED, "out of memory");
}

int engine_open_checkpoint(struct checkpoint **checkpoint, const struct engine_params *params, struct error *err) {
  static const enum prediction_choice predictions[] = {[ENGINE_PREDICTION_AUTO] = PREDICTION_AUTO,
                                                       [ENGINE_PREDICTION_EPSILON] = PREDICTION_EPSILON,
                                                       [ENGINE_PREDICTION_V] = PREDICTION_V,
                                                       [ENGINE_PREDICTION_SAMPLE] = PREDICTION_SAMPLE};
  static const enum switch_choice zero_snrs[] = {
      [ENGINE_AUTO] = SWITCH_AUTO, [ENGINE_ON] = SWITCH_ON, [ENGINE_OFF] = SWITCH_OFF};
  const struct checkpoint_sources sources = {.model = params->model,
                                             .name = params->name,
                                             .vae = params->vae,
                                             .unet = params->unet,
                                             .config = params->config,
                                             .vocabulary = params->vocabulary,
                                             .prediction = predictions[params->prediction],
                                             .zero_snr = zero_snrs[params->zero_snr],
                                             .clip_skip = params->clip_skip};
  return checkpoint_open(checkpoint, &sources, params->device.log, err);
}

static int open_all(struct engine *engine, const struct engine_params *params, struct error *err) {
  engine->log = params->device.log;
  engine->fit = params->fit;
  engine->output = params->output;
  engine->syntax = params->prompt_syntax;
  engine->text_fix = (enum text_fix)params->text_fix;
  engine->background.smooth = params->smooth;
  engine->paced = params->paced;
  engine->checkpoint = params->checkpoint;
  if (copy_options(engine, params, err) < 0)
    return -1;
  if (!engine->checkpoint) {
    if (engine_open_checkpoint(&engine->own_checkpoint, params, err) < 0)
      return -1;
    engine->checkpoint = engine->own_checkpoint;
  }
  engine->blends = styles_blends(engine->checkpoint->styles) && !params->strength_diffusers;
  sampling_begin(&engine->sampling, params, engine->checkpoint);
  if (plans_check_unused(engine->checkpoint, &engine->weight_elements, err) < 0 ||
      model_init(&engine->model, engine->checkpoint, &engine->resources, err) < 0 ||
      style_pictures_open(engine, params, err) < 0 || open_adapters(engine, params, err) < 0 ||
      controls_open(engine, params, err) < 0 || prompts_begin(engine, err) < 0)
    return -1;
  return open_device(engine, err) < 0 ? engine_fall_back(engine, err) : 0;
}

int engine_open(struct engine **engine_out, const struct engine_params *params, struct error *err) {
  *engine_out = NULL;
  struct engine *engine = calloc(1, sizeof *engine);
  if (!engine)
    return error_set(err, STATUS_FAILED, "out of memory");
  pthread_mutex_init(&engine->preparing, NULL);
  pthread_mutex_init(&engine->listing, NULL);
  if (open_all(engine, params, err) < 0) {
    engine_close(&engine);
    return -1;
  }
  *engine_out = engine;
  return 0;
}

void engine_close(struct engine **engine_ref) {
  struct engine *engine = *engine_ref;
  if (!engine)
    return;
  leave_device(engine);
  style_pictures_close(engine);
  model_free(&engine->model);
  resources_free(&engine->resources);
  adapters_free(&engine->adapters);
  controls_close(engine);
  checkpoint_close(&engine->own_checkpoint);
  pthread_mutex_destroy(&engine->preparing);
  pthread_mutex_destroy(&engine->listing);
  free((char *)engine->options.name);
  free((char *)engine->options.cache_dir);
  free((char *)engine->options.choices);
  free(engine->model_path);
  free(engine->mask.kept);
  free(engine);
  *engine_ref = NULL;
}

void engine_limit_memory(struct engine *engine, size_t bytes) {
  device_limit_memory(engine->device, bytes);
}

/* --- changing weights of the model --- */

int engine_update(struct engine *engine, const struct engine_weight *weights, int count, struct error *err) {
  struct weight_change *changes = malloc(((size_t)count + 1) * sizeof *changes);
  int result = changes ? 0 : error_set(err, STATUS_FAILED, "out of memory");
  for (int i = 0; result == 0 && i < count; i++) {
    const struct engine_weight *w = &weights[i];
    changes[i] = (struct weight_change){resources_find(&engine->resources, w->name), w->first, w->rows, w->values};
    if (changes[i].resource < 0)
      result = error_set(err, STATUS_MODEL, "%s: this model has no such weight", w->name);
  }
  if (result == 0)
    result = background_finish(engine, err);
  if (result == 0)
    result = device_update(engine->device, changes, count, err);
  free(changes);
  return result;
}

int engine_weigh(struct engine *engine, const float weights[ADAPTERS_MAX], struct error *err) {
  if (background_finish(engine, err) < 0)
    return -1;
  return adapters_apply(&engine->adapters, engine->device, weights, err);
}

/* --- functions that return facts about the engine, its model and its device --- */

int engine_get_choices(const struct engine *engine, char **choices, struct error *err) {
  return device_get_choices(engine->device, choices, err);
}

int engine_get_timings(const struct engine *engine, char **timings, struct error *err) {
  return device_get_timings(engine->device, timings, err);
}

/* Returns how many bytes of device memory prompts take: encoded texts, and the U-Net's keys and values. The device
 * stores them as FP16 if that is its element type, else as FP32. */
static size_t prompt_bytes(const struct engine *engine, enum dtype element) {
  size_t elements = model_prompt_elements(&engine->model);
  for (int i = 1; i < PROMPT_CHUNKS_MAX; i++)
    if (__atomic_load_n(&engine->keys[i].program, __ATOMIC_ACQUIRE))
      elements += model_keys_elements(&engine->model, 1 + i);
  return elements * dtype_size(element == DTYPE_F16 ? DTYPE_F16 : DTYPE_F32);
}

static void list_style_parts(const struct model *model, bool parts[STYLE_PARTS]) {
  const struct walk *walk = &model->unet.walk;
  for (int i = 0; i < walk->count; i++)
    if (walk->layers[i].depth)
      parts[style_part(model->unet.config, &walk->layers[i])] = true;
}

size_t engine_copied(const struct engine *engine) {
  struct device_counters counters;
  device_get_counters(engine->device, &counters);
  return counters.copied_up + counters.copied_down + counters.staged;
}

void engine_get_info(const struct engine *engine, struct engine_info *info) {
  const struct checkpoint *checkpoint = engine->checkpoint;
  struct device_info device;
  struct device_counters counters;
  device_get_info(engine->device, &device);
  device_get_counters(engine->device, &counters);
  *info = (struct engine_info){
      .depth = device.depth,
      .longest_side = device.longest_side,
      .batch = device.batch,
      .gpu = device.gpu,
      .size_multiple = model_size_multiple(&engine->model),
      .image_conditioned = checkpoint->image_condition || checkpoint->inpainting,
      .style = style_pictures_format(engine),
      .own_adapter = engine->styles.has_own,
      .inpaints = checkpoint->inpainting,
      .large_autoencoder = checkpoint->autoencoder.type != AUTOENCODER_TAE,
      .refuses_guidance = styles_refuses_guidance(checkpoint->styles),
      .starts_from_noise = engine->blends,
      .takes_bank = bank_is_possible(engine),
      .has_guidance_embedding = model_embeds_guidance(&engine->model),
      .prediction = prediction_name(checkpoint->scheduler.prediction),
      .weight_bytes = checkpoint_bytes(checkpoint),
      .device_bytes = counters.bytes,
      .device_peak_bytes = counters.peak_bytes,
      .prompt_bytes = prompt_bytes(engine, device.element),
      .device_energy_j = device.energy_j,
      .device_allocations = counters.allocations,
      .device_launches = counters.launches,
      .device_waits = counters.waits,
      .device_captures = counters.captures,
      .copied_up = counters.copied_up,
      .copied_down = counters.copied_down,
      .staged = counters.staged,
  };
  list_style_parts(&engine->model, info->style_parts);
  model_native_size(&engine->model, &info->native_width, &info->native_height);
  snprintf(info->model, sizeof info->model, "%s", checkpoint->name);
  snprintf(info->device, sizeof info->device, "%s", device.name);
  snprintf(info->device_name, sizeof info->device_name, "%s",
           strcmp(engine->options.name, "auto") ? engine->options.name : engine->device->impl->name);
  snprintf(info->device_detail, sizeof info->device_detail, "%s", device.detail);
}
