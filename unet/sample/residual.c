#include "unet/sample/schedule.h"

#include <math.h>

/* Smallest value used for a, the factor of the picture in the noisy latent x = a x0 + b eps. At a level of pure noise a
 * is 0, and the code below divides by a. */
static const double least_a = 0x1p-12;

/* Residual classifier-free guidance of Kodaira et al., StreamDiffusion (arXiv 2312.12491). The noise that leads from a
 * reference r to x = a x0 + b eps is (x - a r) / b. This is converted to what the network predicts: for epsilon it is
 * this noise itself, for v it is (a x - r) / b, for sample it is r. */
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
