/* Handles (engines made ready for a size and step count): checks the requested shape, prepares its plans and programs,
 * and releases them. Any thread may prepare and release handles; it holds the lock `preparing` meanwhile. */
#include <stdlib.h>

#include "unet/engine/engine_impl.h"
#include "unet/model/canvas.h"
#include "unet/model/frame_states.h"
#include "unet/model/models.h"

enum { SIDE_MAX = 8192 };

static int check_side(const char *side, int size, int least, struct error *err) {
  if (size > SIDE_MAX)
    return error_set(err, STATUS_USAGE, "%s %d: at most %d is supported", side, size, SIDE_MAX);
  if (size < least)
    return error_set(err, STATUS_USAGE, "%s %d: this model takes at least %d", side, size, least);
  if (size % 2) /* a side must be even, because in YUV formats 2 x 2 pixels share one chroma sample */
    return error_set(err, STATUS_USAGE, "%s %d: sides are even, such as %d or %d", side, size, size - 1, size + 1);
  return 0;
}

static int round_up(int size, int multiple) {
  return (size + multiple - 1) / multiple * multiple;
}

static int nearest(int size, int step, int least) {
  int rounded = (size + step / 2) / step * step, most = SIDE_MAX / step * step;
  return rounded < least ? least : rounded > most ? most : rounded;
}

void engine_nearest_size(const struct engine *engine, enum sizing sizing, int *width, int *height) {
  int multiple = model_size_multiple(&engine->model), step = sizing == SIZE_WHOLE ? multiple : 2;
  *width = nearest(*width, step, multiple);
  *height = nearest(*height, step, multiple);
}

/* Fails if a stream batch has too many steps, or if a side of the picture is too large, too small (less than
 * model_size_multiple) or odd. The steps of a stream batch are counted as calls of the network: PNDM makes one call
 * more than it has steps. */
static int check_shape(const struct model *model, const struct sampling *sampling, const struct frame_shape *shape,
                       struct error *err) {
  int least = model_size_multiple(model);
  if (shape->stream_batch && shape->steps > STREAM_BATCH_MAX)
    return error_set(err, STATUS_USAGE, "a stream batch of %d steps: with the sampler %s at most %d are supported",
                     sampling->steps, sampler_name(sampling->sampler),
                     STREAM_BATCH_MAX - (shape->steps - sampling->steps));
  if (check_side("width", shape->picture_width, least, err) < 0 ||
      check_side("height", shape->picture_height, least, err) < 0)
    return -1;
  return 0;
}

/* Logs a warning if the network was trained at one timestep alone (SDXS), but the handle makes several steps or starts
 * from an input picture. */
static void warn_of_steps(const struct engine *engine, const struct frame_shape *shape) {
  if (engine->checkpoint->one_timestep && (shape->steps > 1 || !shape->text_to_image))
    log_line(engine->log, LOG_WARNING,
             "%s: a network like this one (SDXS) was trained at one timestep alone: it makes pictures from text "
             "(--text-to-image) in one step; an input picture comes out as mud",
             engine->model_path);
}

/* Checks the number of pictures that a run makes (the batch). More than one cannot be combined with a stream batch,
 * controls or, for SDXL, guidance by a negative prompt. These features need values of their own for each picture, but a
 * run has only one set of them. */
static int check_batch(const struct engine *engine, const struct engine_shape *wish, struct error *err) {
  if (wish->batch < 0 || wish->batch > BATCH_MAX)
    return error_set(err, STATUS_USAGE, "a batch of %d: 1 to %d pictures a run are supported", wish->batch, BATCH_MAX);
  if (wish->batch < 2)
    return 0;
  if (wish->stream_batch)
    return error_set(err, STATUS_USAGE, "a batch of %d: a stream batch takes one frame a run", wish->batch);
  if (wish->controls)
    return error_set(err, STATUS_USAGE, "a batch of %d: with controls one picture a run is supported", wish->batch);
  if (tensor_exists(engine->model.pooled) && model_rows(&engine->model, wish->guidance).first > 1)
    return error_set(err, STATUS_USAGE,
                     "a batch of %d: with SDXL and guidance by a negative prompt one picture a run is supported",
                     wish->batch);
  return 0;
}

/* Returns true if the requested handle draws on a canvas (an endless plane) that follows the camera; false if it draws
 * always at the same place of the screen. */
static bool follows_camera(const struct engine *engine, const struct engine_shape *wish,
                           const struct frame_shape *shape) {
  bool suits = styles_lattice(engine->checkpoint->styles) > 0;
  return wish->canvas == CANVAS_FOLLOW || (wish->canvas == CANVAS_AUTO && suits && past_may_follow(wish, shape));
}

/* Refuses requests for features that the checkpoint was not trained for or the engine does not support. */
static int check_wish(const struct engine *engine, const struct engine_shape *wish, struct error *err) {
  const struct checkpoint *checkpoint = engine->checkpoint;
  if (wish->text_to_image && (checkpoint->image_condition || checkpoint->inpainting))
    return error_set(err, STATUS_USAGE, "%s: this model %s an input picture and cannot make one from text alone",
                     engine->model_path, checkpoint->inpainting ? "repaints" : "restyles");
  if (wish->guidance && styles_refuses_guidance(checkpoint->styles))
    return error_set(err, STATUS_USAGE,
                     "%s: this model was trained without guidance, which would spoil its pictures: leave --guidance at "
                     "1, in the mode full or none",
                     engine->model_path);
  if (wish->guidance > GUIDANCE_FULL && (checkpoint->image_condition || model_embeds_guidance(&engine->model)))
    return error_set(err, STATUS_USAGE, "%s: this model %s: --guidance-mode full or none suits it", engine->model_path,
                     checkpoint->image_condition ? "is guided by prompt and picture apart" : "embeds guidance");
  if (wish->styles && !engine->styles.adapter && !engine->styles.takes_own)
    return error_set(err, STATUS_USAGE, "style pictures need an IP-Adapter, given with --ip-adapter");
  if (wish->chunks < 0 || wish->chunks > PROMPT_CHUNKS_MAX)
    return error_set(err, STATUS_USAGE, "prompts of %d chunks: 1 to %d are supported", wish->chunks, PROMPT_CHUNKS_MAX);
  if (check_batch(engine, wish, err) < 0 || bank_check(engine, wish, err) < 0 || carry_check(engine, wish, err) < 0)
    return -1;
  return controls_check(engine, wish->controls, err);
}

static int choose_shape(const struct engine *engine, const struct engine_shape *wish, const struct sampling *sampling,
                        struct frame_shape *shape, struct error *err) {
  int width, height, steps = sampling->steps, multiple = model_size_multiple(&engine->model);
  enum sampler sampler = sampling->sampler;
  model_native_size(&engine->model, &width, &height);
  *shape = (struct frame_shape){
      .picture_width = wish->width ? wish->width : width,
      .picture_height = wish->height ? wish->height : height,
      .aspect = wish->aspect,
      .steps = sampler_calls(sampler, steps),
      .noise_samples = sampler_noise_samples(sampler, steps),
      .earlier = sampler_earlier(&engine->checkpoint->scheduler, sampler, steps),
      .guidance = model_embeds_guidance(&engine->model) ? GUIDANCE_NONE : wish->guidance,
      .rows = model_rows(&engine->model, wish->guidance),
      .chunks = wish->chunks ? wish->chunks : 1,
      .text_to_image = wish->text_to_image,
      .styles = wish->styles && engine->styles.adapter,
      .stream_batch = wish->stream_batch,
      .batch = wish->batch ? wish->batch : 1,
      .controls = wish->controls,
      .carried = wish->carried,
      .feedback = wish->feedback,
  };
  if (wish->sizing)
    engine_nearest_size(engine, wish->sizing, &shape->picture_width, &shape->picture_height);
  if (check_shape(&engine->model, sampling, shape, err) < 0)
    return -1;
  shape->width = round_up(shape->picture_width, multiple);
  shape->height = round_up(shape->picture_height, multiple);
  if (past_check(wish, shape, err) < 0)
    return -1;
  if (follows_camera(engine, wish, shape))
    shape->canvas = canvas_size_for(&engine->model, shape->height, shape->width);
  return bank_choose(engine, wish, shape, err);
}

/* --- making and releasing handles --- */

static void destroy(struct engine *engine, struct prepared *prepared) {
  device_release(engine->device, &prepared->follow_program);
  device_release(engine->device, &prepared->noise_program);
  device_release(engine->device, &prepared->times_program);
  device_release(engine->device, &prepared->program);
  plan_free(&prepared->follow_plan);
  plan_free(&prepared->noise_plan);
  plan_free(&prepared->times_plan);
  plan_free(&prepared->plan);
  free(prepared->batched_frames);
  free(prepared->made.values);
  free(prepared->second.values);
  free(prepared->kept);
  free(prepared);
}

static int prepare_programs(struct engine *engine, struct prepared *prepared, struct error *err) {
  const struct program_options frame = {.output = engine->output, .own_memory = prepared->wish.own_memory};
  if (device_prepare(engine->device, &prepared->program, &prepared->plan, &frame, err) < 0)
    return -1;
  const struct program_options options = {.owner = prepared->program};
  if (device_prepare(engine->device, &prepared->times_program, &prepared->times_plan, &options, err) < 0)
    return -1;
  return device_prepare(engine->device, &prepared->noise_program, &prepared->noise_plan, &options, err);
}

static int make(struct engine *engine, const struct engine_shape *wish, struct prepared *prepared, struct error *err) {
  prepared->sampling = engine->sampling;
  prepared->wish = *wish;
  if (check_wish(engine, wish, err) < 0 || sampling_choose(&prepared->sampling, wish, engine->checkpoint, err) < 0 ||
      choose_shape(engine, wish, &prepared->sampling, &prepared->shape, err) < 0)
    return -1;
  warn_of_steps(engine, &prepared->shape);
  sampling_tell(engine, wish, &prepared->sampling);
  if (text_keys_prepare(engine, &prepared->shape, err) < 0)
    return -1;
  if (plans_frame(&engine->model, &prepared->shape, &prepared->plan, &prepared->noise, err) < 0 ||
      plans_times(&engine->model, &prepared->shape, &prepared->times_plan, err) < 0 ||
      plans_noise(&engine->model, &prepared->shape, &prepared->noise_plan, &prepared->ends, err) < 0)
    return -1;
  adapters_mark(&engine->adapters, &engine->resources);
  prepared->batched_frames = calloc((size_t)prepared->shape.steps, sizeof *prepared->batched_frames);
  if (noise_allocate(prepared, err) < 0)
    return -1;
  if (tensor_exists(prepared->noise.kept))
    prepared->kept = malloc(tensor_elements(prepared->noise.kept) * sizeof *prepared->kept);
  if (!prepared->batched_frames || !prepared->kept != !tensor_exists(prepared->noise.kept))
    return error_set(err, STATUS_FAILED, "out of memory");
  /* The versions of the weights are not known here: the thread that submits looks them up, because it may be changing
   * weights at this moment. */
  prepared->weights_version = UINT64_MAX;
  prepared->bank_bytes = bank_bytes(engine, prepared);
  bank_tell(engine, prepared);
  return prepare_programs(engine, prepared, err);
}

/* Makes a handle (struct prepared) and adds it to the engine's list. The caller holds the lock `preparing`. */
static int prepare(struct engine *engine, const struct engine_shape *wish, struct prepared **out, struct error *err) {
  struct prepared *prepared = calloc(1, sizeof *prepared);
  if (!prepared)
    return error_set(err, STATUS_FAILED, "out of memory");
  if (make(engine, wish, prepared, err) < 0) {
    destroy(engine, prepared);
    return -1;
  }
  prepared->number = ++engine->prepared_count;
  pthread_mutex_lock(&engine->listing);
  prepared->next = engine->handles;
  engine->handles = prepared;
  pthread_mutex_unlock(&engine->listing);
  *out = prepared;
  return 0;
}

int engine_prepare(struct engine *engine, const struct engine_shape *wish, struct prepared **prepared,
                   struct error *err) {
  *prepared = NULL;
  pthread_mutex_lock(&engine->preparing);
  int status = prepare(engine, wish, prepared, err);
  pthread_mutex_unlock(&engine->preparing);
  return status;
}

void run_release_pictures(struct run_in_flight *run) {
  for (int i = 0; i < BATCH_MAX; i++)
    frame_release(&run->pictures[i]);
}

static void drop_runs(struct engine *engine, const struct prepared *prepared) {
  int left = 0, early = engine->given_early;
  for (int i = 0; i < engine->unfinished; i++)
    if (engine->runs[i].prepared != prepared) {
      engine->runs[left++] = engine->runs[i];
    } else {
      run_release_pictures(&engine->runs[i]);
      engine->given_early -= i < early;
    }
  engine->unfinished = left;
}

bool prepared_is_known(struct engine *engine, const struct prepared *prepared) {
  pthread_mutex_lock(&engine->listing);
  const struct prepared *handle = engine->handles;
  while (handle && handle != prepared)
    handle = handle->next;
  pthread_mutex_unlock(&engine->listing);
  return handle != NULL;
}

static void release(struct engine *engine, struct prepared *prepared) {
  struct prepared **link = &engine->handles;
  while (*link && *link != prepared)
    link = &(*link)->next;
  if (!*link) /* the handle was already released */
    return;
  pthread_mutex_lock(&engine->listing);
  *link = prepared->next;
  pthread_mutex_unlock(&engine->listing);
  /* If runs of the handle are in flight, this code runs on the thread that submits: another thread may release only
   * handles without runs. */
  if (prepared->runs_in_flight)
    drop_runs(engine, prepared);
  destroy(engine, prepared);
}

void engine_release(struct engine *engine, struct prepared **prepared) {
  if (!*prepared)
    return;
  pthread_mutex_lock(&engine->preparing);
  release(engine, *prepared);
  pthread_mutex_unlock(&engine->preparing);
  *prepared = NULL;
}

void prepared_release_all(struct engine *engine) {
  while (engine->handles)
    release(engine, engine->handles);
}

void prepared_get_info(const struct prepared *prepared, struct prepared_info *info) {
  const struct frame_shape *shape = &prepared->shape;
  const struct sampling *sampling = &prepared->sampling;
  const struct plan *plan = &prepared->plan;
  *info = (struct prepared_info){.shape = prepared->wish,
                                 .sampler = sampler_name(sampling->sampler),
                                 .spacing = spacing_name(sampling->sigmas ? sampling->sigmas : sampling->spacing),
                                 .has_eta = sampler_has_eta(sampling->sampler),
                                 .eta = sampler_usual_eta(sampling->sampler),
                                 .frames_behind = shape->stream_batch ? shape->steps - 1 : 0,
                                 .drawn_width = frame_drawn_w(shape),
                                 .drawn_height = frame_drawn_h(shape),
                                 .rows = shape->rows.first,
                                 .bank_bytes = prepared->bank_bytes};
  info->shape.width = shape->picture_width;
  info->shape.height = shape->picture_height;
  info->shape.sizing = SIZE_GIVEN;
  info->shape.steps = sampling->steps;
  info->shape.chunks = shape->chunks;
  info->shape.batch = shape->batch;
  info->shape.canvas = shape->canvas.lattice ? CANVAS_FOLLOW : CANVAS_FIXED;
  for (int i = 0; i < plan->op_count; i++)
    info->flops += op_flops(&plan->ops[i]) * plan_op_runs(plan, i) / shape->batch;
}
