/* Computes the results of bench --steadiness: how much the engine's outputs change from frame to frame compared with
 * the inputs, by the measures of judges.h. This file does not run the engine. */
#ifndef APP_BENCH_STEADINESS_H
#define APP_BENCH_STEADINESS_H

#include "app/bench/estimated_flow.h"
#include "app/bench/known_motion.h"

/* The frames of one clip, in order. */
struct steadiness_frames {
  const struct raster *input;  /* the pictures that were the engine's inputs */
  const struct raster *output; /* the engine's outputs for these inputs, computed in order */
  /* the outputs for each input computed alone, without earlier frames, by the same engine and seed */
  const struct raster *alone;
  int count;
};

/* Mean changes from frame to frame, in grey levels, of outputs and inputs. NAN: no pixel was judged. */
struct steadiness_change {
  double output, input;
  double share; /* how many of the pixels were judged, as a fraction from 0 to 1 */
};

struct steadiness_motion {
  /* change from each frame to the next one; each pixel is compared with the pixel of the earlier frame from which it
   * has moved */
  struct steadiness_change step;
  struct steadiness_change ends; /* change from the first to the last frame, in which small changes have added up */
  /* fine detail of the outputs, which blur reduces: their gradient energy, divided by that of outputs computed for each
   * frame alone, without earlier frames */
  double detail;
};

/* frames: for how many frames an old picture stays visible where it should not be (STEADINESS_LAG_MAX: that long or
 * longer); share: the old picture's share in the output, 0 to 1, in the first of these frames. */
struct steadiness_lag {
  int frames;
  double share;
};
enum { STEADINESS_LAG_MAX = MOTION_FRAMES - MOTION_CUT_AT };

struct steadiness_clip {
  char name[200];
  int frames;
  struct steadiness_motion motion[MOTIONS_MOVING];
  /* changes from frame to frame, over all pixels, in a clip of a still picture to which a camera's noise is added */
  struct steadiness_change noise;
  struct steadiness_lag cut;  /* for how long the picture before a cut (change of scene) remains visible */
  struct steadiness_lag edge; /* for how long a moving part of the picture remains visible at positions that it has
                               * left */
  /* Changes in a real clip. still: at the pixels that stand still; warp: at all pixels, along the motion that FFmpeg
   * estimates. */
  struct steadiness_change still, warp;
  double detail;
};

struct steadiness {
  struct steadiness_clip *clips;
  int count;
};

/* Returns the outputs' change divided by the inputs' change. NAN: the inputs did not change, or no pixel was judged. */
double steadiness_ratio(const struct steadiness_change *change);
/* Returns the detail of the engine's outputs: the energy of their gradients, divided by the energy for outputs that
 * were made of the same frames but without earlier frames. Below 1: the outputs are blurred by earlier frames. */
double steadiness_detail(const struct steadiness_frames *frames);

/* Measures how steady the engine's outputs are for a test clip (MOTION_FRAMES frames) whose motion is known exactly.
 * Returns 0, or -1 with err. */
int steadiness_of_motion(struct steadiness_motion *figures, enum motion motion, const struct steadiness_frames *frames,
                         struct error *err);
/* Computes for how many frames the picture before the cut of the clip MOTION_CUT stays visible. output: all outputs for
 * that clip. fresh: the outputs from frame MOTION_CUT_AT on, computed without the frames before. */
void steadiness_after_cut(struct steadiness_lag *lag, const struct raster *output, const struct raster *fresh);
/* Computes for how many frames the outputs for the clip MOTION_CUT_OUT still show the moving ellipse at its old places.
 * ground: the same clip without the ellipse (MOTION_GROUND). The ellipse also changes its surroundings in a frame that
 * is computed alone; that change does not count. Returns 0, or -1 with err. */
int steadiness_behind_edge(struct steadiness_lag *lag, const struct steadiness_frames *cut_out,
                           const struct steadiness_frames *ground, struct error *err);

/* steadiness_where_still computes the mean change of the pixels of a real clip that stand still, steadiness_along_flow
 * that of all pixels along the estimated motion. Both return 0, or -1 with err. */
int steadiness_where_still(struct steadiness_change *still, const struct steadiness_frames *frames, struct error *err);
int steadiness_along_flow(struct steadiness_change *warp, const struct steadiness_frames *frames,
                          const struct estimated_flow *flow, struct error *err);

#endif
