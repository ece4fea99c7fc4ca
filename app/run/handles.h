/* The list of the handles that one engine has prepared (a handle is an engine made ready for one size, sampler and
 * number of steps): the handle in use, and others that are kept so that a change to them takes no time. A background
 * thread prepares and releases handles while frames continue. Only the thread that submits frames calls these
 * functions. */
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
  /* true: this handle (prepared size and step count) must not be used again, because its stream batch still has frames
   * of its earlier use, whose steps are not all done */
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
/* Returns the first property in which the wanted shape differs from the shape in use. Noise that moves with the picture
 * (SHAPE_CARRIED) and feedback (SHAPE_FEEDBACK) count as different only if the wanted shape has them, because a handle
 * that has them can also work without them. SHAPE_CHUNKS is returned if only the length of the prompts differs, and
 * also if nothing does. */
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

/* Adds the handle (prepared size and step count) that the background thread has made ready, if there is one. Returns 0,
 * or -1 with err if the preparation failed: *shape is then the shape concerned, which handles_follow does not try
 * again. */
int handles_take(struct handles *handles, struct engine_shape *shape, struct error *err);
/* Starts at most one background task, and none while an earlier task runs. If there is a handle that is neither in use
 * nor wanted, the task releases that handle, as soon as none of its frames is in flight. Otherwise it prepares the
 * first wanted shape that has no handle and was not refused. wanted: `count` shapes, the most urgent first; if the
 * handle in use is not among them, only the first is prepared. collected: number of runs collected from the engine so
 * far. Returns 0; or -1 with err, and the shape concerned in *shape, if no thread for the preparation can be
 * started. */
int handles_follow(struct handles *handles, const struct engine_shape *wanted, int count, long collected,
                   struct engine_shape *shape, struct error *err);

#endif
