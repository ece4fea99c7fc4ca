/* How a thread waits for the end of a run: it sleeps until shortly before the moment at which that is to be expected,
 * then naps and asks. On a virtual machine with an H200 a thread wakes 20 to 270 us late from 3 ms, and uses a
 * processor for 12 us; from less than 1 ms 4 to 50 us late, for 4 us. Waking by the driver takes 150 to 700 us, and
 * asking all the time takes a processor.
 *
 * To ask of a run that tells its end in memory costs next to nothing, so that the last microseconds are spent looking:
 * a nap would cost as much, and end late.
 *
 * Runs of other lengths than before, first ones, and those that another program on the GPU holds up are asked for ever
 * more rarely, so that they cost little as well. */
#ifndef CUDA_RUN_WAIT_H
#define CUDA_RUN_WAIT_H

#include <stdbool.h>
#include <stdint.h>

enum { DURATIONS = 8, DELAYS = 64 };

/* Of one program's runs: how long they took, and how long after they were submitted they began. A run before them, or
 * OpenGL, may have had the device then. */
struct durations {
  int64_t recent_ns[DURATIONS], delays_ns[DELAYS];
  unsigned count, delays;
};

/* Of runs that end one after the other. Zero-initialise to start. */
struct waiter {
  int64_t ended_ns;  /* about when the last one ended */
  int64_t margin_ns; /* it is woken so much before the expected moment */
  int64_t begun_ns;  /* of the run that was waited for, about */
  int64_t seen_ns;   /* when the thread saw that it had ended */
  bool saw;          /* it was there before */
  bool at_once;      /* and saw it right after it ended */
};

/* What a wait needs of the world. */
struct wait_world {
  int64_t (*now_ns)(void *opaque);
  void (*sleep_until)(void *opaque, int64_t ns);
  int (*ended)(void *opaque); /* 1: it has; 0: not yet; -1: it never will */
  bool looks;                 /* ended takes no time worth mentioning */
  void *opaque;
};

/* Returns 1, or -1 where that is what the world says. */
int wait_for_run(struct waiter *waiter, const struct durations *durations, int64_t submitted_ns,
                 const struct wait_world *world);
/* How long that run took, by the device's clock, which does not know since when it could have begun. */
void wait_learn(struct waiter *waiter, struct durations *durations, int64_t took_ns);

#endif
