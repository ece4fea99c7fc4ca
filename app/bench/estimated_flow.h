/* Estimates the motion in a real clip, block by block, with FFmpeg's filter mestimate. The engine uses no part of that
 * filter, so that its own errors of motion do not affect how it is judged. */
#ifndef APP_BENCH_ESTIMATED_FLOW_H
#define APP_BENCH_ESTIMATED_FLOW_H

#include "app/bench/judges.h"

/* The motion between the frames of a clip. */
struct estimated_flow {
  int count;            /* frames */
  struct blocks *back;  /* [count] from each frame to the one before it; back[0] is empty */
  struct blocks *forth; /* [count] from each frame to the one after it; the last one is empty */
};

/* Estimates the motion of frames of one size. Fails if FFmpeg's libavfilter or its filter is not there. The caller
 * frees the flow with estimated_flow_free. */
int estimated_flow_find(struct estimated_flow *flow, const struct raster *frames, int count, struct error *err);
void estimated_flow_free(struct estimated_flow *flow); /* leaves zeros; accepts zeros */

#endif
