/* Computes the figures of bench --steadiness from inputs and outputs of the engine, with the measures of judges.h. This
 * part does not run the engine. */
#ifndef APP_BENCH_STEADINESS_H
#define APP_BENCH_STEADINESS_H

#include "app/bench/estimated_flow.h"
#include "app/bench/known_motion.h"

/* The frames of one clip, in order. */
struct steadiness_frames {
  const struct raster *input;  /* what the engine was given */
  const struct raster *output; /* the engine's outputs for these inputs, computed in order */
  /* the outputs for each input computed alone, without earlier frames, by the same engine and seed */
  const struct raster *alone;
  int count;
};

/* Mean changes from frame to frame, in grey levels, of outputs and inputs. NAN: no pixel was judged. */
struct steadiness_change {
  double output, input;
  double share; /* part of the pixels that was judged, 0 to 1 */
};

struct steadiness_motion {
  struct steadiness_change step; /* from each frame to the next one, along the motion */
  struct steadiness_change ends; /* from the first to the last frame, where small changes have added up */
  double detail;                 /* energy of the outputs' gradients, divided by that of the frames computed alone */
};

/* For how many frames an old picture stays visible where it should not be (STEADINESS_LAG_MAX: that long or longer),
 * and its share in the first of these frames. */
struct steadiness_lag {
  int frames;
  double share;
};
enum { STEADINESS_LAG_MAX = MOTION_FRAMES - MOTION_CUT_AT };

struct steadiness_clip {
  char name[200];
  int frames;
  struct steadiness_motion motion[MOTIONS_MOVING];
  struct steadiness_change noise; /* of all pixels, for a still picture with a sensor's noise */
  struct steadiness_lag cut;      /* how long the picture before a cut is visible */
  struct steadiness_lag edge;     /* how long a moving part is visible where it has left */
  /* figures of the real clip: the changes of pixels that stand still, and of all pixels along the estimated motion */
  struct steadiness_change still, warp;
  double detail;
};

struct steadiness {
  struct steadiness_clip *clips;
  int count;
};

/* Returns the outputs' change divided by the inputs' change. NAN: the inputs did not change, or no pixel was judged. */
double steadiness_ratio(const struct steadiness_change *change);
/* Returns the energy of the outputs' gradients divided by that of the frames computed alone. */
double steadiness_detail(const struct steadiness_frames *frames);

/* Computes the figures of a known motion from its MOTION_FRAMES frames. */
int steadiness_of_motion(struct steadiness_motion *figures, enum motion motion, const struct steadiness_frames *frames,
                         struct error *err);
/* Computes how long the picture before the cut of MOTION_CUT is visible. output: all outputs. fresh: the outputs from
 * frame MOTION_CUT_AT on, computed without the frames before. */
void steadiness_after_cut(struct steadiness_lag *lag, const struct raster *output, const struct raster *fresh);
/* Computes how long the ellipse of MOTION_CUT_OUT is visible where it has left. ground: the same frames without the
 * ellipse (MOTION_GROUND). The ellipse also changes the output around it in the same frame; this is known from the
 * frames computed alone, and is left out. */
int steadiness_behind_edge(struct steadiness_lag *lag, const struct steadiness_frames *cut_out,
                           const struct steadiness_frames *ground, struct error *err);

/* Compute the changes of a real clip: of pixels that stand still, and of all pixels along the estimated motion. */
int steadiness_where_still(struct steadiness_change *still, const struct steadiness_frames *frames, struct error *err);
int steadiness_along_flow(struct steadiness_change *warp, const struct steadiness_frames *frames,
                          const struct estimated_flow *flow, struct error *err);

#endif
