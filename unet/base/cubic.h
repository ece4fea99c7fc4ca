/* Computes which input samples bicubic interpolation reads for an output sample, and with which weights. */
#ifndef UNET_BASE_CUBIC_H
#define UNET_BASE_CUBIC_H

#include <math.h>

enum { CUBIC_TAPS = 4 };

/* The input samples from which one output sample is interpolated: their indices and their weights. */
struct cubic {
  int at[CUBIC_TAPS];
  double weight[CUBIC_TAPS];
};

/* Returns the weight of Keys' cubic interpolation for an input sample at this distance, in samples; it is 1 at distance
 * 0. The parameter a is -0.75 in PyTorch and OpenCV, -0.5 in Pillow. */
static inline double cubic_kernel(double a, double distance) {
  const double d = fabs(distance);
  if (d <= 1)
    return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

/* Returns the input samples and weights for output sample i when a row of `from` samples is resized to `to` samples.
 * The weights are those of cubic_kernel with a = -0.75. The centre of pixel i lies at i + 0.5. Samples outside the row
 * repeat its edge. When the row gets shorter, it is not smoothed first. */
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
