/* Decides how long a frame may take before its engine counts as hanging. The limit depends on the handle of the frame,
 * never on the one before: a larger size or another model takes longer. */
#ifndef APP_RUN_PATIENCE_H
#define APP_RUN_PATIENCE_H

#include <stdbool.h>

/* Frame times of a handle. */
struct frame_pace {
  double frame_ms; /* smoothed time of its frames; 0: it has made none */
  double flops;    /* operations of one frame */
  bool by_itself;  /* the device runs by itself, as a GPU does; otherwise the processor does the work */
};

/* Least time after which users may be told that a frame takes long, if only because it is the handle's first. */
enum { PATIENCE_LEAST_MS = 1000 };

/* Records the time of a frame. */
void patience_note(struct frame_pace *pace, double frame_ms);

/* Returns after how many milliseconds the engine counts as hanging: a second, or four frame times of a slow handle; for
 * a first frame, additionally the time that its operations would take on a very slow machine. */
double patience_to_tell_ms(const struct frame_pace *pace);

/* Returns after how many milliseconds an engine that hangs is given up: ten times as long. */
double patience_to_leave_ms(const struct frame_pace *pace);

#endif
