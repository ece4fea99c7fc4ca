/* The linear multistep method (PLMS) of Liu et al., "Pseudo Numerical Methods for Diffusion Models on Manifolds", 2022,
 * without its Runge-Kutta steps, as Stable Diffusion uses it. If there are several steps, the first one is done twice:
 * the network is called again at the noise level where the step ends, and the step is repeated with the mean of both
 * predictions. */
#include "unet/sample/schedule.h"

/* Returns true if steps combine the network's outputs themselves, not the noise that follows from them. For velocities
 * (v) the noise would be better: equal velocities at different noise levels stand for different noise. But diffusers
 * combines velocities (quantised). And if the noise schedule ends without signal (zero_snr), the noise cannot be
 * computed from a velocity at its last level. */
static bool keeps_outputs(const struct schedule *s) {
  return s->config->prediction != PREDICT_V || s->sampling->quantised || s->config->zero_snr;
}

/* Returns the quantity that later steps combine: the network's output, or the noise that this output predicts (see
 * keeps_outputs). Both are sums of the latent and the output; the result holds their factors at this noise level
 * (struct linear). */
static struct linear known_at(const struct schedule *s, struct level level) {
  return keeps_outputs(s) ? (struct linear){0, 1} : level_estimate(s->config->prediction, level).eps;
}

/* Returns the latent at the end of a step from one noise level to another, as factors of two summands. x: factor of the
 * latent at the step's beginning; model: factor of the network's output, or of the noise that it predicts (known_at),
 * which is assumed to be constant during the step. */
static struct linear lead(const struct schedule *s, struct level from, struct level to) {
  enum prediction prediction = keeps_outputs(s) ? s->config->prediction : PREDICT_EPSILON;
  return estimate_mix(level_estimate(prediction, from), to.a, to.b);
}

/* Returns the coefficients of the first step's repetition: they undo the first attempt, and make the step with the mean
 * of both predictions. */
static struct step_params second_try(const struct schedule *s, struct linear first) {
  struct level from = s->from[0], to = s->to[0];
  /* As in diffusers, the repetition begins at the noise level that lies 1000 / steps timesteps above timestep[1]. This
   * need not be the noise level where the first attempt began. */
  if (s->sampling->quantised) {
    from = schedule_level(s, fmin(s->timestep[1] + TIMESTEPS / s->full_count, TIMESTEPS - 1));
    to = s->from[1];
  }
  struct linear whole = lead(s, from, to), known = known_at(s, s->from[1]);
  double undone = whole.x / first.x, half = whole.model / 2;
  struct step_params step =
      step_params(s->timestep[1], (struct linear){undone + half * known.x, half * known.model}, 0);
  step.earlier[0] = (float)(half - undone * first.model);
  return step;
}

static void fill(const struct schedule *s, struct sampler_table *table) {
  static const double weights[4][4] = {
      {1}, {3 / 2., -1 / 2.}, {23 / 12., -16 / 12., 5 / 12.}, {55 / 24., -59 / 24., 37 / 24., -9 / 24.}};
  for (int i = 0, call = 0; i < s->count; i++, call++) {
    const double *w = weights[i < 3 ? i : 3];
    struct linear whole = lead(s, s->from[i], s->to[i]), known = known_at(s, s->from[i]);
    double now = w[0] * whole.model;
    struct step_params *step = &table->step[call];
    *step = step_params(s->timestep[i], (struct linear){whole.x + now * known.x, now * known.model}, 0);
    step->keep_x = (float)known.x;
    step->keep_model = (float)known.model;
    for (int j = 0; j < EARLIER_MAX; j++)
      step->earlier[j] = (float)(w[j + 1] * whole.model);
    if (i == 0 && s->count > 1)
      table->step[++call] = second_try(s, whole);
  }
}

static int earlier(const struct scheduler_config *config) {
  (void)config;
  return EARLIER_MAX;
}

const struct sampler_impl sampler_pndm = {
    .by_ratio = true, .final = FINAL_ALPHA, .asks_twice = true, .earlier = earlier, .fill = fill};
