/* Prepares and releases handles on a thread of its own, one at a time, while the engine's thread goes on with the
 * handle it has. All functions are called from that one thread. */
#ifndef APP_RUN_PREPARER_H
#define APP_RUN_PREPARER_H

#include "app/flow/errand.h"
#include "unet/engine.h"

/* Zero-initialise to start, but for the engine. */
struct preparer {
  struct engine *engine;
  struct errand errand;
  struct engine_shape shape;
  struct prepared *prepared; /* made, or to be released */
  bool releases;
  int status;
  struct error err;
};

/* Both only while it is not busy; -1: there can be no thread. */
int preparer_ask(struct preparer *preparer, const struct engine_shape *shape, struct error *err);
/* No frame of the handle is in flight. Stores NULL where it took the handle. */
int preparer_release(struct preparer *preparer, struct prepared **prepared, struct error *err);
/* 1: *prepared is what was asked for last; -1: it was refused, and err says why; 0: nothing new. Does not wait. */
int preparer_take(struct preparer *preparer, struct prepared **prepared, struct error *err);
/* Waits. A handle that nobody took is the engine's, as all are. */
void preparer_end(struct preparer *preparer);

#endif
