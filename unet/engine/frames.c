/* The path of frames through the engine, on the thread that submits. engine_submit turns a request into a run:
 * parameters from the controls, input frames, noise, mask, prompts. It starts the run and then one slice of background
 * work. engine_collect waits for the oldest run and gives out its pictures. */
#include <string.h>

#include "unet/base/platform.h"
#include "unet/engine/engine_impl.h"

/* --- from controls to run parameters --- */

static int check_controls(const struct controls *controls, struct error *err) {
  if (controls->prompt < 0 || controls->prompt >= SLOT_EMPTY)
    return error_set(err, STATUS_USAGE, "prompt slot %d: there are slots 0 to %d", controls->prompt, SLOT_EMPTY - 1);
  return 0;
}

static void fill_sampling(const struct engine *engine, struct prepared *prepared, const struct controls *controls,
                          struct run_params *run) {
  bool text_to_image = prepared->shape.text_to_image;
  float strength = clamp01(controls->strength);
  double eta = controls->eta < 0 ? sampler_usual_eta(prepared->sampling.sampler) : (double)clamp01(controls->eta);
  sampling_table(engine, prepared, text_to_image || engine->blends || strength == 0 ? 1 : (double)strength, eta);
  memcpy(run->step, prepared->table.step, sizeof run->step);
  memcpy(run->residual, prepared->table.residual, sizeof run->residual);
  run->start_latent = prepared->table.start_latent;
  run->start_noise = prepared->table.start_noise;
  run->mix = text_to_image ? 1 : strength == 0 ? 0 : clamp01(controls->mix) * (engine->blends ? strength : 1);
}

/* Returns a small black frame, for pictures of a run that no request asks for, and for controls without a frame of
 * their own. */
static const struct frame *blank(void) {
  static uint8_t pixels[4 * 4];
  static const struct frame frame = {
      .format = PIXEL_RGBA, .width = 2, .height = 2, .plane = {pixels}, .pitch = {2 * 4}, .range = RANGE_FULL};
  return &frame;
}

/* The requests that one run serves: request[i] asks for picture i of the run, for i below count. The run computes its
 * remaining pictures as well, but nobody gets them. */
struct batch {
  const struct engine_request *request[BATCH_MAX];
  const struct controls *controls[BATCH_MAX];
  int count;
};

static int gather(const struct engine_request *request, struct batch *batch, struct error *err) {
  int room = request->prepared->shape.batch;
  *batch = (struct batch){.count = 0};
  for (; request && batch->count < room; request = request->next) {
    batch->request[batch->count] = request;
    batch->controls[batch->count++] = request->controls;
  }
  if (request)
    return error_set(err, STATUS_FAILED, "more frames than the %d that a run of this handle takes", room);
  return 0;
}

/* Sets the frames from which picture i is made: the input frame (zeroed if the plan reads none), and the frame for its
 * controls. */
static int choose_frame(const struct engine *engine, const struct engine_request *request, int i,
                        struct frame frames[FRAMES_MAX], struct error *err) {
  const struct frame *input = request->frame, *control = request->control_frame;
  const struct frame_shape *shape = &request->prepared->shape;
  if (request->drain)
    input = blank();
  if (!model_reads_input(&engine->model, shape->text_to_image, shape->controls))
    frames[i] = (struct frame){0};
  else if (!input || input->width < 1 || input->height < 1)
    return error_set(err, STATUS_INPUT, "there is no input picture");
  else
    frames[i] = *input;
  frames[shape->batch + i] = control && !request->drain ? *control : *blank();
  return 0;
}

/* Sets the frames for all pictures of the run. Pictures without a request get a black frame: the device computes these
 * pictures as well, and they are thrown away. */
static int choose_frames(const struct engine *engine, const struct batch *batch, struct frame frames[FRAMES_MAX],
                         struct error *err) {
  struct engine_request none = {.prepared = batch->request[0]->prepared, .drain = true};
  for (int i = 0; i < none.prepared->shape.batch; i++)
    if (choose_frame(engine, i < batch->count ? batch->request[i] : &none, i, frames, err) < 0)
      return -1;
  return 0;
}

static void fill_geometry(const struct engine *engine, const struct prepared *prepared,
                          const struct frame frames[FRAMES_MAX], struct run_params *run) {
  for (int i = 0; i < prepared->program->frames; i++)
    if (frames[i].width > 0)
      run->geometry[i] = geometry_fit(engine->fit, &frames[i], &prepared->shape);
}

bool engine_control_acts(const struct engine *engine, struct prepared *prepared, const struct controls *controls,
                         int number) {
  struct control_values values = controls->control[number];
  struct run_params run = {0};
  values.weight = 1;
  fill_sampling(engine, prepared, controls, &run);
  return controls_acts(prepared, &values, &run);
}

bool engine_feeds_back(const struct engine *engine, struct prepared *prepared, const struct controls *controls) {
  struct run_params run = {0};
  fill_sampling(engine, prepared, controls, &run);
  return prepared->shape.feedback && run.start_latent != 0;
}

/* --- stream batch: a run in which each step belongs to another frame --- */

static bool is_batched(const struct prepared *prepared) {
  return prepared->shape.stream_batch && prepared->shape.steps > 1;
}

int engine_under_way(const struct prepared *prepared) {
  int count = 0;
  for (int i = 0; is_batched(prepared) && i < prepared->shape.steps - 1; i++)
    count += prepared->batched_frames[i].there;
  return count;
}

/* Returns the entry of the stream batch for a request's frame: what later runs must know when they compute the frame's
 * later steps. */
static struct batched_frame batched_frame_of(const struct engine_request *request, const struct run_params *run) {
  struct batched_frame newest = {.there = !request->drain,
                                 .identity = request->identity,
                                 .opaque = request->opaque,
                                 .mix = run->mix,
                                 .table = request->prepared->table};
  for (int i = 0; i < CONTROLS_MAX; i++)
    memcpy(newest.gain[i], run->control[i].gain, sizeof newest.gain[i]);
  return newest;
}

/* In a stream batch each step of a run belongs to another frame, the first step to the new frame. For each later step,
 * replaces the step's parameters by those of the frame that is at this step. Steps without a frame keep the new frame's
 * parameters. */
static void fill_batch(const struct prepared *prepared, struct run_params *run) {
  int steps = prepared->shape.steps;
  for (int i = 1; i < steps; i++) {
    const struct batched_frame *p = &prepared->batched_frames[i - 1];
    if (!p->there)
      continue;
    run->step[i] = p->table.step[i];
    run->residual[i] = p->table.residual[i];
    for (int k = 0; k < CONTROLS_MAX; k++)
      run->control[k].gain[i] = p->gain[k][i];
    if (i == steps - 1)
      run->mix = p->mix;
  }
}

/* Moves each frame of the stream batch on by one step, with the new frame at the first step. Returns the frame that is
 * now at its last step, whose picture this run makes; without a stream batch, the new frame. */
static const struct batched_frame *shift_batched_frames(struct prepared *prepared, const struct batched_frame *newest) {
  struct batched_frame *all = prepared->batched_frames;
  int count = is_batched(prepared) ? prepared->shape.steps : 1;
  memmove(all + 1, all, (size_t)(count - 1) * sizeof *all);
  all[0] = *newest;
  return &all[count - 1];
}

/* Style pictures take the place of the input's fine detail, as far as they are on. */
float engine_usual_detail(const struct engine *engine) {
  return engine->background.shown.detail * (1 - engine->styles.share);
}

/* How much of the input's fine detail pictures get: stores in *newest the amount for the request's picture, and in *run
 * the amount for the picture that the run completes. A controls.detail below 0 stands for the amount that suits the
 * styles of the prompts and the style pictures which the run shows, so this is called once these are known. */
static void fill_detail(const struct engine *engine, const struct prepared *prepared, const struct controls *controls,
                        struct run_params *run, struct batched_frame *newest) {
  const struct batched_frame *last = is_batched(prepared) ? &prepared->batched_frames[prepared->shape.steps - 2] : NULL;
  newest->detail = controls->detail < 0 ? engine_usual_detail(engine) : clamp01(controls->detail);
  run->detail = last && last->there ? last->detail : newest->detail;
}

/* Fills in the parameters and the frames of the run that serves a request. Returns 1 if everything that the frame's
 * controls ask for is shown, 0 if some texts, adapters or pictures are not ready yet, -1 after a failure. */
static int fill_run(struct engine *engine, const struct engine_request *request, struct run_params *run,
                    struct batched_frame *newest, struct batch *batch, struct frame frames[FRAMES_MAX],
                    struct error *err) {
  struct prepared *prepared = request->prepared;
  const struct controls *controls = request->controls;
  if (!prepared_is_known(engine, prepared))
    return error_set(err, STATUS_FAILED, "no picture is prepared: engine_prepare comes before frames");
  if (gather(request, batch, err) < 0 || choose_frames(engine, batch, frames, err) < 0 ||
      check_controls(controls, err) < 0 || mask_write(engine, prepared, err) < 0)
    return -1;
  fill_sampling(engine, prepared, controls, run);
  controls_fill(engine, prepared, controls, run);
  if (noise_bring(engine, prepared, batch->controls, batch->count, err) < 0)
    return -1;
  *newest = batched_frame_of(request, run);
  if (is_batched(prepared))
    fill_batch(prepared, run);
  run->guidance = controls->guidance;
  run->on_device = request->on_device || request->early;
  run->early = request->early;
  run->restart = past_ends(engine, request);
  run->motion |= prepared->shape.canvas.lattice > 0;
  bank_fill(engine, prepared, controls, run);
  carry_fill(engine, prepared, controls, run);
  fill_geometry(engine, prepared, frames, run);
  int filled = shown_fill(engine, prepared, controls, run, err);
  fill_detail(engine, prepared, controls, run, newest);
  return filled;
}

/* --- submitting and collecting frames --- */

int engine_in_flight(const struct engine *engine) {
  return engine->unfinished - engine->given_early;
}

int engine_unfinished(const struct engine *engine) {
  return engine->unfinished;
}

static void remove_oldest_run(struct engine *engine) {
  engine->runs[0].prepared->runs_in_flight--;
  run_release_pictures(&engine->runs[0]);
  engine->runs[0] = engine->runs[1];
  engine->unfinished--;
}

/* Waits for the end of the oldest run, whose pictures were given out early. */
static int finish_early_run(struct engine *engine, struct error *err) {
  int status = device_collect(engine->device, engine->runs[0].prepared->program, NULL, err);
  engine->given_early--;
  remove_oldest_run(engine);
  return status;
}

/* Stores in pictures[] further references to the pictures of the program's run that was submitted last. */
static void hold_newest_pictures(const struct program *program, struct frame pictures[BATCH_MAX]) {
  for (int i = 0; i < program->pictures; i++)
    pictures[i] = frame_hold(&program->made[(program->submitted - 1) % RUNS_IN_FLIGHT][i]);
}

/* Returns the record of a run that was just started, for engine.runs. last: the frame whose picture the run makes;
 * filled: true: that frame shows everything that its controls asked for. */
static struct run_in_flight submitted_run(const struct batch *batch, const struct batched_frame *last, bool filled) {
  struct run_in_flight run = {.prepared = batch->request[0]->prepared,
                              .pending = !last->there,
                              .count = batch->count,
                              .submitted_ns = last->submitted_ns,
                              .whole = last->whole && filled};
  for (int i = 1; i < batch->count; i++) {
    run.of[i].identity = batch->request[i]->identity;
    run.of[i].opaque = batch->request[i]->opaque;
  }
  run.of[0].identity = last->identity;
  run.of[0].opaque = last->there ? last->opaque : NULL;
  return run;
}

/* Measures the steps of a submission one after another: returns the milliseconds since *from_ns, and sets *from_ns to
 * the present time. */
static double lap(int64_t *from_ns) {
  int64_t before_ns = *from_ns;
  *from_ns = platform_now_ns();
  return (double)(*from_ns - before_ns) * 1e-6;
}

int engine_submit(struct engine *engine, const struct engine_request *request, struct error *err) {
  int64_t now_ns = platform_now_ns(), at_ns = now_ns;
  struct submit_times times;
  struct frame frames[FRAMES_MAX];
  struct run_params run = {0};
  struct batched_frame newest;
  struct batch batch;
  if (engine_in_flight(engine) == IN_FLIGHT_MAX)
    return error_set(err, STATUS_FAILED, "%d frames are in flight already", IN_FLIGHT_MAX);
  if (engine->unfinished == IN_FLIGHT_MAX && finish_early_run(engine, err) < 0)
    return -1;
  int filled = fill_run(engine, request, &run, &newest, &batch, frames, err);
  times.fill = lap(&at_ns);
  if (filled < 0 || device_submit(engine->device, request->prepared->program, &run, frames, err) < 0)
    return -1;
  times.launch = lap(&at_ns);
  newest.submitted_ns = now_ns;
  newest.whole = filled;
  past_follow(engine, request, &run);
  struct run_in_flight *own = &engine->runs[engine->unfinished++];
  *own = submitted_run(&batch, shift_batched_frames(request->prepared, &newest), filled);
  own->restarted = run.restart;
  own->early = request->early;
  if (own->early)
    hold_newest_pictures(request->prepared->program, own->pictures);
  request->prepared->runs_in_flight++;
  engine->background.behind = !filled;
  background_after_frame(engine);
  times.slice = lap(&at_ns);
  noise_make_ahead(request->prepared);
  times.ahead = lap(&at_ns);
  own->submitted = times;
  return 0;
}

/* Waits for the end of a run and stores its pictures in *run, unless they are given out early. Releases pictures that
 * no request asked for, and all of them if the stream batch (frames at different steps in one run) is not full yet. */
static int await(struct engine *engine, struct run_in_flight *run, struct error *err) {
  struct device_counters counters;
  if (!run->early && device_collect(engine->device, run->prepared->program, run->pictures, err) < 0)
    return -1;
  run->finished_ns = engine->ended_ns = platform_now_ns();
  for (int i = run->pending ? 0 : run->count; i < BATCH_MAX; i++)
    frame_release(&run->pictures[i]);
  if (run->early)
    return 0;
  device_get_counters(engine->device, &counters);
  run->device_ms = counters.run_ms / run->count;
  run->stamps = counters.stamps;
  return 0;
}

int engine_collect(struct engine *engine, struct engine_result *result, struct error *err) {
  int status = 0;
  *result = (struct engine_result){0};
  if (!engine_in_flight(engine))
    return error_set(err, STATUS_FAILED, "no frame is in flight");
  while (engine->given_early && !engine->runs[engine->given_early].early)
    status |= finish_early_run(engine, err);
  struct run_in_flight *run = &engine->runs[engine->given_early];
  int i = run->given;
  result->opaque = run->of[i].opaque;
  result->submitted_ns = run->submitted_ns;
  result->whole = run->whole;
  result->restarted = run->restarted;
  result->pending = run->pending;
  if (i == 0 && await(engine, run, err) < 0)
    status = -1;
  if (status == 0) {
    result->finished_ns = run->finished_ns;
    result->device_ms = run->device_ms;
    result->stamps = run->stamps;
    result->submitted = run->submitted;
    result->picture = run->pictures[i];
    result->picture.pts = run->of[i].identity.pts;
    result->picture.captured_ns = run->of[i].identity.captured_ns;
    result->picture.serial = run->of[i].identity.serial;
    result->picture.numbered = run->of[i].identity.numbered;
    result->picture.number = run->of[i].identity.number;
    result->left = run->count - 1 - i;
    run->pictures[i] = (struct frame){0};
    run->given++;
  }
  if (result->left == 0 && run->early)
    engine->given_early++;
  else if (result->left == 0)
    remove_oldest_run(engine);
  return status;
}

int engine_profile(struct engine *engine, const struct engine_request *request,
                   const struct profile_request *profile_request, struct profile *profile, struct error *err) {
  struct run_params run = {0};
  struct batched_frame newest;
  struct batch batch;
  struct frame frames[FRAMES_MAX];
  *profile = (struct profile){0};
  if (engine_in_flight(engine))
    return error_set(err, STATUS_FAILED, "there is no profile while a frame is in flight");
  while (engine->given_early)
    if (finish_early_run(engine, err) < 0)
      return -1;
  if (fill_run(engine, request, &run, &newest, &batch, frames, err) < 0 || background_finish(engine, err) < 0)
    return -1;
  /* The runs of the profile have changed the data that frames leave on the device; the next frame must not use it. */
  engine->last_handle = 0;
  run.restart = run.bank.anew = false;
  return device_profile(engine->device, request->prepared->program, &run, frames, profile_request, profile, err);
}
