/* Timestamps of decoded frames made to rise, and single wild ones repaired. Pure: no clock is asked. */
#ifndef APP_SOURCE_FRAME_CLOCK_H
#define APP_SOURCE_FRAME_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define FRAME_TIME_NONE INT64_MIN /* a frame without a timestamp; equals AV_NOPTS_VALUE */

struct frame_clock {
  int64_t last;   /* of the frame given out last; FRAME_TIME_NONE before the first */
  int64_t step;   /* nominal time between frames, at least 1 */
  int64_t shift;  /* added to timestamps since the input's clock was set back */
  int64_t second; /* in the same units */
};

/* Whether only the next frame's time can tell if this one is right: it is not where it was expected. */
bool frame_clock_doubts(const struct frame_clock *clock, int64_t time);

/* The time to give out for a frame stamped `time` whose successor is stamped `next` (FRAME_TIME_NONE: unknown), greater
 * than `last`. A jump that the successor undoes is wild, and repaired from the neighbours; one that lasts is a gap, and
 * kept; a clock set back for good goes on from where it was. The caller stores `last`. */
int64_t frame_clock_settle(struct frame_clock *clock, int64_t time, int64_t next);

#endif
