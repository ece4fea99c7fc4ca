/* Decides how long a frame may take before its engine counts as hanging. The limit depends on the handle that makes the
 * frame and not on the handle before, because a larger size or another model takes longer. */
#ifndef APP_RUN_PATIENCE_H
#define APP_RUN_PATIENCE_H

#include <stdbool.h>

/* Frame times of one handle, from which the limits follow. Zeros: no frame was made yet. */
struct frame_pace {
  double frame_ms; /* smoothed frame time; 0: the handle has made no frame yet */
  double flops;    /* number of floating-point operations of one frame */
  /* true: the device is a GPU, which works without the processor; false: the processor computes */
  bool by_itself;
};

/* Users are told that a frame takes long after this many ms at the earliest. */
enum { PATIENCE_LEAST_MS = 1000 };

/* Records how long a frame of this handle took. */
void patience_note(struct frame_pace *pace, double frame_ms);

/* Returns after how many ms the engine counts as hanging: four frame times, but at least a second; for the handle's
 * first frame a second and the time that a very slow machine would need for it. */
double patience_to_tell_ms(const struct frame_pace *pace);

/* Returns after how many ms a hanging engine is given up: ten times patience_to_tell_ms. */
double patience_to_leave_ms(const struct frame_pace *pace);

#endif
