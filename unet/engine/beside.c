/* Texts, their keys and values, and adapters, made beside frames. What has been started ends before the next begins, so
 * that a text that changes with every frame comes to be shown all the same. */
#include <stdlib.h>
#include <string.h>

#include "unet/engine/engine_impl.h"

static bool is_busy(const struct beside *b) {
  return b->first < b->count || b->merge != MERGE_NONE;
}

/* --- jobs --- */

enum { PART_OPS = 16 }; /* of a program's part: 0.2 ms of a text encoder on an H200 */

/* A smooth engine runs these beside frames, in parts. */
int beside_prepare(struct engine *engine, struct program **program, const struct plan *plan, struct error *err) {
  struct program_options options = {.output = engine->output};
  if (engine->beside.smooth)
    options.parts = (plan->op_count + PART_OPS - 1) / PART_OPS;
  adapters_mark(&engine->adapters, &engine->resources);
  return device_prepare(engine->device, program, plan, &options, err);
}

static int add_job(struct beside *b, struct program *program, const struct run_params *run, struct error *err) {
  if (b->count == b->room) {
    int room = b->room ? 2 * b->room : 16;
    struct job *jobs = realloc(b->jobs, (size_t)room * sizeof *jobs);
    if (!jobs)
      return error_set(err, STATUS_FAILED, "out of memory");
    b->jobs = jobs;
    b->room = room;
  }
  b->jobs[b->count++] = (struct job){program, *run};
  return 0;
}

int beside_start(struct engine *engine, struct program *program, const struct run_params *run, struct error *err) {
  struct beside *b = &engine->beside;
  if (b->smooth && b->shown.known && !b->at_once)
    return add_job(b, program, run, err);
  return beside_finish(engine, err) < 0 ? -1 : device_start(engine->device, program, run, err);
}

/* The next part of the first job. */
static int do_job(struct engine *engine, struct error *err) {
  struct beside *b = &engine->beside;
  const struct job *job = &b->jobs[b->first];
  int status = device_start_part(engine->device, job->program, &job->run, b->merge == MERGE_MADE, err);
  if (status == 0 && ++b->first == b->count)
    b->first = b->count = 0;
  return status < 0 ? -1 : 0;
}

/* --- adapters --- */

/* Texts and keys with the new weights, for the frame that asked for them. */
static int start_prompts(struct engine *engine, struct error *err) {
  struct beside *b = &engine->beside;
  struct run_params run = {0};
  int rows = b->wanted_shape.rows.first;
  frames_fill_guidance(engine, &b->wanted_shape, &b->wanted, &run);
  return prompts_refresh(engine, rows, &run, err) < 0 ? -1
                                                      : prompts_place(engine, rows, b->wanted_shape.chunks, &run, err);
}

static int do_merge(struct engine *engine, bool all, struct error *err) {
  struct beside *b = &engine->beside;
  int status = adapters_go_on(&engine->adapters, engine->device, all, err);
  if (status < 0)
    b->merge = MERGE_NONE;
  if (status)
    return status < 0 ? -1 : 0;
  adapters_made(&engine->adapters, engine->device);
  b->merge = MERGE_MADE;
  return start_prompts(engine, err);
}

/* --- slices --- */

static int do_slice(struct engine *engine, bool all, struct error *err) {
  struct beside *b = &engine->beside;
  int status = b->first < b->count ? do_job(engine, err) : b->merge == MERGE_MAKING ? do_merge(engine, all, err) : 0;
  if (status == 0 && b->merge == MERGE_MADE && b->first == b->count) {
    adapters_show(&engine->adapters, engine->device);
    b->merge = MERGE_NONE;
  }
  return status;
}

/* A failure is told by the call after. */
void beside_after_frame(struct engine *engine) {
  struct beside *b = &engine->beside;
  if (is_busy(b) && !b->failed && do_slice(engine, false, &b->err) < 0)
    b->failed = true;
}

static int tell_failure(struct beside *b, struct error *err) {
  if (!b->failed)
    return 0;
  b->failed = false;
  if (err)
    *err = b->err;
  return -1;
}

int beside_finish(struct engine *engine, struct error *err) {
  struct beside *b = &engine->beside;
  if (tell_failure(b, err) < 0)
    return -1;
  while (is_busy(b))
    if (do_slice(engine, true, err) < 0)
      return -1;
  return 0;
}

void beside_free(struct engine *engine) {
  free(engine->beside.jobs);
  engine->beside = (struct beside){.smooth = engine->beside.smooth};
}

int engine_go_on(struct engine *engine, struct error *err) {
  struct beside *b = &engine->beside;
  if (tell_failure(b, err) < 0)
    return -1;
  if (!is_busy(b))
    return 0;
  if (do_slice(engine, false, err) < 0 || (engine->in_flight == 0 && device_settle(engine->device, err) < 0))
    return -1;
  return is_busy(b);
}

bool engine_is_busy(const struct engine *engine) {
  return is_busy(&engine->beside);
}

bool engine_is_behind(const struct engine *engine) {
  return engine->beside.behind;
}

/* --- frames --- */

/* The run's slots become places of keys and values, and the frame's are those from now on. */
static int place(struct engine *engine, int rows, int chunks, struct run_params *run, struct error *err) {
  struct run_params slots = *run;
  if (prompts_place(engine, rows, chunks, run, err) < 0)
    return -1;
  prompts_show(engine, rows, chunks, &slots, run);
  return 0;
}

/* Everything that the controls ask for, now. */
static int fill_at_once(struct engine *engine, struct prepared *prepared, const struct controls *controls,
                        struct run_params *run, struct error *err) {
  int rows = prepared->shape.rows.first;
  if (engine_weigh(engine, controls->adapter, err) < 0)
    return -1;
  frames_fill_guidance(engine, &prepared->shape, controls, run);
  if (prompts_refresh(engine, rows, run, err) < 0 || sampling_times(engine, prepared, run, err) < 0)
    return -1;
  return place(engine, rows, prepared->shape.chunks, run, err) < 0 ? -1 : 1;
}

static int finish_and_fill(struct engine *engine, struct prepared *prepared, const struct controls *controls,
                           struct run_params *run, struct error *err) {
  struct beside *b = &engine->beside;
  if (beside_finish(engine, err) < 0)
    return -1;
  b->at_once = true;
  int status = fill_at_once(engine, prepared, controls, run, err);
  b->at_once = false;
  return status;
}

static int begin_merge(struct engine *engine, const struct prepared *prepared, const struct controls *controls,
                       struct error *err) {
  struct beside *b = &engine->beside;
  if (adapters_begin(&engine->adapters, engine->device, controls->adapter, err) < 0)
    return -1;
  b->merge = MERGE_MAKING;
  b->wanted = *controls;
  b->wanted_shape = prepared->shape;
  return 0;
}

/* The prompts that the controls ask for: 1, or 0 where they are yet to be made, which is begun. */
static int fill_prompts(struct engine *engine, struct prepared *prepared, const struct controls *controls,
                        struct run_params *run, struct error *err) {
  int rows = prepared->shape.rows.first;
  frames_fill_guidance(engine, &prepared->shape, controls, run);
  if (prompts_refresh(engine, rows, run, err) < 0)
    return -1;
  struct run_params slots = *run;
  if (prompts_place(engine, rows, prepared->shape.chunks, run, err) < 0)
    return -1;
  if (prompts_await(engine, rows, prepared->shape.chunks, &slots, run))
    return 0;
  prompts_show(engine, rows, prepared->shape.chunks, &slots, run);
  return sampling_times(engine, prepared, &slots, err) < 0 ? -1 : 1;
}

/* Prompts as the frame before shows them. 0: that is not possible. */
static int fill_as_before(struct engine *engine, struct prepared *prepared, const struct controls *controls,
                          struct run_params *run, struct error *err) {
  const struct shown *shown = &engine->beside.shown;
  if (!shown->known || shown->rows < prepared->shape.rows.first || shown->chunks != prepared->shape.chunks)
    return 0;
  frames_fill_guidance(engine, &prepared->shape, controls, run);
  memcpy(run->prompt, shown->prompt, sizeof run->prompt);
  return sampling_times_before(engine, prepared, run, err);
}

/* Whether a change of adapters can wait: it is made beside frames, or there is none. */
static bool can_wait(const struct engine *engine, bool same_adapters) {
  return same_adapters || engine->adapters.two_sets;
}

enum { JOBS_AHEAD = 8 }; /* more wait for those to end, lest they grow with every frame */

/* Begins what the controls ask for and is not there, other adapters when nothing else is left to do. 1: it is there. */
static int fill_or_begin(struct engine *engine, struct prepared *prepared, const struct controls *controls,
                         bool same_adapters, struct run_params *run, struct error *err) {
  const struct beside *b = &engine->beside;
  if (!same_adapters)
    return is_busy(b) ? 0 : begin_merge(engine, prepared, controls, err);
  if (b->merge != MERGE_NONE || b->count - b->first >= JOBS_AHEAD || b->shown.rows < prepared->shape.rows.first ||
      b->shown.chunks != prepared->shape.chunks)
    return 0;
  return fill_prompts(engine, prepared, controls, run, err);
}

int beside_fill(struct engine *engine, struct prepared *prepared, const struct controls *controls,
                struct run_params *run, struct error *err) {
  struct beside *b = &engine->beside;
  if (tell_failure(b, err) < 0)
    return -1;
  if (!b->smooth)
    return fill_at_once(engine, prepared, controls, run, err);
  bool same_adapters = adapters_are(&engine->adapters, engine->device, controls->adapter);
  if (!b->shown.known || (!is_busy(b) && !can_wait(engine, same_adapters)))
    return finish_and_fill(engine, prepared, controls, run, err);
  int filled = fill_or_begin(engine, prepared, controls, same_adapters, run, err);
  if (filled)
    return filled;
  filled = fill_as_before(engine, prepared, controls, run, err);
  if (filled)
    return filled < 0 ? -1 : 0;
  return finish_and_fill(engine, prepared, controls, run, err);
}
