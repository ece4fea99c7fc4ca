/* Draws clips whose motion is known exactly, from a still picture: for each frame the position of every part of the
 * still picture is computed, not estimated. */
#ifndef APP_BENCH_KNOWN_MOTION_H
#define APP_BENCH_KNOWN_MOTION_H

#include "app/bench/judges.h"

enum motion {
  MOTION_PAN,  /* the frame moves over the still picture by (2, 1) pixels per frame */
  MOTION_ZOOM, /* the frame zooms into the still picture by 1 % per frame */
  MOTION_TURN, /* the frame turns over the still picture by half a degree per frame */
  /* an ellipse that is cut out of the still picture moves by (3, 1) pixels per frame over the rest, which does not
   * move */
  MOTION_CUT_OUT,
  MOTIONS_MOVING, /* number of the motions above: in these, pixels come from other positions in the earlier frame */
  /* the still picture does not move, and noise of a camera's sensor (deviation 2 grey levels) is added */
  MOTION_NOISE = MOTIONS_MOVING,
  MOTION_GROUND, /* the still picture does not move, nothing moves over it (unlike MOTION_CUT_OUT), and no noise is
                  * added */
  MOTION_CUT,    /* like MOTION_PAN, but from frame MOTION_CUT_AT on the frame shows another picture */
  MOTIONS
};

enum { MOTION_FRAMES = 12, MOTION_CUT_AT = 6 };

/* Returns the motion's name as reports print it, a string constant. */
const char *motion_name(enum motion motion);

/* Returns the margin of the still picture: how many pixels it has more than a frame of this size at each side, so that
 * moving frames stay within the still picture. */
int motion_margin(int width, int height);

/* Draws frame `at`, from 0 to MOTION_FRAMES - 1, of the clip with this motion, in whole grey levels. `still` is the
 * picture of which the frames show parts. At each side it is motion_margin pixels larger than *frame. */
void motion_draw(enum motion motion, const struct raster *still, int at, struct raster *frame);

/* Fills in where each pixel of frame `now` was in the earlier frame `before`. `seen` is true where both frames show the
 * same part of the still picture, except at the frame's border, where the output of a network depends on the missing
 * surroundings. */
void motion_origins(enum motion motion, int now, int before, struct origins *origins);

/* For frame number `now` of the clip MOTION_CUT_OUT, finds the pixels that the moving ellipse has left. Sets
 * where[height][width] to true for pixels that the ellipse covered last `age` frames earlier (age >= 1), and to false
 * for all others. */
void motion_uncovered(int now, int age, int width, int height, bool *where);

#endif
