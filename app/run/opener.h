/* Opens and closes engines on a thread of its own, one at a time, while another thread goes on with the engine it has.
 * All functions are called from that one thread. */
#ifndef APP_RUN_OPENER_H
#define APP_RUN_OPENER_H

#include "app/control/parameters.h"
#include "app/flow/errand.h"
#include "unet/engine.h"

/* What an engine and its first handle begin with. */
struct loop_beginning {
  struct parameters values;
  bool encoded[SLOTS]; /* slots that hold their text already; others are encoded when needed or when there is time */
};

/* An engine with its first handle. */
struct opened {
  struct engine *engine;
  struct prepared *prepared;
  struct loop_beginning beginning;
};

/* Opens an engine that suits beginning->values, which become its own. used: the engine beside which it is opened, as it
 * was when that was wished for; NULL: there is none. On failure there is no engine. */
typedef int open_engine(void *opaque, const struct engine_info *used, struct opened *opened, struct error *err);

/* Zero-initialise to start, but for open and opaque. */
struct opener {
  open_engine *open;
  void *opaque;
  struct errand errand;
  bool closes;
  struct parameters wish; /* asked for last */
  struct engine_info used;
  struct opened opened; /* made, or to be closed */
  int status;
  struct error err;
};

/* Both only while it is not busy; -1: there can be no thread. */
int opener_ask(struct opener *opener, const struct parameters *wish, const struct engine_info *used, struct error *err);
/* Nothing of the engine is in use. Stores NULL where it took the engine. */
int opener_close(struct opener *opener, struct engine **engine, struct error *err);

enum opener_news { OPENER_NOTHING, OPENER_OPENED, OPENER_REFUSED, OPENER_CLOSED };
/* Does not wait. OPENER_OPENED: *opened is what was asked for last, and the caller's; OPENER_REFUSED: err says why. */
enum opener_news opener_take(struct opener *opener, struct opened *opened, struct error *err);

/* Waits, and closes an engine that nobody took. */
void opener_end(struct opener *opener);

#endif
