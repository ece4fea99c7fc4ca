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
  uint8_t *pictures[VALUES_MAX]; /* of the control's values */
  struct error err;
};

struct change {
  const char *name;
  float guidance;
  void (*set)(struct run *run, int value); /* 0 or 1 */
  int apart[2];                            /* frames from one to the next: at 60 a second, at full rate */
  bool walks;                              /* to another value with each frame */
};

/* Ends the program with the run's message where status is negative. */
void must(struct run *run, int status);
/* Notes a line of what was missed. */
__attribute__((format(printf, 1, 2))) void miss(const char *format, ...);

/* The controls as they are before a change. */
void begin(struct run *run, const struct change *change);
/* And frames until everything is there, and the picture is that of the first value. */
void settle(struct run *run, const struct change *change);

void submit(struct run *run);
struct engine_result collect(struct run *run);

/* Other handles beside frames at 60 a second, with what this change begins with; exact: the same by an engine that is
 * not smooth. Prints a table. */
void measure_handles(struct run *run, struct run *exact, const struct change *change);

#endif
