/* Pictures that are known at every place between their pixels, so that they can be drawn after any motion. */
#ifndef TESTS_MOVING_PICTURE_H
#define TESTS_MOVING_PICTURE_H

#include <stdint.h>

enum { MOVING_WAVES = 28 };

/* A texture of waves of many lengths and directions, as a mean grey with grey levels around it. */
struct waves {
  double across[MOVING_WAVES], down[MOVING_WAVES], phase[MOVING_WAVES], height[MOVING_WAVES];
  double sky; /* the texture fades above this row, counted from the centre; a large negative number: nowhere */
};

/* Makes a texture from a seed. contrast: its standard deviation in grey levels. */
struct waves waves_make(uint64_t seed, double contrast);

/* Returns the grey level, 0 to 255 but not rounded, at a place relative to the picture's centre. */
double waves_at(const struct waves *t, double x, double y);

/* Where a frame looks: pixel p, relative to the centre, shows the texture at zoom * (p turned by `turn`) + (x, y). */
struct view {
  double zoom, turn, x, y;
};

/* Returns the grey level of a frame's pixel. */
double view_grey(const struct waves *t, const struct view *view, double x, double y);

/* Moves a pixel's place in one frame, (*x, *y) relative to the centre, to the place of the same point in another. */
void view_move(const struct view *from, const struct view *to, double *x, double *y);

#endif
