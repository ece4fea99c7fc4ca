/* An errand is work that runs once on a thread of its own, such as opening a model. The owner's thread starts it and
 * asks if it is finished, without waiting; all functions are called on that thread. A struct errand runs one piece of
 * work at a time. */
#ifndef APP_FLOW_ERRAND_H
#define APP_FLOW_ERRAND_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "unet/base/error.h"

/* Initialise with zeros. */
struct errand {
  pthread_t thread;
  bool busy; /* a thread was started and was not joined yet */
  enum { ERRAND_WORKS, ERRAND_DONE, ERRAND_LEFT } _Atomic state;
  void (*work)(void *opaque);
  void (*end)(void *opaque); /* frees the work's data after errand_leave */
  void *opaque;
};

/* Starts work(opaque). Only allowed while not busy. `does` completes the error's sentence "the thread that ..." if no
 * thread can be started. Returns -1 then. */
int errand_start(struct errand *errand, void (*work)(void *opaque), void *opaque, const char *does, struct error *err);
/* True if work was started and is finished; errand_join is still to be called. */
bool errand_is_done(const struct errand *errand);
/* Waits until the work is finished and ends its thread; busy is false afterwards. Does nothing if no work was
 * started. */
void errand_join(struct errand *errand);
/* Waits at most most_ns for the work. If it is not finished by then, its thread continues without an owner. Either way
 * end(opaque) is called once when the work is finished, on this thread or on the work's: it frees everything that the
 * work uses, which may include the errand itself. Only allowed while busy. */
void errand_leave(struct errand *errand, int64_t most_ns, void (*end)(void *opaque));

#endif
