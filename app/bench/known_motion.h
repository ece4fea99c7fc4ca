/* Clips whose motion is known exactly, drawn from a still picture: for each frame the place of every part of the still
 * is computed, not estimated. */
#ifndef APP_BENCH_KNOWN_MOTION_H
#define APP_BENCH_KNOWN_MOTION_H

#include "app/bench/judges.h"

enum motion {
  MOTION_PAN,  /* the frame moves over the still by (2, 1) pixels per frame */
  MOTION_ZOOM, /* the frame zooms in by 1 % per frame */
  MOTION_TURN, /* the frame turns by half a degree per frame */
  /* an ellipse cut out of the still moves by (3, 1) pixels per frame over the still, which does not move */
  MOTION_CUT_OUT,
  MOTIONS_MOVING, /* number of the motions above, in which pixels come from other places of the earlier frame */
  /* the still does not move, and noise of a camera's sensor (deviation 2 grey levels) is added */
  MOTION_NOISE = MOTIONS_MOVING,
  MOTION_GROUND, /* the still does not move and nothing is added: MOTION_CUT_OUT without the ellipse */
  MOTION_CUT,    /* the frame moves over the still, and from frame MOTION_CUT_AT on over another picture */
  MOTIONS
};

enum { MOTION_FRAMES = 12, MOTION_CUT_AT = 6 };

/* Returns a name for people, a string constant. */
const char *motion_name(enum motion motion);

/* Returns the margin of the still picture: how many pixels it has more than a frame of this size at each side, so that
 * moving frames stay within it. */
int motion_margin(int width, int height);

/* Draws frame `at`, from 0 to MOTION_FRAMES - 1, in whole grey levels. still: as large as the frame, and with a margin
 * of motion_margin pixels at each side. */
void motion_draw(enum motion motion, const struct raster *still, int at, struct raster *frame);

/* Fills in where each pixel of frame `now` was in the earlier frame `before`. `seen` is true where both show the
 * same part of the still, except at the frame's border, where the output of a network depends on the missing
 * surroundings. */
void motion_origins(enum motion motion, int now, int before, struct origins *origins);

/* Sets where[height][width] to true for each pixel of frame `now` of MOTION_CUT_OUT that the ellipse covered for the
 * last time `age` frames earlier (age >= 1). */
void motion_uncovered(int now, int age, int width, int height, bool *where);

#endif
