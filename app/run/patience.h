/* Decides after how long a frame that is not finished counts as an engine that hangs. The limit depends on the handle
 * (prepared size and step count) that makes the frame, because with a larger size or another model a frame takes
 * longer. */
#ifndef APP_RUN_PATIENCE_H
#define APP_RUN_PATIENCE_H

#include <stdbool.h>

/* Times of the frames that one handle (prepared size and step count) has made, from which the time limits for its next
 * frame are computed. Zero-initialise for a new handle. */
struct frame_pace {
  double frame_ms; /* smoothed time of a frame, in ms; 0: there was no frame yet */
  double flops;    /* number of floating-point operations of one frame */
  /* true: the device is a GPU; false: frames are computed by the processor */
  bool by_itself;
};

/* lower limit, in ms, of the time after which users are told that a frame takes long */
enum { PATIENCE_LEAST_MS = 1000 };

/* Records how long a frame made with this handle (prepared size and step count) took. */
void patience_note(struct frame_pace *pace, double frame_ms);

/* Returns the time in ms after which the engine counts as hanging: four frame times, but at least a second. For a
 * handle's first frame, whose time is unknown, it is a second plus the time of a very slow machine. (A handle is a
 * prepared size and step count.) */
double patience_to_tell_ms(const struct frame_pace *pace);

/* Returns after how many ms a hanging engine is given up: ten times patience_to_tell_ms. */
double patience_to_leave_ms(const struct frame_pace *pace);

#endif
