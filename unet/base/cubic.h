/* Bicubic interpolation. */
#ifndef UNET_BASE_CUBIC_H
#define UNET_BASE_CUBIC_H

#include <math.h>

enum { CUBIC_TAPS = 4 };

/* The input samples of one output sample, and their weights. */
struct cubic {
  int at[CUBIC_TAPS];
  double weight[CUBIC_TAPS];
};

/* Keys' kernel, which is 1 at 0. The parameter a is -0.75 in PyTorch and OpenCV, -0.5 in Pillow. */
static inline double cubic_kernel(double a, double distance) {
  const double d = fabs(distance);
  if (d <= 1)
    return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

/* Returns the taps for sample i when a row of `from` samples becomes `to`, with a = -0.75. Centres of pixels are at
 * halves, samples outside repeat the edge, and a reduction is not smoothed. */
static inline struct cubic cubic_of(int i, int from, int to) {
  double centre = (i + 0.5) * from / to - 0.5, base = floor(centre);
  struct cubic c;
  for (int k = 0; k < CUBIC_TAPS; k++) {
    int at = (int)base + k - 1;
    c.at[k] = at < 0 ? 0 : at < from ? at : from - 1;
    c.weight[k] = cubic_kernel(-0.75, centre - (base + k - 1));
  }
  return c;
}

#endif
