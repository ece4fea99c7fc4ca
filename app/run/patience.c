#include "app/run/patience.h"

#include <math.h>

static const double least_ms = PATIENCE_LEAST_MS, frames = 4, times_to_leave = 10;
/* Assumed floating-point operations per second of a very slow GPU, and of one processor core without a fast library:
 * less than any real one has. They decide how long the first frame of a handle (prepared size and step count) may
 * take. */
static const double slowest_gpu = 1e12, slowest_processor = 1e9;

void patience_note(struct frame_pace *pace, double frame_ms) {
  const double weight = 0.2;
  pace->frame_ms = pace->frame_ms > 0 ? pace->frame_ms + (frame_ms - pace->frame_ms) * weight : frame_ms;
}

double patience_to_tell_ms(const struct frame_pace *pace) {
  if (pace->frame_ms > 0)
    return fmax(least_ms, frames * pace->frame_ms);
  return least_ms + pace->flops / (pace->by_itself ? slowest_gpu : slowest_processor) * 1e3;
}

double patience_to_leave_ms(const struct frame_pace *pace) {
  return times_to_leave * patience_to_tell_ms(pace);
}
