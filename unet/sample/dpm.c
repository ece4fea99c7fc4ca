/* Multistep solvers of first to third order: DPM-Solver++, as an ODE and as an SDE (Lu et al., "DPM-Solver++: Fast
 * Solver for Guided Sampling of Diffusion Probabilistic Models", 2022), and the first DPM-Solver, which combines
 * predictions of noise. With lambda = log(a / b), for a noisy latent x = a x0 + b eps, one formula describes all of
 * them: see `solver`. */
#include "unet/sample/schedule.h"

/* Returns the order of the multistep formula for step i. It cannot be higher than the number of predictions made so
 * far, and it may be lower in the last steps. */
static int order_of(const struct schedule *s, int i) {
  const struct scheduler_config *c = s->config;
  int order = c->solver_order, left = s->count - i;
  bool lowers = c->lower_order_final && s->full_count < 15;
  if (left == 1 && (lowers || c->euler_at_final || !c->final_sigma_min))
    order = 1;
  if (left == 2 && lowers && order > 2)
    order = 2;
  return schedule_order(s, i, order);
}

/* The formula of a step: x' = scale x + gain (weights[0] D0 + weights[1] D1 + weights[2] D2) + `noise` times fresh
 * noise. D0 is the current prediction; D1 and D2 are those of the two steps before. z is derived from the step's change
 * of lambda: for predictions of the picture it is this change, for an SDE twice the change, for predictions of noise
 * minus the change. */
struct solver {
  double scale, gain, z, noise;
};

static struct solver solver(const struct schedule *s, int i) {
  struct level from = s->from[i], to = s->to[i];
  double h = level_lambda(to) - level_lambda(from);
  if (s->config->solver_epsilon && !s->impl->fresh)
    return (struct solver){to.a / from.a, to.b, -h, 0};
  if (s->impl->fresh)
    return (struct solver){to.b / from.b * exp(-h), to.a, 2 * h, to.b * sqrt(fmax(0, -expm1(-2 * h)))};
  return (struct solver){to.b / from.b, to.a, h, 0};
}

/* Computes the weights in struct solver's formula: weights[0] of the current prediction D0, weights[1] and weights[2]
 * of D1 and D2, the predictions of the two steps before. */
static void weigh(const struct schedule *s, int i, const struct solver *solver, double weights[3]) {
  int order = order_of(s, i);
  double z = solver->z, e = -expm1(-z);
  weights[0] = e;
  weights[1] = weights[2] = 0;
  if (order == 1)
    return;
  double lambda = level_lambda(s->from[i]), h = level_lambda(s->to[i]) - lambda;
  double before = level_lambda(s->from[i - 1]), r0 = (lambda - before) / h;
  double slope = order == 2 && s->config->solver_type != SOLVER_HEUN ? 0.5 * e : 1 - e / z, bend = 0;
  double d0 = slope / r0, d1 = 0; /* factors of the first and the second difference between consecutive predictions */
  if (order == 3) {
    double r1 = (before - level_lambda(s->from[i - 2])) / h;
    bend = 0.5 - (z - e) / (z * z);
    double both = (slope * r0 + bend) / (r0 + r1);
    d0 = (slope + both) / r0;
    d1 = -both / r1;
  }
  weights[0] += d0;
  weights[1] = d1 - d0;
  weights[2] = -d1;
}

static void fill(const struct schedule *s, struct sampler_table *table) {
  for (int i = 0; i < s->count; i++) {
    struct estimate e = schedule_estimate(s, i);
    struct linear known = s->config->solver_epsilon && !s->impl->fresh ? e.eps : e.x0;
    struct solver way = solver(s, i);
    double w[3];
    weigh(s, i, &way, w);
    struct linear to = {way.scale + way.gain * w[0] * known.x, way.gain * w[0] * known.model};
    struct step_params *step = &table->step[i];
    *step = step_params(s->timestep[i], to, way.noise);
    step->keep_x = (float)known.x;
    step->keep_model = (float)known.model;
    for (int j = 0; j < 2; j++)
      step->earlier[j] = (float)(way.gain * w[j + 1]);
  }
}

static int earlier(const struct scheduler_config *config) {
  return config->solver_order - 1;
}

const struct sampler_impl sampler_dpm = {.finite_sigma = true,
                                         .skips_lowest = true,
                                         .sigmas = SIGMAS_ALL,
                                         .final = FINAL_SIGMA,
                                         .earlier = earlier,
                                         .fill = fill};

const struct sampler_impl sampler_dpm_sde = {.finite_sigma = true,
                                             .skips_lowest = true,
                                             .sigmas = SIGMAS_ALL,
                                             .final = FINAL_SIGMA,
                                             .fresh = FRESH_ALL,
                                             .earlier = earlier,
                                             .fill = fill};
