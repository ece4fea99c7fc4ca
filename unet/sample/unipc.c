/* Zhao et al., "UniPC: A Unified Predictor-Corrector Framework for Fast Sampling of Diffusion Models", 2023, of first
 * to third order, for predictions of the picture. In each step the network's output is used twice: the corrector
 * changes the latent that the step before has made, then the predictor makes the latent at this step's end. Both are
 * linear, so one OP_STEP does the work of both. */
#include "unet/sample/schedule.h"

/* A step from one noise level to another. h: the change of lambda (level_lambda) in this step. r[j]: where prediction j
 * was made, measured from the step's beginning in units of h. First come the order - 1 predictions before the step
 * (negative), then the one at its end (1), which only the corrector uses. */
struct interval {
  double h, r[SOLVER_ORDER_MAX];
  int order;
};

static struct interval interval(const struct schedule *s, int i, int order) {
  double lambda = level_lambda(s->from[i]);
  struct interval result = {.h = level_lambda(s->to[i]) - lambda, .order = order};
  for (int j = 1; j < order; j++)
    result.r[j - 1] = (level_lambda(s->from[i - j]) - lambda) / result.h;
  result.r[order - 1] = 1;
  return result;
}

static int order_of(const struct schedule *s, int i) {
  int order = s->config->solver_order, left = s->count - i;
  /* true: the step ends at the picture without noise. lambda (the logarithm of signal to noise) is infinite there, and
   * so is h, its change during the step */
  bool ends = s->to[i].b == 0;
  return schedule_order(s, i, ends ? 1 : s->config->lower_order_final && left < order ? left : order);
}

static double function_b(const struct schedule *s, double h) {
  return s->config->solver_type == SOLVER_BH1 ? -h : expm1(-h);
}

/* Computes the first `count` weights rho[j]. rho[j] is the weight of a difference: the prediction at r[j] minus that at
 * the step's beginning. A single difference has the weight 0.5, as the authors chose. */
static void weigh(const struct schedule *s, const struct interval *in, int count, double rho[SOLVER_ORDER_MAX]) {
  double b[SOLVER_ORDER_MAX], z = -in->h, phi = expm1(z) / z - 1, factorial = 1;
  for (int j = 0; j < count; j++) {
    b[j] = phi * factorial / function_b(s, in->h);
    factorial *= j + 2;
    phi = phi / z - 1 / factorial;
  }
  if (count == 1)
    rho[0] = 0.5;
  else if (count > 1)
    schedule_solve(in->r, b, count, rho);
}

/* Computes the corrector's change of the latent x after step i - 1, as factors of predictions. earlier[0]: factor of
 * the prediction at the beginning of step i - 1; earlier[1] and so on: of the predictions before that. Returns the
 * factor of the prediction at the end of step i - 1. */
static double correct(const struct schedule *s, int i, double earlier[EARLIER_MAX]) {
  struct interval in = interval(s, i - 1, order_of(s, i - 1));
  double guess[SOLVER_ORDER_MAX] = {0}, rho[SOLVER_ORDER_MAX] = {0}, gain = -s->to[i - 1].a * function_b(s, in.h);
  weigh(s, &in, in.order - 1, guess);
  weigh(s, &in, in.order, rho);
  double now = gain * rho[in.order - 1];
  earlier[0] = -now;
  for (int j = 0; j < in.order - 1; j++) {
    double by = gain * (rho[j] - guess[j]) / in.r[j];
    earlier[j + 1] += by;
    earlier[0] -= by;
  }
  return now;
}

static bool corrects(const struct schedule *s, int i) {
  /* index, from 0, that step i would have at strength 1: `uncorrected` has one bit for each step at strength 1 */
  int number = s->full_count - s->count + i;
  return i > 0 && !(s->config->uncorrected >> (number - 1) & 1) &&
         level_lambda(s->to[i - 1]) > level_lambda(s->from[i - 1]);
}

static void fill_step(const struct schedule *s, int i, struct step_params *step) {
  struct linear x0 = schedule_estimate(s, i).x0;
  struct level from = s->from[i], to = s->to[i];
  double earlier[EARLIER_MAX] = {0}, now = corrects(s, i) ? correct(s, i, earlier) : 0, keep = to.b / from.b;
  struct interval in = interval(s, i, order_of(s, i));
  double rho[SOLVER_ORDER_MAX] = {0}, gain = -to.a * function_b(s, in.h);
  weigh(s, &in, in.order - 1, rho);
  for (int j = 0; j < EARLIER_MAX; j++)
    earlier[j] *= keep;
  now = keep * now - to.a * expm1(-in.h);
  for (int j = 0; j < in.order - 1; j++) {
    earlier[j] += gain * rho[j] / in.r[j];
    now -= gain * rho[j] / in.r[j];
  }
  *step = step_params(s->timestep[i], (struct linear){keep + now * x0.x, now * x0.model}, 0);
  step->keep_x = (float)x0.x;
  step->keep_model = (float)x0.model;
  for (int j = 0; j < EARLIER_MAX; j++)
    step->earlier[j] = (float)earlier[j];
}

static void fill(const struct schedule *s, struct sampler_table *table) {
  for (int i = 0; i < s->count; i++)
    fill_step(s, i, &table->step[i]);
}

static int earlier(const struct scheduler_config *config) {
  return config->solver_order;
}

const struct sampler_impl sampler_unipc = {.finite_sigma = true,
                                           .skips_lowest = true,
                                           .sigmas = SIGMAS_ALL,
                                           .final = FINAL_SIGMA,
                                           .earlier = earlier,
                                           .fill = fill};
