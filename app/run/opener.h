/* Opens and closes engines, one at a time, on a thread of its own, while the calling thread uses another engine. All
 * functions are called on that one thread. */
#ifndef APP_RUN_OPENER_H
#define APP_RUN_OPENER_H

#include "app/control/parameters.h"
#include "app/flow/errand.h"
#include "unet/engine.h"

/* The values with which an engine and its first handle begin. */
struct loop_beginning {
  struct parameters values;
  /* slots that hold their text already; the others are encoded when they are needed or when there is time */
  bool encoded[SLOTS];
};

/* An engine with its first handle. */
struct opened {
  struct engine *engine;
  struct prepared *prepared;
  struct loop_beginning beginning;
};

/* Opens an engine with beginning->values, and changes those to the values that it got. used: info of the engine that is
 * in use meanwhile, as of the request; NULL: there is none. On failure there is no engine. */
typedef int open_engine(void *opaque, const struct engine_info *used, struct opened *opened, struct error *err);

/* Zero-initialise to start, except for open and opaque. */
struct opener {
  open_engine *open;
  void *opaque;
  struct errand errand;
  bool closes;
  struct parameters wish; /* values requested last */
  struct engine_info used;
  struct opened opened; /* the result, or the engine to be closed */
  int status;
  struct error err;
};

/* Starts opening an engine. Only allowed while not busy. -1: no thread can be started. */
int opener_ask(struct opener *opener, const struct parameters *wish, const struct engine_info *used, struct error *err);
/* Starts closing an engine of which nothing is in use. Only allowed while not busy. Takes it over and stores NULL, or
 * returns -1: no thread can be started. */
int opener_close(struct opener *opener, struct engine **engine, struct error *err);

enum opener_news { OPENER_NOTHING, OPENER_OPENED, OPENER_REFUSED, OPENER_CLOSED };
/* Returns the result of a finished task; does not wait. OPENER_OPENED: *opened is the requested engine, and belongs to
 * the caller. OPENER_REFUSED: err says why. */
enum opener_news opener_take(struct opener *opener, struct opened *opened, struct error *err);

/* Waits for the task, and closes an engine that was not taken. */
void opener_end(struct opener *opener);

#endif
