/* Opens and closes engines, one at a time, on a thread of its own, while the loop's thread uses another engine. Only
 * the loop's thread calls these functions. */
#ifndef APP_RUN_OPENER_H
#define APP_RUN_OPENER_H

#include "app/control/parameters.h"
#include "app/flow/errand.h"
#include "unet/engine.h"

/* The parameter values with which an engine and its first handle (struct prepared) are made. */
struct loop_beginning {
  struct parameters values;
  /* encoded[i]: true: slot i of the engine (storage for an encoded prompt) has its text already; the other texts are
   * encoded later */
  bool encoded[SLOTS];
};

/* An engine with its first handle (prepared size and step count). */
struct opened {
  struct engine *engine;
  struct prepared *prepared;
  struct loop_beginning beginning;
};

/* Opens an engine with the values in opened->beginning.values; in that struct, values that the engine cannot use are
 * changed. used: describes the engine that is in use meanwhile (a copy made when the new engine was requested); NULL:
 * there is none. Returns 0, or -1 with err and no engine. */
typedef int open_engine(void *opaque, const struct engine_info *used, struct opened *opened, struct error *err);

/* The task of opening or closing an engine on another thread. Zero-initialise to start, except for the fields `open`
 * and `opaque`, which the caller sets. */
struct opener {
  open_engine *open;
  void *opaque;
  struct errand errand;
  bool closes;
  struct parameters wish; /* parameter values with which an engine was requested last */
  struct engine_info used;
  struct opened opened; /* the engine that the background thread has opened, or that it is to close */
  int status;
  struct error err;
};

/* Starts opening an engine with these values. Only allowed while no task runs. Returns 0, or -1 with err if no thread
 * can be started. */
int opener_ask(struct opener *opener, const struct parameters *wish, const struct engine_info *used, struct error *err);
/* Starts closing an engine that nobody uses any more. Only allowed while no task runs. Returns 0 with NULL in *engine,
 * because the opener owns the engine from then on; or -1 with err if no thread can be started. */
int opener_close(struct opener *opener, struct engine **engine, struct error *err);

enum opener_news { OPENER_NOTHING, OPENER_OPENED, OPENER_REFUSED, OPENER_CLOSED };
/* Tells which task has finished since the last call; does not wait. OPENER_NOTHING: none. OPENER_OPENED: *opened is the
 * requested engine, which the caller owns now. OPENER_REFUSED: the engine could not be opened, and err says why.
 * OPENER_CLOSED: an engine was closed. */
enum opener_news opener_take(struct opener *opener, struct opened *opened, struct error *err);

/* Waits until the running task has ended, if there is one. If it has opened an engine, that engine is closed. */
void opener_end(struct opener *opener);

#endif
