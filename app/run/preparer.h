/* Prepares and releases an engine's handles, one at a time, on a thread of its own, while the engine's thread makes
 * frames with another handle. Only the engine's thread calls these functions. */
#ifndef APP_RUN_PREPARER_H
#define APP_RUN_PREPARER_H

#include "app/flow/errand.h"
#include "unet/engine.h"

/* Zero-initialise to start, except for engine, which the caller sets. */
struct preparer {
  struct engine *engine;
  struct errand errand;
  struct engine_shape shape;
  struct prepared *prepared; /* the handle that was prepared, or that is to be released */
  bool releases;
  int status;
  struct error err;
};

/* Starts preparing a handle of this shape. Only allowed while no task runs. Returns 0, or -1 with err if no thread can
 * be started. */
int preparer_ask(struct preparer *preparer, const struct engine_shape *shape, struct error *err);
/* Starts releasing a handle that has no frame in flight. Only allowed while no task runs. On success it takes over the
 * handle, stores NULL in *prepared and returns 0; -1 with err: no thread can be started. */
int preparer_release(struct preparer *preparer, struct prepared **prepared, struct error *err);
/* Returns the result of preparer_ask without waiting. 1: *prepared is the requested handle; -1: it could not be
 * prepared, and err says why; 0: there is no result yet. */
int preparer_take(struct preparer *preparer, struct prepared **prepared, struct error *err);
/* Waits until the running task has ended. A handle that was prepared but not taken is freed when the engine is
 * closed. */
void preparer_end(struct preparer *preparer);

#endif
