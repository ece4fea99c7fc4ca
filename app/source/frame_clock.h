/* Computes the times to give out for decoded frames: they rise from frame to frame, and a single wrong timestamp is
 * repaired. All times are in the stream's time base. */
#ifndef APP_SOURCE_FRAME_CLOCK_H
#define APP_SOURCE_FRAME_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define FRAME_TIME_NONE INT64_MIN /* time of a frame without a timestamp; equals AV_NOPTS_VALUE */

struct frame_clock {
  int64_t last;   /* time of the frame given out last; FRAME_TIME_NONE before the first */
  int64_t begin;  /* time of the first frame if it has no timestamp */
  int64_t step;   /* usual time between frames, at least 1 */
  int64_t shift;  /* added to timestamps since the input's clock was set back */
  int64_t second; /* one second in the stream's time base */
};

/* True if a frame's timestamp is not one usual step after the last one. Then the next frame's timestamp is needed to
 * tell if this one is right. */
bool frame_clock_doubts(const struct frame_clock *clock, int64_t time);

/* Returns the time to give out for a frame stamped `time` whose successor is stamped `next` (FRAME_TIME_NONE: unknown);
 * it is greater than `last`. If the successor undoes a jump, the time is wrong and is computed from the neighbours; a
 * jump that stays is a gap and kept; after a clock was set back, times continue from the last one. The caller stores
 * `last`. */
int64_t frame_clock_settle(struct frame_clock *clock, int64_t time, int64_t next);

#endif
