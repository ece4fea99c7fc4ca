/* Waits for the end of a run. The thread sleeps until shortly before the expected end. Then it asks again and again if
 * the run has ended, with short sleeps in between. On a virtual machine with an H200, a sleep of 3 ms ends 20 to 270 us
 * late and takes 12 us of a processor; a sleep of less than 1 ms ends 4 to 50 us late and takes 4 us. Other methods are
 * worse: the driver's own wait ends 150 to 700 us late, and asking all the time keeps a processor busy.
 *
 * If the GPU writes to memory that the run has ended, asking takes next to no time. So in the last microseconds the
 * thread asks without pause: a short sleep would take as much of the processor, and end late.
 *
 * Some runs take longer than expected (first runs, or runs that another program delays). The thread then asks less and
 * less often, so that waiting for them takes little time of the processor. */
#ifndef CUDA_RUN_WAIT_H
#define CUDA_RUN_WAIT_H

#include <stdbool.h>
#include <stdint.h>

enum { DURATIONS = 8, DELAYS = 64 };

/* Times of a program's last runs, in nanoseconds, in two ring buffers. recent_ns: durations on the device; delays_ns:
 * times from submission to beginning, in which the device may have been busy with an earlier run or with OpenGL. count,
 * delays: how many values were written to each of them so far. */
struct durations {
  int64_t recent_ns[DURATIONS], delays_ns[DELAYS];
  unsigned count, delays;
};

/* What a thread knows about the runs for which it waits, one after the other. Zeroed before the first wait. */
struct waiter {
  int64_t ended_ns;  /* estimated end of the last run, as a time of wait_world.now_ns, like all times in this struct */
  int64_t margin_ns; /* how long before the expected end of a run the thread wakes; 0 before the first wait */
  int64_t begun_ns;  /* estimated time at which the run that was waited for began */
  int64_t seen_ns;   /* time at which the thread saw that the run had ended */
  /* last time at which the thread saw that the run had not ended; 0: the run had ended when it first asked */
  int64_t under_way_ns;
  /* true: the thread was awake, and polling, when the run ended; false: the run had ended before the thread woke */
  bool saw;
  /* true: the run ended within 0.12 ms after the thread woke. During that time the thread asks at short intervals, so
   * seen_ns is nearly the time of the end. */
  bool at_once;
};

/* The clock, the sleep, and the test for a run's end, with which a thread waits. Tests of this code replace them. */
struct wait_world {
  int64_t (*now_ns)(void *opaque);
  void (*sleep_until)(void *opaque, int64_t ns);
  int (*ended)(void *opaque); /* returns 1 if the run has ended, 0 if not yet, -1 if it never will */
  bool looks; /* true: `ended` only reads memory, so it may be called without a pause; false: it calls CUDA */
  void *opaque;
};

/* Waits for a run that was submitted at submitted_ns. Returns 1 when it has ended, or -1 if `ended` returned -1. */
int wait_for_run(struct waiter *waiter, const struct durations *durations, int64_t submitted_ns,
                 const struct wait_world *world);
/* Updates what is expected of later runs, after wait_for_run has returned 1. took_ns: the run's duration by the
 * device's clock, without the delay before it began. */
void wait_learn(struct waiter *waiter, struct durations *durations, int64_t took_ns);

#endif
