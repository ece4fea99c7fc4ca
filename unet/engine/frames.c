#include <string.h>

#include "unet/base/platform.h"
#include "unet/engine/engine_impl.h"

/* --- controls to arguments --- */

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

/* Stands in for a frame where nobody waits for its picture. */
static const struct frame *blank(void) {
  static uint8_t pixels[4 * 4];
  static const struct frame frame = {
      .format = PIXEL_RGBA, .width = 2, .height = 2, .plane = {pixels}, .pitch = {2 * 4}, .range = RANGE_FULL};
  return &frame;
}

/* What the run reads, by source; of zeros where it reads no input. */
static int choose_frames(const struct engine *engine, const struct engine_request *request,
                         struct frame frames[SOURCES_MAX], struct error *err) {
  const struct frame *input = request->frame, *control = request->control_frame;
  const struct frame_shape *shape = &request->prepared->shape;
  if (request->drain)
    input = blank();
  if (!model_reads_input(&engine->model, shape->text_to_image, shape->controls))
    frames[0] = (struct frame){0};
  else if (!input || input->width < 1 || input->height < 1)
    return error_set(err, STATUS_INPUT, "there is no input picture");
  else
    frames[0] = *input;
  frames[1] = control && !request->drain ? *control : *blank();
  return 0;
}

static void fill_geometry(const struct engine *engine, const struct prepared *prepared,
                          const struct frame frames[SOURCES_MAX], struct run_params *run) {
  for (int i = 0; i < prepared->program->sources; i++)
    if (frames[i].width > 0)
      run->geometry[i] = geometry_fit(engine->fit, &frames[i], prepared->shape.width, prepared->shape.height);
}

bool engine_control_acts(const struct engine *engine, struct prepared *prepared, const struct controls *controls,
                         int number) {
  struct control_values values = controls->control[number];
  struct run_params run = {0};
  values.weight = 1;
  fill_sampling(engine, prepared, controls, &run);
  return controls_acts(prepared, &values, &run);
}

/* --- stream batch --- */

static bool is_batched(const struct prepared *prepared) {
  return prepared->shape.stream_batch && prepared->shape.steps > 1;
}

int engine_under_way(const struct prepared *prepared) {
  int count = 0;
  for (int i = 0; is_batched(prepared) && i < prepared->shape.steps - 1; i++)
    count += prepared->passengers[i].there;
  return count;
}

/* Who a request brings on board. */
static struct passenger passenger_of(const struct engine_request *request, const struct run_params *run) {
  struct passenger newest = {.there = !request->drain,
                             .identity = request->identity,
                             .opaque = request->opaque,
                             .mix = run->mix,
                             .table = request->prepared->table};
  for (int i = 0; i < CONTROLS_MAX; i++)
    memcpy(newest.gain[i], run->control[i].gain, sizeof newest.gain[i]);
  return newest;
}

/* Each step is that of the frame which is there; in an empty place that of this one. */
static void fill_batch(const struct prepared *prepared, struct run_params *run) {
  int steps = prepared->shape.steps;
  for (int i = 1; i < steps; i++) {
    const struct passenger *p = &prepared->passengers[i - 1];
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

/* All go on by one place; the one at the end leaves with this run. */
static const struct passenger *board(struct prepared *prepared, const struct passenger *newest) {
  struct passenger *all = prepared->passengers;
  int count = is_batched(prepared) ? prepared->shape.steps : 1;
  memmove(all + 1, all, (size_t)(count - 1) * sizeof *all);
  all[0] = *newest;
  return &all[count - 1];
}

/* The request as a run: its arguments and its input. 1: it shows all that its controls ask for; 0: not yet. */
static int fill_run(struct engine *engine, const struct engine_request *request, struct run_params *run,
                    struct passenger *newest, struct frame frames[SOURCES_MAX], struct error *err) {
  struct prepared *prepared = request->prepared;
  const struct controls *controls = request->controls;
  if (!prepared_is_known(engine, prepared))
    return error_set(err, STATUS_FAILED, "no picture is prepared: engine_prepare comes before frames");
  if (choose_frames(engine, request, frames, err) < 0 || check_controls(controls, err) < 0 ||
      mask_write(engine, prepared, err) < 0)
    return -1;
  fill_sampling(engine, prepared, controls, run);
  controls_fill(engine, prepared, controls, run);
  if (noise_bring(engine, prepared, controls, err) < 0)
    return -1;
  *newest = passenger_of(request, run);
  if (is_batched(prepared))
    fill_batch(prepared, run);
  run->guidance = controls->guidance;
  run->on_device = request->on_device;
  fill_geometry(engine, prepared, frames, run);
  return beside_fill(engine, prepared, controls, run, err);
}

/* --- frames --- */

int engine_in_flight(const struct engine *engine) {
  return engine->in_flight;
}

int engine_submit(struct engine *engine, const struct engine_request *request, struct error *err) {
  int64_t now_ns = platform_now_ns();
  struct frame frames[SOURCES_MAX];
  struct run_params run = {0};
  struct passenger newest;
  if (engine->in_flight == IN_FLIGHT_MAX)
    return error_set(err, STATUS_FAILED, "%d frames are in flight already", IN_FLIGHT_MAX);
  int filled = fill_run(engine, request, &run, &newest, frames, err);
  if (filled < 0 || device_submit(engine->device, request->prepared->program, &run, frames, err) < 0)
    return -1;
  newest.submitted_ns = now_ns;
  newest.whole = filled;
  const struct passenger *leaves = board(request->prepared, &newest);
  engine->flights[engine->in_flight++] = (struct flight){.prepared = request->prepared,
                                                         .pending = !leaves->there,
                                                         .identity = leaves->identity,
                                                         .opaque = leaves->there ? leaves->opaque : NULL,
                                                         .submitted_ns = leaves->submitted_ns,
                                                         .whole = leaves->whole && filled};
  engine->beside.behind = !filled;
  slices_after_frame(engine);
  noise_make_ahead(request->prepared);
  return 0;
}

int engine_collect(struct engine *engine, struct engine_result *result, struct error *err) {
  *result = (struct engine_result){0};
  if (!engine->in_flight)
    return error_set(err, STATUS_FAILED, "no frame is in flight");
  const struct flight flight = engine->flights[0];
  engine->flights[0] = engine->flights[1];
  engine->in_flight--;
  result->opaque = flight.opaque;
  result->submitted_ns = flight.submitted_ns;
  result->whole = flight.whole;
  result->pending = flight.pending;
  if (device_collect(engine->device, flight.prepared->program, &result->picture, err) < 0)
    return -1;
  if (flight.pending)
    frame_release(&result->picture);
  result->finished_ns = platform_now_ns();
  result->picture.pts = flight.identity.pts;
  result->picture.captured_ns = flight.identity.captured_ns;
  result->picture.serial = flight.identity.serial;
  struct device_counters counters;
  device_get_counters(engine->device, &counters);
  result->device_ms = counters.run_ms;
  result->stamps = counters.stamps;
  return 0;
}

int engine_profile(struct engine *engine, const struct engine_request *request,
                   const struct profile_request *profile_request, struct profile *profile, struct error *err) {
  struct run_params run = {0};
  struct passenger newest;
  struct frame frames[SOURCES_MAX];
  *profile = (struct profile){0};
  if (engine->in_flight)
    return error_set(err, STATUS_FAILED, "there is no profile while a frame is in flight");
  if (fill_run(engine, request, &run, &newest, frames, err) < 0 || slices_finish(engine, err) < 0)
    return -1;
  return device_profile(engine->device, request->prepared->program, &run, frames, profile_request, profile, err);
}
