#include "app/source/frame_clock.h"

bool frame_clock_doubts(const struct frame_clock *clock, int64_t time) {
  if (time == FRAME_TIME_NONE)
    return false;
  time += clock->shift;
  if (clock->last == FRAME_TIME_NONE)
    return time > clock->step || time < -clock->step;
  return time <= clock->last || time - clock->last > clock->step + clock->step / 2;
}

/* Returns the time for a frame with a wrong timestamp: the middle between the last frame's and the next one's, but at
 * most one usual step after the last frame's, since a gap may follow. */
static int64_t between(const struct frame_clock *clock, int64_t next) {
  int64_t half = (next - clock->last) / 2;
  int64_t step = half < clock->step ? half : clock->step;
  return clock->last + (step > 0 ? step : 1);
}

/* True if this timestamp and the next one show that the input's clock was set back by more than a second. Pictures that
 * are stamped in decoding order also step back, but only a little. */
static bool set_back(const struct frame_clock *clock, int64_t time, int64_t next) {
  return next > time && next <= clock->last && clock->last - time > clock->second;
}

int64_t frame_clock_settle(struct frame_clock *clock, int64_t time, int64_t next) {
  bool first = clock->last == FRAME_TIME_NONE;
  if (time == FRAME_TIME_NONE)
    return first ? clock->begin : clock->last + clock->step;
  time += clock->shift;
  if (next == FRAME_TIME_NONE)
    return first || time > clock->last ? time : clock->last + clock->step;
  next += clock->shift;
  if (first)
    return next > time ? time : next - clock->step;
  bool undone = time > clock->last ? next <= time : next > time;
  if (undone && next > clock->last)
    return between(clock, next);
  if (time > clock->last)
    return time;
  if (set_back(clock, time, next))
    clock->shift += clock->last + clock->step - time;
  return clock->last + clock->step;
}
