/* Gives the output a constant frame rate (--fps), as an editor's timeline has. It has a frame every 1/rate seconds,
 * from the first input frame on, with the picture that the input shows at that time. So input frames are left out or
 * repeated. */
#ifndef APP_SINK_CADENCE_H
#define APP_SINK_CADENCE_H

#include "app/sink/sink.h"

struct cadence {
  int num, den;    /* output frames a second, as a fraction; num 0: the output keeps the input's times */
  double tick;     /* unit of the source's frame.pts in seconds */
  double duration; /* seconds for which an input frame is shown if its frame.duration is not known; 0: unknown */
  /* Number of units of the output's clock in one output frame. A unit is at most a millisecond, so that the first
   * frame's time, which the sound's times depend on, is kept exactly enough. */
  int units;
  int64_t first; /* frame.pts of the source's first frame; valid if `begun` */
  bool begun;
};

/* Fills cadence for frames of this source. fps: output frames per second, which is replaced by a near fraction. */
void cadence_choose(struct cadence *cadence, double fps, const struct source_info *info);
/* True if an output frame falls into the time for which the input shows this frame, or if that time is unknown;
 * otherwise the frame need not be rendered. Must be called for each frame in order of time, because the first call
 * defines the time of output frame 0. */
bool cadence_shows(struct cadence *cadence, const struct frame *frame);
/* Puts a new sink in front of *sink, which it then owns. The new sink takes frames with the source's times, and writes
 * one frame for each output frame to the old sink. The old sink must have been opened for times in units of cadence's
 * den / (num * units) seconds. The new sink holds one more picture. If *stop becomes true, frames are no longer
 * repeated; stop may be NULL. Returns 0, or -1 with err; *sink is then closed and NULL. */
int cadence_open(struct sink **sink, const struct cadence *cadence, const atomic_bool *stop, struct error *err);

#endif
