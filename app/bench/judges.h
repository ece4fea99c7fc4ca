/* Measures of how steady generated pictures are, computed from the pictures alone. Change from frame to frame is not
 * enough: blurred pictures and pictures that lag behind also change little. Therefore detail and lag are measured as
 * well.
 *
 * Change is the difference between a picture and an earlier one, where each pixel is compared with the place that it
 * came from (struct origins). That place is known in three ways: for pixels that stand still (judge_still), from motion
 * that is known exactly (known_motion.h), or from estimated motion (judge_flow). */
#ifndef APP_BENCH_JUDGES_H
#define APP_BENCH_JUDGES_H

#include <stdbool.h>

#include "app/bench/raster.h"

/* For each pixel of a picture, the position of the same point of the scene in an earlier picture. */
struct origins {
  int width, height;
  float *xy; /* array [height][width][2]: coordinates x and y in the earlier picture */
  /* array [height][width]; false: the earlier picture does not show what is at this pixel (it was covered, for
   * example), so the pixel is not judged */
  bool *seen;
};

/* Allocates origins (where each pixel was in the earlier picture). At first each pixel has its own position, and `seen`
 * is false everywhere. The caller frees them with origins_free. Returns 0, or -1 with err. */
int origins_make(struct origins *origins, int width, int height, struct error *err);
void origins_free(struct origins *origins); /* frees the arrays and zeroes the struct; accepts a zeroed struct */
/* Returns the fraction, 0 to 1, of the pixels that are judged, because the earlier picture shows them (`seen` is
 * true). */
double origins_share(const struct origins *origins);
/* Sets `seen` to false for all pixels within `border` pixels of an edge of the picture. */
void origins_leave_border(struct origins *origins, int border);

/* A sum of values and their number, from which judged_mean computes the mean. Initialise with zeros. */
struct judged {
  double sum, count;
};
/* Returns the mean of the values that were summed; NAN: there were none. */
double judged_mean(const struct judged *judged);

/* Compares picture `now` with the earlier picture `before`. For each pixel that is visible in both (origins->seen),
 * adds to *judged the absolute difference from the pixel of `before` that it came from. The difference is in grey
 * levels, averaged over red, green and blue. */
void judge_change(struct judged *judged, const struct raster *now, const struct raster *before,
                  const struct origins *origins);

/* Sets `seen` for each pixel that stands still in the input: its blurred luminance, and that of all pixels around it
 * within a network's reach, changes by less than about one grey level from `before` to `now`. Returns 0, or -1 with
 * err. */
int judge_still(struct origins *origins, const struct raster *now, const struct raster *before, struct error *err);

/* Motion of square blocks of size * size pixels: the block at (x * size, y * size) of a picture was at (x * size + dx,
 * y * size + dy) in the other picture. */
struct blocks {
  int size, columns, rows;
  float *dxdy; /* [rows][columns][2]: dx and dy of each block, in pixels */
};

/* Turns an estimated motion into origins (where each pixel came from). back: motion from `now` to `before`; forth: from
 * `before` to `now`. Where nothing moves, estimates follow the sensor's noise; so a block counts as still unless its
 * motion clearly lowers the difference of the denoised pictures. A pixel is seen if both directions agree to one pixel,
 * and if both blocks look nearly the same where their motion leads. Returns 0, or -1 with err. */
int judge_flow(struct origins *origins, const struct raster *now, const struct raster *before,
               const struct blocks *back, const struct blocks *forth, struct error *err);

/* Returns the energy of the picture's gradients, the measure of its detail: the mean square of the difference to the
 * right and lower neighbour. */
double judge_energy(const struct raster *raster);

/* Sums over pixels, from which ghost_share computes how much of an old picture is still visible in a newer one.
 * Initialise with zeros. */
struct ghost {
  double dot, norm;
};
/* The three pictures that judge_ghost compares. `output` and `unaffected` are of the same moment, `old` is earlier. */
struct ghost_pictures {
  const struct raster *output;     /* the output of the engine that is to be judged */
  const struct raster *unaffected; /* what the output would be if the old picture had never been an input */
  const struct raster *old;        /* an earlier output, which should not be visible any more */
};
/* Compares the three pictures of `pictures` at the pixels for which `where` is true (NULL: at all pixels). Adds the
 * products of their differences to the sums in *ghost, from which ghost_share computes its result. */
void judge_ghost(struct ghost *ghost, const struct ghost_pictures *pictures, const bool *where);
/* Returns the old picture's share in the output: 0 if the output equals `unaffected`, 1 if it equals `old`, and s if it
 * is a mixture with a share s of `old`. NAN: `old` and `unaffected` are equal, so that nothing can be said. */
double ghost_share(const struct ghost *ghost);
/* Returns for how many frames an old picture stays visible, that is, makes up at least 0.05 of the output
 * (ghost_share). `after` has the sums of judge_ghost for each of `count` frames in order; element 0 is for the first
 * frame in which the old picture should not be visible. */
int judge_lag(const struct ghost *after, int count);

#endif
