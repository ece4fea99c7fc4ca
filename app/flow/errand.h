/* An errand is a piece of work that runs once on a thread of its own, such as opening a model. The owner's thread
 * starts the errand and asks if it is finished, without waiting; all functions are called on the owner's thread. A
 * struct errand runs one piece of work at a time. */
#ifndef APP_FLOW_ERRAND_H
#define APP_FLOW_ERRAND_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "unet/base/error.h"

/* The state of an errand (work on a thread of its own). Initialise with zeros. */
struct errand {
  pthread_t thread;
  bool busy; /* true: a thread was started and not joined yet */
  enum { ERRAND_WORKS, ERRAND_DONE, ERRAND_LEFT } _Atomic state;
  void (*work)(void *opaque);
  /* called once when the work is finished, if errand_leave was called; frees what the work uses */
  void (*end)(void *opaque);
  void *opaque;
};

/* Starts work(opaque) on a new thread. Only allowed if no work is running. Returns 0, or -1 with err if no thread can
 * be started; `does` completes the sentence "the thread that ..." in the message. */
int errand_start(struct errand *errand, void (*work)(void *opaque), void *opaque, const char *does, struct error *err);
/* True if work was started and is finished; the caller must still call errand_join. */
bool errand_is_done(const struct errand *errand);
/* Waits until the work is finished and ends its thread; `busy` is false afterwards. Does nothing if no work was
 * started. */
void errand_join(struct errand *errand);
/* Waits at most most_ns nanoseconds for the work. After that its thread continues on its own. When the work is
 * finished, end(opaque) is called once, on this thread or on the work's; it frees all that the work uses, perhaps
 * including the errand. Only allowed while busy. */
void errand_leave(struct errand *errand, int64_t most_ns, void (*end)(void *opaque));

#endif
