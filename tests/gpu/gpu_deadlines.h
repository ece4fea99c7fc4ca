/* What gpu_deadlines.c and gpu_deadlines_handles.c share: an engine whose frames are timed. */
#ifndef TESTS_GPU_DEADLINES_H
#define TESTS_GPU_DEADLINES_H

#include "unet/engine.h"

enum { CHANGES = 200, WARM = 20, VALUES_MAX = WARM + CHANGES };
static const double period = 1.0 / 60; /* seconds from frame to frame */

struct run {
  struct engine *engine;
  struct prepared *prepared;
  struct controls controls;
  struct frame frame;
  uint8_t *pictures[VALUES_MAX]; /* the expected picture of each value of the control */
  struct error err;
};

struct change {
  const char *name;
  float guidance;
  void (*set)(struct run *run, int value); /* sets the control to value 0 or 1; of a walk, to this number of steps */
  int apart[2];                            /* frames between two changes: [0] at 60 a second, [1] at full rate */
  bool walks;                              /* true: each frame has another value */
};

/* Ends the program with the run's message if status is negative. */
void must(struct run *run, int status);
/* Adds a line to the list of what was missed. */
__attribute__((format(printf, 1, 2))) void miss(const char *format, ...);

/* Sets the controls as they are before a change. */
void begin(struct run *run, const struct change *change);
/* Calls begin, and then runs frames until background work is done and the picture is that of value 0. */
void settle(struct run *run, const struct change *change);

void submit(struct run *run);
struct engine_result collect(struct run *run);

/* Prepares other handles while frames run at 60 a second, starting from this change's controls; exact: an engine that
 * is not smooth, for comparison. Prints a table. */
void measure_handles(struct run *run, struct run *exact, const struct change *change);

#endif
