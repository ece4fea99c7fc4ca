/* How long a frame may take before its engine is taken for one that hangs. What tells is the handle that the frame is
 * under way in, and never the one before it: a larger size or another model takes as long as it takes. */
#ifndef APP_RUN_PATIENCE_H
#define APP_RUN_PATIENCE_H

#include <stdbool.h>

/* A handle's pace. */
struct frame_pace {
  double frame_ms; /* of the frames that it has made, smoothed; 0: it has made none */
  double flops;    /* of one frame */
  bool by_itself;  /* the device works by itself, as a GPU does; otherwise the processor does the work */
};

/* Any frame that takes longer than this may be said to, if only that it is the first of its handle. */
enum { PATIENCE_LEAST_MS = 1000 };

/* Notes a frame that the handle has made. */
void patience_note(struct frame_pace *pace, double frame_ms);

/* Returns after how many milliseconds at a frame the engine is said to hang: a second, or four frames of a slow handle.
 * A first frame has as long as its arithmetic could take on a very slow machine. */
double patience_to_tell_ms(const struct frame_pace *pace);

/* Returns after how many milliseconds an engine that is said to hang is given up: ten times as long. */
double patience_to_leave_ms(const struct frame_pace *pace);

#endif
