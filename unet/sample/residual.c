#include "unet/sample/schedule.h"

#include <math.h>

/* Lower bound of a, because a level without signal would cause a division by zero. */
static const double least_a = 0x1p-12;

/* Residual classifier-free guidance of Kodaira et al., StreamDiffusion (arXiv 2312.12491). With x = a x0 + b eps, the
 * noise that leads from a reference r to x is (x - a r) / b. It is expressed as the network's own kind of prediction:
 * for epsilon this value, for v (a x - r) / b, for a sample r. */
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
