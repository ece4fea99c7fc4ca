/* Work on a thread of its own, one piece at a time, which another thread looks after without waiting. All functions are
 * called from that other one. */
#ifndef APP_FLOW_ERRAND_H
#define APP_FLOW_ERRAND_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "unet/base/error.h"

/* Zero-initialise to start. */
struct errand {
  pthread_t thread;
  bool busy; /* the thread is there */
  enum { ERRAND_WORKS, ERRAND_DONE, ERRAND_LEFT } _Atomic state;
  void (*work)(void *opaque);
  void (*end)(void *opaque); /* of one that was left */
  void *opaque;
};

/* Only while it is not busy. -1: there can be no thread for what it does ("prepares"). */
int errand_start(struct errand *errand, void (*work)(void *opaque), void *opaque, const char *does, struct error *err);
/* Whether there is work, and it is done. */
bool errand_is_done(const struct errand *errand);
/* Waits where there is work. */
void errand_join(struct errand *errand);
/* Waits so long at most. Where the work is not done then, its thread is left alone with it. `end`, which gets what the
 * work gets, is called once when that is done, here or by the thread: it frees all that the work uses, which may be the
 * errand, too. Only while it is busy. */
void errand_leave(struct errand *errand, int64_t most_ns, void (*end)(void *opaque));

#endif
