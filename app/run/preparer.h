/* Prepares and releases handles, one at a time, on a thread of its own, while the calling thread uses another handle.
 * All functions are called on that one thread. */
#ifndef APP_RUN_PREPARER_H
#define APP_RUN_PREPARER_H

#include "app/flow/errand.h"
#include "unet/engine.h"

/* Zero-initialise to start, except for the engine. */
struct preparer {
  struct engine *engine;
  struct errand errand;
  struct engine_shape shape;
  struct prepared *prepared; /* the result, or the handle to be released */
  bool releases;
  int status;
  struct error err;
};

/* Starts preparing a handle. Only allowed while not busy. -1: no thread can be started. */
int preparer_ask(struct preparer *preparer, const struct engine_shape *shape, struct error *err);
/* Starts releasing a handle of which no frame is in flight. Only allowed while not busy. Takes it over and stores NULL,
 * or returns -1: no thread can be started. */
int preparer_release(struct preparer *preparer, struct prepared **prepared, struct error *err);
/* Takes the result without waiting. 1: *prepared is the requested handle; -1: it was refused, and err says why; 0:
 * there is no result. */
int preparer_take(struct preparer *preparer, struct prepared **prepared, struct error *err);
/* Waits for the task. A handle that was not taken is freed with its engine. */
void preparer_end(struct preparer *preparer);

#endif
