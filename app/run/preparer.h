/* Prepares and releases handles of an engine (prepared sizes and step counts), one at a time, on a thread of its own,
 * while the engine's thread makes frames with another handle. Only the engine's thread calls these functions. */
#ifndef APP_RUN_PREPARER_H
#define APP_RUN_PREPARER_H

#include "app/flow/errand.h"
#include "unet/engine.h"

/* The task of preparing or releasing a handle (prepared size and step count) on another thread. Zero-initialise to
 * start, except for `engine`, which the caller sets. */
struct preparer {
  struct engine *engine;
  struct errand errand;
  struct engine_shape shape;
  /* the handle (prepared size and step count) that the task has prepared, or that it is to release */
  struct prepared *prepared;
  bool releases;
  int status;
  struct error err;
};

/* Starts to prepare a handle of this shape (size, step count and so on). Only allowed while no task runs. Returns 0, or
 * -1 with err if no thread can be started. */
int preparer_ask(struct preparer *preparer, const struct engine_shape *shape, struct error *err);
/* Starts to release a handle (prepared size and step count) that has no frame in flight. Only allowed while no task
 * runs. Returns 0 with NULL in *prepared, because the preparer owns the handle from then on; -1 with err if no thread
 * can be started. */
int preparer_release(struct preparer *preparer, struct prepared **prepared, struct error *err);
/* Takes the result of preparer_ask without waiting. Returns 1: *prepared is the requested handle (prepared size and
 * step count); -1: it could not be prepared, and err says why; 0: no task has ended, or the task was to release a
 * handle. */
int preparer_take(struct preparer *preparer, struct prepared **prepared, struct error *err);
/* Waits until the running task has ended. A handle (prepared size and step count) that was prepared but not taken is
 * freed when the engine is closed. */
void preparer_end(struct preparer *preparer);

#endif
