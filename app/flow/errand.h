/* Work on a thread of its own, one piece at a time, which another thread looks after without waiting. All functions are
 * called from that other one. */
#ifndef APP_FLOW_ERRAND_H
#define APP_FLOW_ERRAND_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "unet/base/error.h"

/* Zero-initialise to start. */
struct errand {
  pthread_t thread;
  bool busy; /* the thread is there */
  atomic_bool done;
  void (*work)(void *opaque);
  void *opaque;
};

/* Only while it is not busy. -1: there can be no thread for what it does ("prepares"). */
int errand_start(struct errand *errand, void (*work)(void *opaque), void *opaque, const char *does, struct error *err);
/* Whether there is work, and it is done. */
bool errand_is_done(const struct errand *errand);
/* Waits where there is work. */
void errand_join(struct errand *errand);

#endif
