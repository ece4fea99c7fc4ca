#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unet/devices.h"
#include "unet/engine/engine_impl.h"

void engine_look_up_weights(struct engine *engine) {
  if (engine->weights_version == engine->resources.version)
    return;
  engine->text_weights = plan_weights_version(&engine->text_plan);
  engine->keys_weights = plan_weights_version(&engine->keys_plan);
  engine->tables_weights = plan_weights_version(&engine->tables_plan);
  engine->weights_version = engine->resources.version;
}

/* --- open, close --- */

/* What the checkpoint was not trained for. */
static int check_params(const struct engine_params *params, const struct checkpoint *checkpoint, struct error *err) {
  if (params->text_to_image && checkpoint->image_condition)
    return error_set(err, STATUS_USAGE, "%s: this model restyles an input picture and cannot make one from text alone",
                     params->model);
  if (params->guidance && styles_refuses_guidance(checkpoint->styles))
    return error_set(
        err, STATUS_USAGE,
        "%s: this model was trained without guidance, which would spoil its pictures: leave --guidance at 1",
        params->model);
  return 0;
}

static int prepare(struct engine *engine, const struct frame_shape *shape, struct error *err) {
  engine->keys = (struct recent){.count = KEY_SLOTS};
  if (plans_text(&engine->model, &engine->text_plan, err) < 0 ||
      plans_keys(&engine->model, &engine->keys_plan, err) < 0 ||
      plans_tables(&engine->model, &engine->tables_plan, err) < 0)
    return -1;
  engine->frame = frame_program_create(engine, shape, err);
  if (!engine->frame ||
      device_prepare(engine->device, &engine->text_program, &engine->text_plan, engine->output, err) < 0 ||
      device_prepare(engine->device, &engine->keys_program, &engine->keys_plan, engine->output, err) < 0 ||
      device_prepare(engine->device, &engine->tables_program, &engine->tables_plan, engine->output, err) < 0)
    return -1;
  model_log_unused(&engine->model, engine->log);
  return prompts_encode(engine, SLOT_EMPTY, "", err) < 0 || sampling_make_times(engine, 1, err) < 0 ? -1 : 0;
}

static int open_device(struct engine *engine, const struct engine_params *params, const char *name, struct error *err) {
  const struct device_options options = {.name = name,
                                         .threads = params->threads,
                                         .bf16 = params->bf16,
                                         .memory_limit = params->memory_limit,
                                         .cache_dir = params->cache_dir,
                                         .no_graph = params->no_graph,
                                         .stamps = params->stamps,
                                         .log = params->log};
  return device_open(&engine->device, &engine->resources, &options, err);
}

static void leave_device(struct engine *engine) {
  frame_program_destroy(&engine->frame, engine->device);
  if (engine->device) {
    device_release(engine->device, &engine->text_program);
    device_release(engine->device, &engine->keys_program);
    device_release(engine->device, &engine->tables_program);
  }
  device_close(&engine->device);
  plan_free(&engine->text_plan);
  plan_free(&engine->keys_plan);
  plan_free(&engine->tables_plan);
}

/* Opens the device and makes it ready. A GPU that can be opened and then cannot serve, most often because others have
 * its memory, is no reason to give up for who left the choice open. */
static int choose_device(struct engine *engine, const struct engine_params *params, const struct frame_shape *shape,
                         struct error *err) {
  const char *name = params->device ? params->device : "auto";
  if (open_device(engine, params, name, err) < 0)
    return -1;
  if (prepare(engine, shape, err) == 0)
    return 0;
  struct device_info info;
  device_get_info(engine->device, &info);
  if (strcmp(name, "auto") || !info.replaceable || err->status != STATUS_DEVICE)
    return -1;
  log_line(engine->log, LOG_WARNING, "not on the GPU: %s", err->message);
  leave_device(engine);
  return open_device(engine, params, "cpu", err) < 0 || prepare(engine, shape, err) < 0 ? -1 : 0;
}

int engine_open(struct engine **engine_out, const struct engine_params *params, struct error *err) {
  *engine_out = NULL;
  struct engine *engine = calloc(1, sizeof *engine);
  if (!engine)
    return error_set(err, STATUS_FAILED, "out of memory");
  engine->log = params->log;
  engine->fit = params->fit;
  engine->output = params->output;
  engine->checkpoint = params->checkpoint;
  if (!engine->checkpoint) {
    if (checkpoint_open(&engine->own_checkpoint, params->model, params->vae, params->log, err) < 0)
      goto fail;
    engine->checkpoint = engine->own_checkpoint;
  }
  if (check_params(params, engine->checkpoint, err) < 0)
    goto fail;
  engine->blends = styles_blends(engine->checkpoint->styles) && !params->strength_diffusers;
  sampling_choose(&engine->sampling, params, engine->checkpoint);
  struct frame_shape shape;
  if (model_init(&engine->model, engine->checkpoint, &engine->resources, err) < 0 ||
      shape_choose(engine, params, &shape, err) < 0 || choose_device(engine, params, &shape, err) < 0)
    goto fail;
  *engine_out = engine;
  return 0;
fail:
  engine_close(&engine);
  return -1;
}

void engine_close(struct engine **engine_ref) {
  struct engine *engine = *engine_ref;
  if (!engine)
    return;
  leave_device(engine);
  model_finish(&engine->model);
  resources_finish(&engine->resources);
  checkpoint_close(&engine->own_checkpoint);
  free(engine);
  *engine_ref = NULL;
}

int engine_configure(struct engine *engine, int width, int height, int steps, struct error *err) {
  if (engine->in_flight)
    return error_set(err, STATUS_FAILED, "the size cannot change while a frame is in flight");
  struct frame_shape shape = engine->frame->shape;
  shape.width = width ? width : shape.width;
  shape.height = height ? height : shape.height;
  shape.steps = steps ? steps : shape.steps;
  shape.draws = sampler_draws(engine->sampling.method, shape.steps);
  if (shape_check(&engine->model, &shape, err) < 0)
    return -1;
  struct frame_program *frame = frame_program_create(engine, &shape, err);
  if (!frame)
    return -1;
  frame_program_destroy(&engine->frame, engine->device);
  engine->frame = frame;
  engine->sampling.steps = shape.steps;
  engine->table_known = engine->noise_known = false;
  return 0;
}

/* --- weights --- */

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
    result = device_update(engine->device, changes, count, err);
  free(changes);
  return result;
}

/* --- information --- */

void engine_get_info(const struct engine *engine, struct engine_info *info) {
  const struct checkpoint *checkpoint = engine->checkpoint;
  struct device_info device;
  struct device_counters counters;
  device_get_info(engine->device, &device);
  device_get_counters(engine->device, &counters);
  *info = (struct engine_info){
      .depth = device.depth,
      .longest_side = device.longest_side,
      .width = engine->frame->shape.width,
      .height = engine->frame->shape.height,
      .size_multiple = model_size_multiple(&engine->model),
      .steps = engine->frame->shape.steps,
      .image_conditioned = checkpoint->image_condition,
      .refuses_guidance = styles_refuses_guidance(checkpoint->styles),
      .has_guidance_embedding = model_embeds_guidance(&engine->model),
      .rows = engine->frame->shape.rows,
      .sampler = sampler_method_name(engine->sampling.method),
      .grid = sampler_spacing_name(engine->sampling.spacing),
      .prediction = prediction_name(checkpoint->scheduler.prediction),
      .weight_bytes = checkpoint_bytes(checkpoint),
      .device_bytes = counters.bytes,
      .device_peak_bytes = counters.peak_bytes,
      .device_energy_j = device.energy_j,
      .device_allocations = counters.allocations,
      .device_launches = counters.launches,
      .device_waits = counters.waits,
      .device_captures = counters.captures,
  };
  model_native_size(&engine->model, &info->native_width, &info->native_height);
  snprintf(info->model, sizeof info->model, "%s", checkpoint->name);
  snprintf(info->device, sizeof info->device, "%s", device.name);
  snprintf(info->device_detail, sizeof info->device_detail, "%s", device.detail);
  for (int i = 0; i < engine->frame->plan.op_count; i++)
    info->flops += op_flops(&engine->frame->plan.ops[i]) * plan_op_runs(&engine->frame->plan, i);
}
