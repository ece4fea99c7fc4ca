/* Estimates the motion in a real clip, block by block, with FFmpeg's filter mestimate. The engine does not use that
 * filter, so errors in the engine's motion estimates do not affect this measure. */
#ifndef APP_BENCH_ESTIMATED_FLOW_H
#define APP_BENCH_ESTIMATED_FLOW_H

#include "app/bench/judges.h"

/* The motion between the frames of a clip. */
struct estimated_flow {
  int count;            /* number of frames of the clip */
  struct blocks *back;  /* [count] motions from each frame to the one before it; back[0] is empty */
  struct blocks *forth; /* [count] motions from each frame to the one after it; the last entry is empty */
};

/* Estimates the motion between frames that all have the same size. Fails if FFmpeg's libavfilter or the filter
 * mestimate is missing. The caller frees the flow with estimated_flow_free. Returns 0, or -1 with err. */
int estimated_flow_find(struct estimated_flow *flow, const struct raster *frames, int count, struct error *err);
/* frees the arrays and zeroes the struct; accepts a zeroed struct */
void estimated_flow_free(struct estimated_flow *flow);

#endif
