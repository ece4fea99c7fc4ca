/* Judges of steadiness: functions of pictures alone. Each answers one question, and none of them is enough: a blurred
 * picture changes little, and so does one that is late. Therefore detail and lag are judged beside change.
 *
 * Change is always the difference of one picture to an earlier one, taken along `origins`. Where these come from makes
 * the difference between the judges: pixels that stand still (judge_still), a motion that is known
 * (known_motion.h), or a flow that was estimated (judge_flow). */
#ifndef APP_BENCH_JUDGES_H
#define APP_BENCH_JUDGES_H

#include <stdbool.h>

#include "app/bench/raster.h"

/* For each pixel of a picture, its place in an earlier one. */
struct origins {
  int width, height;
  float *xy;  /* [height][width][2] */
  bool *seen; /* [height][width]; false: the pixel is not judged, for example because it was covered before */
};

/* Allocates origins where each pixel stays and none is seen. The caller frees them with origins_free. */
int origins_make(struct origins *origins, int width, int height, struct error *err);
void origins_free(struct origins *origins); /* leaves zeros; accepts zeros */
/* Returns the part of all pixels that are seen, 0 to 1. */
double origins_share(const struct origins *origins);
/* Leaves out this many pixels at each side. */
void origins_leave_border(struct origins *origins, int border);

/* A mean that is summed over several pictures. */
struct judged {
  double sum, count;
};
/* Returns the mean. NAN: nothing was judged. */
double judged_mean(const struct judged *judged);

/* Adds the change of each seen pixel, in grey levels: the absolute difference to its origin, averaged over red, green
 * and blue. */
void judge_change(struct judged *judged, const struct raster *now, const struct raster *before,
                  const struct origins *origins);

/* Marks the pixels as seen that stand still in the input: its denoised luminance changes by less than about one grey
 * level, here and in the neighbourhood that a network looks at. */
int judge_still(struct origins *origins, const struct raster *now, const struct raster *before, struct error *err);

/* Motion in whole blocks: block (x, y) of a picture came from (x * size + dx, y * size + dy) of the other picture. */
struct blocks {
  int size, columns, rows;
  float *dxdy; /* [rows][columns][2] */
};

/* Turns an estimated motion into origins. back leads from `now` to `before`, forth from `before` to `now`. Because
 * estimates follow the sensor's noise where nothing moves, a block is taken to stand still unless its motion lowers the
 * difference of the denoised pictures clearly. A pixel is seen if both directions agree to one pixel, and if the motion
 * explains the pictures at all. */
int judge_flow(struct origins *origins, const struct raster *now, const struct raster *before,
               const struct blocks *back, const struct blocks *forth, struct error *err);

/* Returns the energy of the picture's gradients, the measure of its detail: the mean square of the difference to the
 * right and lower neighbour. */
double judge_energy(const struct raster *raster);

/* Sums that tell how much of an old picture is still in another one. */
struct ghost {
  double dot, norm;
};
/* The pictures of one moment. */
struct ghost_pictures {
  const struct raster *output;     /* judged */
  const struct raster *unaffected; /* what the output would be if the old picture had never been */
  const struct raster *old;        /* an earlier output, of which nothing should be left */
};
/* Adds the pixels where `where` is true. where NULL: all. */
void judge_ghost(struct ghost *ghost, const struct ghost_pictures *pictures, const bool *where);
/* Returns the old picture's share: exactly that of a mixture, 0 for the picture that is not affected, 1 for one that is
 * frozen. NAN: the old picture did not differ. */
double ghost_share(const struct ghost *ghost);
/* Returns for how many frames the old picture was seen, at a share of a twentieth or more: the number of the last
 * one that shows it. after[0] is the first frame in which it should be gone. */
int judge_lag(const struct ghost *after, int count);

#endif
