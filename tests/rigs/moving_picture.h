/* Pictures that are known at every position, also between pixels, so that they can be drawn after any motion. */
#ifndef TESTS_MOVING_PICTURE_H
#define TESTS_MOVING_PICTURE_H

#include <stdint.h>

enum { MOVING_WAVES = 28 };

/* A texture: the sum of waves with many lengths and directions, added to a mean grey. */
struct waves {
  double across[MOVING_WAVES], down[MOVING_WAVES], phase[MOVING_WAVES], height[MOVING_WAVES];
  double sky; /* row, counted from the centre, above which the texture fades out; a large negative number: nowhere */
};

/* Makes a texture from a seed. contrast: standard deviation of its grey levels. */
struct waves waves_make(uint64_t seed, double contrast);

/* Returns the grey level, from 0 to 255 and not rounded, at a position that is relative to the picture's centre, in
 * pixels. */
double waves_at(const struct waves *t, double x, double y);

/* Which part of the texture a frame shows. Its pixel p, relative to the centre, shows the texture at zoom * (p turned
 * by `turn`) + (x, y). */
struct view {
  double zoom, turn, x, y;
};

/* Returns the grey level of a frame's pixel; x and y are relative to the centre. */
double view_grey(const struct waves *t, const struct view *view, double x, double y);

/* (*x, *y): position of a point in one frame, relative to the centre. Changes it to the position of the same point in
 * another frame. */
void view_move(const struct view *from, const struct view *to, double *x, double *y);

#endif
