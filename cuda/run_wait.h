/* Waits for the end of a run: the thread sleeps until shortly before the expected end, then it naps and asks. On a
 * virtual machine with an H200 a thread wakes 20 to 270 us late from a sleep of 3 ms, and uses a processor for 12 us;
 * from less than 1 ms, 4 to 50 us late, for 4 us. Waking by the driver takes 150 to 700 us, and asking all the time
 * uses a whole processor.
 *
 * A run that writes its end to memory can be asked at next to no cost, so the last microseconds are spent polling: a
 * nap would cost as much, and end late.
 *
 * Runs of unexpected lengths, first runs, and runs that another program delays are asked less and less often, so that
 * they cost little as well. */
#ifndef CUDA_RUN_WAIT_H
#define CUDA_RUN_WAIT_H

#include <stdbool.h>
#include <stdint.h>

enum { DURATIONS = 8, DELAYS = 64 };

/* Times of one program's last runs, in rings of which count and delays are the numbers of values written so far:
 * recent_ns are durations on the device, delays_ns the times from submission to beginning, in which the device may have
 * been busy with an earlier run or with OpenGL. */
struct durations {
  int64_t recent_ns[DURATIONS], delays_ns[DELAYS];
  unsigned count, delays;
};

/* State of a thread that waits for one run after the other. Zeroed at first. */
struct waiter {
  int64_t ended_ns;  /* approximate end of the last run, by wait_world.now_ns as are all times here */
  int64_t margin_ns; /* the thread is woken this long before the expected end; 0 before the first wait */
  int64_t begun_ns;  /* approximate beginning of the run that was waited for */
  int64_t seen_ns;   /* time at which the thread saw the end */
  bool saw;          /* true: the thread was awake when the run ended */
  /* True: it had then been awake for at most 0.12 ms, in which naps are short, so that seen_ns is nearly the end. */
  bool at_once;
};

/* The clock, the sleep and the test for a run's end that a wait uses; tests replace them. */
struct wait_world {
  int64_t (*now_ns)(void *opaque);
  void (*sleep_until)(void *opaque, int64_t ns);
  int (*ended)(void *opaque); /* 1: the run has ended; 0: not yet; -1: it never will */
  bool looks;                 /* true: `ended` only reads memory, so that it may be called all the time */
  void *opaque;
};

/* Waits for a run that was submitted at submitted_ns. Returns 1 when it has ended, or -1 if `ended` returned -1. */
int wait_for_run(struct waiter *waiter, const struct durations *durations, int64_t submitted_ns,
                 const struct wait_world *world);
/* Corrects the expectations of later waits after wait_for_run has returned. took_ns: the run's duration by the device's
 * clock, without the delay before it began. */
void wait_learn(struct waiter *waiter, struct durations *durations, int64_t took_ns);

#endif
