#include "unet/sample/schedule.h"

#include <math.h>

/* Below this a picture of noise alone would be divided by nothing. */
static const double least_a = 0x1p-12;

/* Kodaira et al., StreamDiffusion (arXiv 2312.12491), residual classifier-free guidance: with x = a x0 + b eps, the
 * noise of which x would be made from a reference r is (x - a r) / b. Said in the network's own terms: of epsilon that,
 * of v (a x - r) / b, of a sample r. */
struct residual_params schedule_residual(const struct schedule *schedule, int i) {
  double a = fmax(schedule->from[i].a, least_a), b = schedule->from[i].b;
  switch (schedule->config->prediction) {
  case PREDICT_V:
    return (struct residual_params){(float)(a / b), (float)(-1 / b), (float)a, (float)-b};
  case PREDICT_SAMPLE:
    return (struct residual_params){0, 1, 0, 1};
  default:
    return (struct residual_params){(float)(1 / b), (float)(-a / b), (float)(1 / a), (float)(-b / a)};
  }
}
