/* The handles that one engine has prepared (a handle is an engine made ready for one size, sampler and number of
 * steps): the one in use, and others that are kept so that changing to them takes no time. A background thread prepares
 * and releases handles while frames continue. Only the thread that submits frames calls these functions. */
#ifndef APP_RUN_HANDLES_H
#define APP_RUN_HANDLES_H

#include "app/control/settings.h"
#include "app/run/preparer.h"

/* largest number of handles (prepared sizes and step counts) that are kept; while a new handle replaces another one,
 * there may be one more */
enum { HANDLES_MAX = 4 };

struct handle {
  struct prepared *prepared;
  struct engine_shape shape;
  /* number of runs that must have been collected from the engine before the handle (prepared size and step count) may
   * be released, because frames that were submitted with it may be in flight until then */
  long until;
  /* true: this handle must not be used again, because its stream batch still has unfinished frames of its earlier
   * use */
  bool stale;
};

/* The list of the handles (prepared sizes and step counts) of one engine. Zero-initialise to start. */
struct handles {
  struct preparer preparer;
  struct handle at[HANDLES_MAX + 2];
  /* count: number of handles (prepared sizes and step counts) in `at`; used: index of the one in use */
  int count, used;
  struct engine_shape refused[HANDLES_MAX];
  int refusals;
};

/* Properties by which the shapes of two handles can differ; a change of any makes it necessary to prepare another
 * handle. Those that the user sets directly come before those that follow from them. */
enum shape_property {
  SHAPE_SIZE,
  SHAPE_SAMPLER,
  SHAPE_CONTROLS,
  SHAPE_BANK_ROOM,
  SHAPE_BANK_LAYERS,
  SHAPE_STEPS,
  SHAPE_STREAM_BATCH,
  SHAPE_CARRIED,
  SHAPE_FEEDBACK,
  SHAPE_CANVAS,
  SHAPE_GUIDANCE,
  SHAPE_CHUNKS
};
/* Returns the first property in which the wanted shape differs from the present one. Moving noise (SHAPE_CARRIED) and
 * feedback (SHAPE_FEEDBACK) count only if the wanted shape has them and the present one does not, because a handle with
 * them also works without. Returns SHAPE_CHUNKS if only the length of the prompts differs, or nothing does. */
enum shape_property handles_first_difference(const struct engine_shape *wish, const struct engine_shape *now);

/* Empties the list, and adds `first`, which this engine has prepared, as the handle in use. Handles of the previous
 * engine are not released, because closing an engine frees them. No preparation may be running. */
void handles_begin(struct handles *handles, struct engine *engine, struct prepared *first);
/* Returns the handle (prepared size and step count) in use, which the engine owns. */
struct prepared *handles_used(const struct handles *handles);

/* Returns the index in handles->at of a prepared handle of this shape (size, step count and so on); -1: there is
 * none. */
int handles_find(const struct handles *handles, const struct engine_shape *shape);
/* From now on, uses the handle (prepared size and step count) at index `place`. submitted: total number of runs
 * submitted to the engine so far; the former handle is released only when all of these are collected. */
void handles_use(struct handles *handles, int place, long submitted);
/* Returns true if preparing a handle of this shape (size, step count and so on) has failed since the last call of
 * handles_forget_refusals. */
bool handles_refused(const struct handles *handles, const struct engine_shape *shape);
/* Allows shapes (size, step count and so on) whose preparation has failed to be tried again. */
void handles_forget_refusals(struct handles *handles);

/* Adds the handle (prepared size and step count) that the background thread has prepared, if there is one. Returns 0,
 * or -1 with err if the preparation failed: *shape is then the failed shape, which handles_follow does not try
 * again. */
int handles_take(struct handles *handles, struct engine_shape *shape, struct error *err);
/* Starts at most one background task, and none while one runs. If a handle is neither in use nor wanted, the task
 * releases it once none of its frames is in flight. Otherwise it prepares the first wanted shape that has no handle and
 * was not refused. wanted: `count` shapes, most urgent first; if the handle in use is not among them, only the first is
 * prepared. collected: number of runs collected from the engine so far. Returns 0; or -1 with err, and the shape in
 * *shape, if no thread can be started. */
int handles_follow(struct handles *handles, const struct engine_shape *wanted, int count, long collected,
                   struct engine_shape *shape, struct error *err);

#endif
