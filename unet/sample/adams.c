/* Linear multistep methods on predictions of noise. For a noisy latent x = a x0 + b eps, with rho = b / a, the change
 * of x / a is the integral of the noise over rho. The noise of the current step and of earlier ones is interpolated.
 * LMS interpolates in rho: Karras et al., "Elucidating the Design Space of Diffusion-Based Generative Models", 2022, up
 * to fourth order as in k-diffusion. DEIS interpolates in log rho, up to third order: Zhang, Chen, "Fast Sampling of
 * Diffusion Models with Exponential Integrator", 2022. */
#include "unet/sample/schedule.h"

static double rho(struct level level) {
  return level.b / level.a;
}

static bool is_deis(const struct schedule *s) {
  return s->impl == &sampler_deis;
}

/* Returns the order of the multistep formula for step i. It cannot be higher than the number of predictions made so
 * far, and DEIS lowers it in the last steps if there are few. */
static int order_of(const struct schedule *s, int i) {
  int order = is_deis(s) ? s->config->solver_order : SOLVE_MAX, left = s->count - i;
  if (is_deis(s) && s->config->lower_order_final && s->full_count < 15 && left < order)
    order = left;
  return schedule_order(s, i, order);
}

/* Computes for step i the integrals of v^k over rho, one for each power k < count. v is the change since the step
 * began: the change of rho, or for DEIS that of rho's logarithm. */
static void integrate(const struct schedule *s, int i, int count, double integral[SOLVE_MAX]) {
  double from = rho(s->from[i]), to = rho(s->to[i]), v = is_deis(s) ? log(to / from) : to - from;
  for (int k = 0; k < count; k++)
    if (!is_deis(s))
      integral[k] = pow(v, k + 1) / (k + 1);
    else
      integral[k] = k ? pow(v, k) * to - k * integral[k - 1] : to - from;
}

/* Computes the weights that step i gives to predictions of noise: weights[0] is for the step's own prediction, the
 * following weights are for the predictions of the steps before it. */
static void weigh(const struct schedule *s, int i, double weights[SOLVE_MAX]) {
  double integral[SOLVE_MAX], at[SOLVE_MAX];
  int order = order_of(s, i);
  double here = rho(s->from[i]);
  for (int j = 0; j < order; j++)
    at[j] = is_deis(s) ? log(rho(s->from[i - j]) / here) : rho(s->from[i - j]) - here;
  integrate(s, i, order, integral);
  schedule_solve(at, integral, order, weights);
}

static void fill(const struct schedule *s, struct sampler_table *table) {
  for (int i = 0; i < s->count; i++) {
    struct linear eps = schedule_estimate(s, i).eps;
    double a = s->to[i].a, weights[SOLVE_MAX] = {0};
    weigh(s, i, weights);
    struct linear to = {a / s->from[i].a + a * weights[0] * eps.x, a * weights[0] * eps.model};
    struct step_params *step = &table->step[i];
    *step = step_params(s->timestep[i], to, 0);
    step->keep_x = (float)eps.x;
    step->keep_model = (float)eps.model;
    for (int j = 0; j < EARLIER_MAX; j++)
      step->earlier[j] = (float)(a * weights[j + 1]);
  }
}

static int earlier_of_lms(const struct scheduler_config *config) {
  (void)config;
  return SOLVE_MAX - 1;
}

static int earlier_of_deis(const struct scheduler_config *config) {
  return config->solver_order - 1;
}

const struct sampler_impl sampler_lms = {.finite_sigma = true,
                                         .real_timesteps = true,
                                         .noise_by_sigma = true,
                                         .sigmas = SIGMAS_OF_STEPS,
                                         .earlier = earlier_of_lms,
                                         .fill = fill};

const struct sampler_impl sampler_deis = {.finite_sigma = true,
                                          .skips_lowest = true,
                                          .sigmas = SIGMAS_ALL,
                                          .final = FINAL_LOWEST,
                                          .earlier = earlier_of_deis,
                                          .fill = fill};
