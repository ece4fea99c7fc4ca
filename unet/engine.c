#include "engine.h"

#include <stdlib.h>
#include <string.h>

#include "unet/devices.h"
#include "unet/sample/noise.h"
#include "unet/model/plans.h"
#include "unet/sample/sampler.h"
#include "unet/base/text.h"

enum { IN_FLIGHT_MAX = 2, SIDE_MAX = 8192 };

/* A frame plan ready to run. */
struct frame_program {
  struct frame_shape shape;
  struct plan plan;
  struct program *program;
  struct frame_noise noise;
  float *draw; /* one draw of noise, on its way to the device */
};

/* What a picture takes over from its input frame. */
struct ticket {
  int64_t pts, captured_ns;
  uint64_t serial;
};

/* What a prompt slot on the device was encoded from. */
struct prompt_slot {
  bool filled; /* else SLOT_EMPTY stands in */
  int tokens[TOKENS_MAX];
  uint64_t version; /* of the weights then: plan_weights_version */
};

struct engine {
  const struct log *log;
  struct checkpoint *checkpoint;
  struct checkpoint *own_checkpoint; /* the same, or NULL: borrowed */
  struct resources resources;
  struct model model;
  struct device *device;
  enum fit fit;
  enum pixel_format output;

  struct plan prompt_plan, tables_plan;
  struct program *prompt_program, *tables_program;
  struct frame_program *frame;

  struct prompt_slot slots[SLOTS];
  struct sampling sampling;
  bool blends;                /* strength is the picture's share beside the input; the sampler's is always 1 */
  struct sampler_table table; /* of sampling: made anew when the strength changes */
  bool table_known;
  uint64_t seed; /* of the noise on the device */
  bool noise_known;
  float tables_guidance;   /* the time table is for, where guidance is an embedding */
  uint64_t tables_version; /* of the weights it was computed from */
  /* Of the weights that the two plans read, as they are now; looked up again when weights_version is behind. */
  uint64_t prompt_weights, tables_weights, weights_version;

  struct ticket tickets[IN_FLIGHT_MAX]; /* of frames in flight, oldest first */
  int in_flight;
};

static float clamp01(float x) {
  return x > 0 ? (x < 1 ? x : 1) : 0; /* a NaN is 0 */
}

/* --- what is to be sampled --- */

static enum sampler_method choose_method(enum engine_sampler sampler, const struct scheduler_config *config) {
  switch (sampler) {
  case SAMPLER_EULER:
    return METHOD_EULER;
  case SAMPLER_DDIM:
    return METHOD_DDIM;
  case SAMPLER_LCM:
    return METHOD_LCM;
  default:
    return config->method;
  }
}

/* By itself LCM has its own grid and the others the checkpoint's, or trailing on an LCM checkpoint. */
static enum sampler_spacing choose_spacing(enum engine_grid grid, enum sampler_method method,
                                           const struct scheduler_config *config) {
  switch (grid) {
  case GRID_TRAILING:
    return SPACING_TRAILING;
  case GRID_LEADING:
    return SPACING_LEADING;
  case GRID_LCM:
    return SPACING_LCM;
  default:
    if (method == METHOD_LCM)
      return SPACING_LCM;
    return config->spacing == SPACING_LCM ? SPACING_TRAILING : config->spacing;
  }
}

/* Steps that suit the model: a checkpoint with Euler on trailing timesteps is a turbo model, made for one. */
static int default_steps(const struct sampling *sampling, const struct scheduler_config *config) {
  if (sampling->method == METHOD_LCM)
    return 4;
  return config->method == METHOD_EULER && config->spacing == SPACING_TRAILING ? 1 : 20;
}

static void choose_sampling(struct sampling *sampling, const struct engine_params *params,
                            const struct checkpoint *checkpoint) {
  const struct scheduler_config *config = &checkpoint->scheduler;
  sampling->method = choose_method(params->sampler, config);
  sampling->spacing = choose_spacing(params->grid, sampling->method, config);
  sampling->strength = 1;
  sampling->text_to_image = params->text_to_image;
  sampling->image_condition = checkpoint->image_condition;
  sampling->quantised = params->strength_diffusers;
  sampling->snap = params->snap_strength;
  sampling->steps = params->steps ? params->steps : default_steps(sampling, config);
}

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

/* --- frame programs --- */

static int check_side(const char *side, int size, int multiple, struct error *err) {
  if (size >= multiple && size % multiple == 0 && size <= SIDE_MAX)
    return 0;
  if (size > SIDE_MAX)
    return error_set(err, STATUS_USAGE, "%s %d: at most %d is supported", side, size, SIDE_MAX);
  if (size < multiple)
    return error_set(err, STATUS_USAGE, "%s %d: this model takes multiples of %d, at least %d", side, size, multiple,
                     multiple);
  int below = size / multiple * multiple;
  return error_set(err, STATUS_USAGE, "%s %d: this model takes multiples of %d, such as %d or %d", side, size, multiple,
                   below, below + multiple);
}

static int nearest(int size, int multiple) {
  int count = (size + multiple / 2) / multiple, most = SIDE_MAX / multiple;
  return (count < 1 ? 1 : count > most ? most : count) * multiple;
}

static int check_shape(const struct model *model, const struct frame_shape *shape, struct error *err) {
  int multiple = model_size_multiple(model);
  if (check_side("width", shape->width, multiple, err) < 0 || check_side("height", shape->height, multiple, err) < 0)
    return -1;
  if (shape->steps < 1 || shape->steps > STEPS_MAX)
    return error_set(err, STATUS_USAGE, "%d steps: 1 to %d are supported", shape->steps, STEPS_MAX);
  return 0;
}

static void frame_program_destroy(struct frame_program **frame, struct device *device) {
  if (!*frame)
    return;
  if (device)
    device_release(device, &(*frame)->program);
  plan_free(&(*frame)->plan);
  free((*frame)->draw);
  free(*frame);
  *frame = NULL;
}

static struct frame_program *frame_program_create(struct engine *engine, const struct frame_shape *shape,
                                                  struct error *err) {
  struct frame_program *frame = calloc(1, sizeof *frame);
  if (!frame) {
    error_set(err, STATUS_FAILED, "out of memory");
    return NULL;
  }
  frame->shape = *shape;
  if (plans_frame(&engine->model, shape, &frame->plan, &frame->noise, err) < 0)
    goto fail;
  frame->draw = malloc(tensor_elements(frame->noise.start) * sizeof *frame->draw);
  if (!frame->draw) {
    error_set(err, STATUS_FAILED, "out of memory");
    goto fail;
  }
  if (device_prepare(engine->device, &frame->program, &frame->plan, engine->output, err) < 0)
    goto fail;
  return frame;
fail:
  frame_program_destroy(&frame, engine->device);
  return NULL;
}

/* --- prompts --- */

static void look_up_weights(struct engine *engine) {
  if (engine->weights_version == engine->resources.version)
    return;
  engine->prompt_weights = plan_weights_version(&engine->prompt_plan);
  engine->tables_weights = plan_weights_version(&engine->tables_plan);
  engine->weights_version = engine->resources.version;
}

/* The slot's tokens through the text encoder. */
static int encode_slot(struct engine *engine, int slot, const int *tokens, struct error *err) {
  struct run_params run = {.slot = slot};
  memcpy(run.tokens, tokens, sizeof run.tokens);
  look_up_weights(engine);
  if (device_run(engine->device, engine->prompt_program, &run, err) < 0)
    return -1;
  engine->slots[slot].version = engine->prompt_weights;
  return 0;
}

/* Encodes the slots that a run reads again where a weight has changed since. */
static int refresh_slots(struct engine *engine, const struct run_params *run, struct error *err) {
  for (int row = 0; row < engine->frame->shape.rows; row++)
    for (int i = 0; i < 2; i++) {
      int slot = run->prompt[row].slot[i];
      if (engine->slots[slot].version != engine->prompt_weights &&
          encode_slot(engine, slot, engine->slots[slot].tokens, err) < 0)
        return -1;
    }
  return 0;
}

static int encode_tokens(struct engine *engine, int slot, const char *text, struct error *err) {
  int tokens[TOKENS_MAX] = {0}, positions = engine->checkpoint->text.positions;
  int needed = tokenizer_encode(engine->checkpoint->tokenizer, text, tokens, positions, err);
  if (needed < 0)
    return -1;
  if (needed > positions)
    log_line(engine->log, LOG_WARNING, "the prompt is cut: it needs %d tokens, the model reads %d", needed, positions);
  if (encode_slot(engine, slot, tokens, err) < 0)
    return -1;
  memcpy(engine->slots[slot].tokens, tokens, sizeof tokens);
  return 0;
}

/* encoded: what stands for text. */
static void name_styles(const struct engine *engine, const char *text, const char *encoded) {
  const struct styles *styles = engine->checkpoint->styles;
  if (!styles_count(styles) || (!strcmp(text, encoded) && styles_match(styles, text)))
    return;
  char names[512] = "";
  size_t used = 0;
  for (int i = 0; i < styles_count(styles) && used < sizeof names; i++)
    used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", styles_name(styles, i));
  const char *given = styles_default(styles);
  log_line(engine->log, LOG_WARNING, "the prompt \"%s\" names no style that this model knows%s%s: %s",
           text_quote(text).text, given ? " and gives " : "", given ? given : "", names);
}

/* The model's list of styles has its say. */
static int encode_prompt(struct engine *engine, int slot, const char *text, struct error *err) {
  char *encoded = styles_prompt(engine->checkpoint->styles, text);
  if (!encoded)
    return error_set(err, STATUS_FAILED, "out of memory");
  int result = encode_tokens(engine, slot, encoded, err);
  if (result == 0)
    name_styles(engine, text, encoded);
  free(encoded);
  return result;
}

int engine_set_prompt(struct engine *engine, int slot, const char *text, struct error *err) {
  if (slot < 0 || slot >= SLOT_EMPTY)
    return error_set(err, STATUS_USAGE, "prompt slot %d: there are slots 0 to %d", slot, SLOT_EMPTY - 1);
  int result = slot == SLOT_NEGATIVE ? encode_tokens(engine, slot, text, err) : encode_prompt(engine, slot, text, err);
  engine->slots[slot].filled |= result == 0;
  return result;
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

/* --- open, close --- */

static int prepare_tables(struct engine *engine, float guidance, struct error *err) {
  struct run_params run = {.guidance = guidance};
  look_up_weights(engine);
  if (device_run(engine->device, engine->tables_program, &run, err) < 0)
    return -1;
  engine->tables_guidance = guidance;
  engine->tables_version = engine->tables_weights;
  return 0;
}

static int choose_shape(struct engine *engine, const struct engine_params *params, struct frame_shape *shape,
                        struct error *err) {
  const struct unet_config *unet = &engine->checkpoint->unet;
  int scale = tae_scale(&engine->checkpoint->vae), multiple = model_size_multiple(&engine->model);
  *shape = (struct frame_shape){
      .width = params->width ? params->width : unet->sample_width * scale,
      .height = params->height ? params->height : unet->sample_height * scale,
      .steps = engine->sampling.steps,
      .draws = sampler_draws(engine->sampling.method, engine->sampling.steps),
      .rows = model_rows(&engine->model, params->guidance),
      .text_to_image = params->text_to_image,
  };
  if (params->nearest_size) {
    shape->width = nearest(shape->width, multiple);
    shape->height = nearest(shape->height, multiple);
  }
  return check_shape(&engine->model, shape, err);
}

static int prepare(struct engine *engine, const struct frame_shape *shape, struct error *err) {
  if (plans_prompt(&engine->model, &engine->prompt_plan, err) < 0 ||
      plans_tables(&engine->model, &engine->tables_plan, err) < 0)
    return -1;
  engine->frame = frame_program_create(engine, shape, err);
  if (!engine->frame ||
      device_prepare(engine->device, &engine->prompt_program, &engine->prompt_plan, engine->output, err) < 0 ||
      device_prepare(engine->device, &engine->tables_program, &engine->tables_plan, engine->output, err) < 0)
    return -1;
  model_log_unused(&engine->model, engine->log);
  return encode_tokens(engine, SLOT_EMPTY, "", err) < 0 || prepare_tables(engine, 1, err) < 0 ? -1 : 0;
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
    device_release(engine->device, &engine->prompt_program);
    device_release(engine->device, &engine->tables_program);
  }
  device_close(&engine->device);
  plan_free(&engine->prompt_plan);
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
  choose_sampling(&engine->sampling, params, engine->checkpoint);
  struct frame_shape shape;
  if (model_init(&engine->model, engine->checkpoint, &engine->resources, err) < 0 ||
      choose_shape(engine, params, &shape, err) < 0 || choose_device(engine, params, &shape, err) < 0)
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
  if (check_shape(&engine->model, &shape, err) < 0)
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

void engine_get_info(const struct engine *engine, struct engine_info *info) {
  const struct checkpoint *checkpoint = engine->checkpoint;
  int scale = tae_scale(&checkpoint->vae);
  struct device_info device;
  struct device_counters counters;
  device_get_info(engine->device, &device);
  device_get_counters(engine->device, &counters);
  *info = (struct engine_info){
      .depth = device.depth,
      .longest_side = device.longest_side,
      .width = engine->frame->shape.width,
      .height = engine->frame->shape.height,
      .native_width = checkpoint->unet.sample_width * scale,
      .native_height = checkpoint->unet.sample_height * scale,
      .size_multiple = model_size_multiple(&engine->model),
      .steps = engine->frame->shape.steps,
      .image_conditioned = checkpoint->image_condition,
      .refuses_guidance = styles_refuses_guidance(checkpoint->styles),
      .has_guidance_embedding = checkpoint->unet.time_cond_proj_dim > 0,
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
  snprintf(info->model, sizeof info->model, "%s", checkpoint->name);
  snprintf(info->device, sizeof info->device, "%s", device.name);
  snprintf(info->device_detail, sizeof info->device_detail, "%s", device.detail);
  for (int i = 0; i < engine->frame->plan.op_count; i++)
    info->flops += op_flops(&engine->frame->plan.ops[i]) * plan_op_runs(&engine->frame->plan, i);
}

/* --- frames --- */

static struct geometry fit_geometry(enum fit fit, const struct frame *frame, int width, int height) {
  float w = (float)frame->width, h = (float)frame->height;
  struct geometry g = {0, 0, w, h, 0, 0, width, height};
  float wider = (float)(frame_aspect(frame) * height / width); /* than the picture, whose pixels are square */
  if (fit == FIT_CROP) {
    g.source_w = wider > 1 ? w / wider : w;
    g.source_h = wider > 1 ? h : h * wider;
    g.source_x = (w - g.source_w) / 2;
    g.source_y = (h - g.source_h) / 2;
  } else if (fit == FIT_LETTERBOX) {
    int dest_w = wider > 1 ? width : (int)((float)width * wider + 0.5f);
    int dest_h = wider > 1 ? (int)((float)height / wider + 0.5f) : height;
    g.dest_w = dest_w < 1 ? 1 : dest_w;
    g.dest_h = dest_h < 1 ? 1 : dest_h;
    g.dest_x = (width - g.dest_w) / 2;
    g.dest_y = (height - g.dest_h) / 2;
  }
  return g;
}

static int write_draw(struct engine *engine, uint64_t seed, uint32_t draw, struct tensor to, size_t index,
                      struct error *err) {
  size_t count = tensor_elements(engine->frame->noise.start);
  noise_fill(seed, draw, 0, engine->frame->draw, count);
  return device_write(engine->device, engine->frame->program, to, index * count, engine->frame->draw, count, err);
}

static int update_noise(struct engine *engine, uint64_t seed, struct error *err) {
  if (engine->noise_known && engine->seed == seed)
    return 0;
  engine->noise_known = false;
  if (write_draw(engine, seed, 0, engine->frame->noise.start, 0, err) < 0)
    return -1;
  for (int i = 0; i < engine->frame->shape.draws; i++)
    if (write_draw(engine, seed, 1 + (uint32_t)i, engine->frame->noise.steps, (size_t)i, err) < 0)
      return -1;
  engine->seed = seed;
  engine->noise_known = true;
  return 0;
}

static void update_table(struct engine *engine, double strength) {
  if (engine->table_known && engine->sampling.strength == strength)
    return;
  engine->sampling.strength = strength;
  sampler_table(&engine->checkpoint->scheduler, &engine->sampling, &engine->table);
  sampler_pad(&engine->table, engine->frame->shape.steps);
  engine->table_known = true;
}

static int slot_or_empty(const struct engine *engine, int slot) {
  return engine->slots[slot].filled ? slot : SLOT_EMPTY;
}

static int check_controls(const struct controls *controls, struct error *err) {
  if (controls->prompt < 0 || controls->prompt >= SLOT_EMPTY)
    return error_set(err, STATUS_USAGE, "prompt slot %d: there are slots 0 to %d", controls->prompt, SLOT_EMPTY - 1);
  if (controls->blend > 0 && (controls->prompt_to < 0 || controls->prompt_to >= SLOT_EMPTY))
    return error_set(err, STATUS_USAGE, "prompt slot %d: there are slots 0 to %d", controls->prompt_to, SLOT_EMPTY - 1);
  return 0;
}

static void fill_guidance(const struct engine *engine, const struct controls *controls, struct run_params *run) {
  float blend = clamp01(controls->blend), g = controls->guidance, image = controls->image_guidance;
  int slot = slot_or_empty(engine, controls->prompt), negative = slot_or_empty(engine, SLOT_NEGATIVE);
  int slot_to = blend > 0 ? slot_or_empty(engine, controls->prompt_to) : slot;
  run->prompt[0] = (struct prompt_params){{slot, slot_to}, {1 - blend, blend}};
  run->prompt[1] = run->prompt[2] = (struct prompt_params){{negative, negative}, {1, 0}};
  switch (engine->frame->shape.rows) {
  case 1:
    run->row_weight[0] = 1;
    break;
  case 2: /* u + g (c - u) */
    run->row_weight[0] = g;
    run->row_weight[1] = 1 - g;
    break;
  default: /* u + image (i - u) + g (t - i): Brooks et al., InstructPix2Pix, 2023 */
    run->row_weight[0] = g;
    run->row_weight[1] = image - g;
    run->row_weight[2] = 1 - image;
  }
}

static bool tables_valid(const struct engine *engine, float guidance) {
  bool embedded = engine->checkpoint->unet.time_cond_proj_dim > 0;
  return engine->tables_version == engine->tables_weights && (!embedded || guidance == engine->tables_guidance);
}

static int fill_params(struct engine *engine, const struct controls *controls, const struct frame *frame,
                       struct run_params *run, struct error *err) {
  if (check_controls(controls, err) < 0 || update_noise(engine, controls->seed, err) < 0)
    return -1;
  look_up_weights(engine);
  if (!tables_valid(engine, controls->guidance) && prepare_tables(engine, controls->guidance, err) < 0)
    return -1;
  const struct frame_shape *shape = &engine->frame->shape;
  float strength = clamp01(controls->strength);
  if (shape->text_to_image || engine->blends || strength == 0)
    update_table(engine, 1);
  else
    update_table(engine, (double)strength);
  memcpy(run->step, engine->table.step, sizeof run->step);
  run->start_latent = engine->table.start_latent;
  run->start_noise = engine->table.start_noise;
  run->mix = shape->text_to_image ? 1 : strength == 0 ? 0 : clamp01(controls->mix) * (engine->blends ? strength : 1);
  run->guidance = controls->guidance;
  fill_guidance(engine, controls, run);
  if (frame)
    run->geometry = fit_geometry(engine->fit, frame, shape->width, shape->height);
  return refresh_slots(engine, run, err);
}

/* Where the plan has no input, *frame becomes NULL. */
static int choose_input(const struct engine *engine, const struct frame **frame, struct error *err) {
  if (engine->frame->shape.text_to_image)
    *frame = NULL;
  else if (!*frame || (*frame)->width < 1 || (*frame)->height < 1)
    return error_set(err, STATUS_INPUT, "there is no input picture");
  return 0;
}

int engine_submit(struct engine *engine, const struct controls *controls, const struct frame *frame,
                  struct error *err) {
  if (engine->in_flight == IN_FLIGHT_MAX)
    return error_set(err, STATUS_FAILED, "%d frames are in flight already", IN_FLIGHT_MAX);
  struct run_params run = {0};
  if (choose_input(engine, &frame, err) < 0 || fill_params(engine, controls, frame, &run, err) < 0 ||
      device_submit(engine->device, engine->frame->program, &run, frame, err) < 0)
    return -1;
  engine->tickets[engine->in_flight++] =
      frame ? (struct ticket){frame->pts, frame->captured_ns, frame->serial} : (struct ticket){0};
  return 0;
}

int engine_collect(struct engine *engine, struct frame *picture, struct error *err) {
  if (!engine->in_flight)
    return error_set(err, STATUS_FAILED, "no frame is in flight");
  struct ticket ticket = engine->tickets[0];
  engine->tickets[0] = engine->tickets[1];
  engine->in_flight--;
  if (device_collect(engine->device, engine->frame->program, picture, err) < 0)
    return -1;
  picture->pts = ticket.pts;
  picture->captured_ns = ticket.captured_ns;
  picture->serial = ticket.serial;
  return 0;
}

int engine_profile(struct engine *engine, const struct controls *controls, const struct frame *frame,
                   const struct profile_request *request, struct profile *profile, struct error *err) {
  struct run_params run = {0};
  *profile = (struct profile){0};
  if (engine->in_flight)
    return error_set(err, STATUS_FAILED, "there is no profile while a frame is in flight");
  if (choose_input(engine, &frame, err) < 0 || fill_params(engine, controls, frame, &run, err) < 0)
    return -1;
  return device_profile(engine->device, engine->frame->program, &run, frame, request, profile, err);
}

double engine_device_ms(const struct engine *engine) {
  struct device_counters counters;
  device_get_counters(engine->device, &counters);
  return counters.run_ms;
}

void engine_stamps(const struct engine *engine, struct run_stamps *stamps) {
  struct device_counters counters;
  device_get_counters(engine->device, &counters);
  *stamps = counters.stamps;
}
