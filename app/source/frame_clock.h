/* Computes the times that decoded frames get: they rise from frame to frame, and a single wrong timestamp is repaired.
 * All times are in the stream's time base. */
#ifndef APP_SOURCE_FRAME_CLOCK_H
#define APP_SOURCE_FRAME_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define FRAME_TIME_NONE INT64_MIN /* time of a frame without a timestamp; equals AV_NOPTS_VALUE */

struct frame_clock {
  /* time of the frame that was given out last, in the stream's time base; FRAME_TIME_NONE before the first one */
  int64_t last;
  int64_t begin;  /* time of the first frame if it has no timestamp, in the stream's time base */
  int64_t step;   /* usual time between frames, in the stream's time base; at least 1 */
  int64_t shift;  /* number to add to timestamps, which is not 0 after the input's clock was set back */
  int64_t second; /* one second in the stream's time base */
};

/* True if a frame's timestamp is not after the last one, or more than one and a half usual steps after it; for the
 * first frame, if it is more than one step from 0. Then the next frame's timestamp is needed to tell if this one is
 * right. */
bool frame_clock_doubts(const struct frame_clock *clock, int64_t time);

/* Returns the time for a frame with the timestamp `time` whose successor has the timestamp `next` (FRAME_TIME_NONE:
 * unknown). The result is greater than `last`. If the successor undoes a jump, `time` is wrong and the result is
 * computed from the neighbours; a jump that remains is a gap and is kept; after the clock was set back, times continue
 * from the last one. The caller stores the result in `last`. */
int64_t frame_clock_settle(struct frame_clock *clock, int64_t time, int64_t next);

#endif
