/* The figures of bench --steadiness, and how they are drawn from frames: which judge looks at which frames. This part
 * needs no engine. */
#ifndef APP_BENCH_STEADINESS_H
#define APP_BENCH_STEADINESS_H

#include "app/bench/estimated_flow.h"
#include "app/bench/known_motion.h"

/* The frames of one clip, in order. */
struct steadiness_frames {
  const struct raster *input;  /* what the engine was given */
  const struct raster *output; /* what it made of them, one after the other */
  const struct raster *alone;  /* what the same engine with the same seed makes of each frame without a past */
  int count;
};

/* A mean change from frame to frame, in grey levels. NAN: nothing was judged. */
struct steadiness_change {
  double output, input;
  double share; /* part of the pixels that was judged, 0 to 1 */
};

struct steadiness_motion {
  struct steadiness_change step; /* from each frame to the next one, along the motion */
  struct steadiness_change ends; /* from the first frame to the last one: small changes that add up */
  double detail;                 /* energy of gradients over that of frames made alone */
};

/* For how many frames an old picture is seen (up to STEADINESS_LAG_MAX, which may be more), and how much of it there is
 * in the first frame that should not show it. */
struct steadiness_lag {
  int frames;
  double share;
};
enum { STEADINESS_LAG_MAX = MOTION_FRAMES - MOTION_CUT_AT };

struct steadiness_clip {
  char name[200];
  int frames;
  struct steadiness_motion motion[MOTIONS_MOVING];
  struct steadiness_change noise; /* all of a still picture under a sensor's noise */
  struct steadiness_lag cut;      /* after a cut */
  struct steadiness_lag edge;     /* behind a moving edge */
  /* The clip itself: pixels that stand still, and all pixels along an estimated flow. */
  struct steadiness_change still, warp;
  double detail;
};

struct steadiness {
  struct steadiness_clip *clips;
  int count;
};

/* Returns the change of the output over that of the input. NAN: the input did not change, or nothing was judged. */
double steadiness_ratio(const struct steadiness_change *change);
/* Returns the energy of the outputs' gradients over that of the frames made alone. */
double steadiness_detail(const struct steadiness_frames *frames);

/* Judges the MOTION_FRAMES frames of a known motion. */
int steadiness_of_motion(struct steadiness_motion *figures, enum motion motion, const struct steadiness_frames *frames,
                         struct error *err);
/* Judges MOTION_CUT. fresh: the outputs of the same frames from MOTION_CUT_AT on, begun there. */
void steadiness_after_cut(struct steadiness_lag *lag, const struct raster *output, const struct raster *fresh);
/* Judges MOTION_CUT_OUT by the outputs of MOTION_GROUND. What the cut-out changes beside it in the same frame is
 * seen in frames made alone, and is not counted. */
int steadiness_behind_edge(struct steadiness_lag *lag, const struct steadiness_frames *cut_out,
                           const struct steadiness_frames *ground, struct error *err);

/* Judge a real clip: its still pixels, and all of it along an estimated flow. */
int steadiness_where_still(struct steadiness_change *still, const struct steadiness_frames *frames, struct error *err);
int steadiness_along_flow(struct steadiness_change *warp, const struct steadiness_frames *frames,
                          const struct estimated_flow *flow, struct error *err);

#endif
