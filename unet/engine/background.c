/* The background work of a smooth engine (engine_params.smooth): encoding texts, computing keys and values, and
 * changing the weights for adapters. Each submission of a frame starts one slice of it after the frame, on the thread
 * that submits. Runs of programs wait in a list of jobs. A change of weights begins when no job is left. When it is
 * complete, the texts are encoded again with the new weights, as new jobs. */
#include <stdlib.h>

#include "unet/engine/engine_impl.h"

bool background_are_due(const struct background *b) {
  return b->first < b->count || b->merge != MERGE_NONE;
}

/* --- the list of background jobs; each is a run of a program that encodes a text or computes keys and values --- */

/* number of ops that a slice runs between two frames; so many ops of a text encoder take 0.2 ms on an H200 */
enum { PART_OPS = 16 };

int background_prepare(struct engine *engine, struct program **program, const struct plan *plan, struct error *err) {
  struct program_options options = {.output = engine->output};
  if (engine->background.smooth)
    options.parts = (plan->op_count + PART_OPS - 1) / PART_OPS;
  adapters_mark(&engine->adapters, &engine->resources);
  return device_prepare(engine->device, program, plan, &options, err);
}

static int add_job(struct background *b, struct program *program, const struct run_params *run, struct error *err) {
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

int background_start(struct engine *engine, struct program *program, const struct run_params *run, struct error *err) {
  struct background *b = &engine->background;
  if (b->smooth && b->shown.known && !b->at_once)
    return add_job(b, program, run, err);
  return background_finish(engine, err) < 0 ? -1 : device_start(engine->device, program, run, err);
}

/* Starts the next part of the oldest background job (a run of a program). If it is the job's last part, the job is
 * removed from the list. */
static int do_job(struct engine *engine, struct error *err) {
  struct background *b = &engine->background;
  const struct job *job = &b->jobs[b->first];
  int status = device_start_part(engine->device, job->program, &job->run, b->merge == MERGE_MADE, err);
  if (status == 0 && ++b->first == b->count)
    b->first = b->count = 0;
  return status < 0 ? -1 : 0;
}

/* --- changing weights for adapters in the background --- */

static int do_merge(struct engine *engine, bool all, struct error *err) {
  struct background *b = &engine->background;
  if (b->merge == MERGE_ASKED && adapters_begin(&engine->adapters, engine->device, b->wanted.adapter, err) < 0) {
    b->merge = MERGE_NONE;
    return -1;
  }
  b->merge = MERGE_MAKING;
  int status = adapters_go_on(&engine->adapters, engine->device, all, err);
  if (status < 0)
    b->merge = MERGE_NONE;
  if (status)
    return status < 0 ? -1 : 0;
  adapters_made(&engine->adapters, engine->device);
  b->merge = MERGE_MADE;
  return b->after_merge(engine, err);
}

/* --- doing the background work (texts, keys and values, weights) in slices between frames --- */

static int do_slice(struct engine *engine, bool all, struct error *err) {
  struct background *b = &engine->background;
  bool merging = b->merge == MERGE_ASKED || b->merge == MERGE_MAKING;
  int status = b->first < b->count ? do_job(engine, err) : merging ? do_merge(engine, all, err) : 0;
  if (status == 0 && b->merge == MERGE_MADE && b->first == b->count) {
    adapters_show(&engine->adapters, engine->device);
    /* the next frame may ask for further weights already, and then shows the prompts that belong to these */
    b->shown = b->shown_next;
    b->merge = MERGE_NONE;
  }
  return status;
}

void background_after_frame(struct engine *engine) {
  struct background *b = &engine->background;
  if (background_are_due(b) && !b->failed && do_slice(engine, false, &b->err) < 0)
    b->failed = true;
}

int background_tell_failure(struct background *b, struct error *err) {
  if (!b->failed)
    return 0;
  b->failed = false;
  if (err)
    *err = b->err;
  return -1;
}

int background_finish(struct engine *engine, struct error *err) {
  struct background *b = &engine->background;
  if (background_tell_failure(b, err) < 0)
    return -1;
  while (background_are_due(b))
    if (do_slice(engine, true, err) < 0)
      return -1;
  return 0;
}

void background_free(struct engine *engine) {
  free(engine->background.jobs);
  engine->background = (struct background){.smooth = engine->background.smooth};
}

int engine_go_on(struct engine *engine, struct error *err) {
  struct background *b = &engine->background;
  if (background_tell_failure(b, err) < 0)
    return -1;
  if (!background_are_due(b))
    return 0;
  if (do_slice(engine, false, err) < 0 || (engine->unfinished == 0 && device_settle(engine->device, err) < 0))
    return -1;
  return background_are_due(b);
}

bool engine_is_busy(const struct engine *engine) {
  return background_are_due(&engine->background);
}

bool engine_is_behind(const struct engine *engine) {
  return engine->background.behind;
}
