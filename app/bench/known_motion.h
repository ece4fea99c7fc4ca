/* Clips whose motion is known exactly, made from a still picture: what was where in each frame is computed, not
 * estimated. */
#ifndef APP_BENCH_KNOWN_MOTION_H
#define APP_BENCH_KNOWN_MOTION_H

#include "app/bench/judges.h"

enum motion {
  MOTION_PAN,                    /* by (2, 1) pixels a frame */
  MOTION_ZOOM,                   /* in, by 1 % a frame */
  MOTION_TURN,                   /* by half a degree a frame */
  MOTION_CUT_OUT,                /* a part of the still moves by (3, 1) pixels a frame over the still, which stands */
  MOTIONS_MOVING,                /* the motions up to here have origins that lie elsewhere */
  MOTION_NOISE = MOTIONS_MOVING, /* the still stands under a sensor's noise of deviation 2 */
  MOTION_GROUND,                 /* the still stands: what MOTION_CUT_OUT shows without the cut-out */
  MOTION_CUT,                    /* the still pans, and from frame MOTION_CUT_AT on another picture does */
  MOTIONS
};

enum { MOTION_FRAMES = 12, MOTION_CUT_AT = 6 };

/* Returns a name for people, a string constant. */
const char *motion_name(enum motion motion);

/* Returns by how much the still is larger than the frames at each side, because frames show different parts of it. */
int motion_margin(int width, int height);

/* Draws frame `at` (0 to MOTION_FRAMES - 1) with values of whole grey levels. still: of the frame's size and the margin
 * around it. */
void motion_draw(enum motion motion, const struct raster *still, int at, struct raster *frame);

/* Fills where each pixel of frame `now` was in the earlier frame `before`. Seen are the pixels that show the same part
 * of the still there. A border of the frame is left out, where a network does not see what lies around. */
void motion_origins(enum motion motion, int now, int before, struct origins *origins);

/* Marks the pixels that frame `now` of MOTION_CUT_OUT shows and that the cut-out covered for the last time `age` frames
 * before, age >= 1. where: [height][width]. */
void motion_uncovered(int now, int age, int width, int height, bool *where);

#endif
