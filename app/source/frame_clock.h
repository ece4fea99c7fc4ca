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
  int64_t begin; /* time of the first frame if it has no timestamp, in the stream's time base */
  int64_t step;  /* usual time between frames, in the stream's time base; at least 1 */
  /* number that is added to timestamps, in the stream's time base, so that times still rise after the input's clock was
   * set back; 0 before that */
  int64_t shift;
  int64_t second; /* one second in the stream's time base */
};

/* True if a frame's timestamp may be wrong, so that the next one is needed to decide: it is not after the last one, or
 * more than one and a half usual steps after it; or it is the first, and more than one step from 0. */
bool frame_clock_doubts(const struct frame_clock *clock, int64_t time);

/* Returns the time for a frame, which is greater than clock->last. time, next: timestamps of the frame and of the one
 * after it (FRAME_TIME_NONE: unknown). If `time` jumps but `next` does not, `time` is wrong, and the result is computed
 * from its neighbours; if both jump, there is a gap, which stays. After the input's clock was set back, times continue
 * from the last one. The caller stores the result in clock->last. */
int64_t frame_clock_settle(struct frame_clock *clock, int64_t time, int64_t next);

#endif
