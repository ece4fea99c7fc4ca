#include "unet/sample/schedule.h"

/* Fills the steps. eta is the standard deviation of the noise that each step adds, relative to that of DDPM: 0 is
 * DDIM. */
static void fill_steps(const struct schedule *s, double eta, struct sampler_table *table) {
  for (int i = 0; i < s->count; i++) {
    struct level from = s->from[i], to = s->to[i];
    double kept = from.a / to.a, fresh = eta * (to.b / from.b) * sqrt(fmax(0, 1 - kept * kept));
    struct linear x = estimate_mix(schedule_estimate(s, i), to.a, sqrt(fmax(0, to.b * to.b - fresh * fresh)));
    table->step[i] = step_params(s->timestep[i], x, fresh);
  }
}

static void fill(const struct schedule *s, struct sampler_table *table) {
  fill_steps(s, s->sampling->eta, table);
}

static void fill_ddpm(const struct schedule *s, struct sampler_table *table) {
  fill_steps(s, 1, table);
}

const struct sampler_impl sampler_ddim = {
    .by_ratio = true, .final = FINAL_ALPHA, .fresh = FRESH_ALL, .has_eta = true, .fill = fill};

/* The sampler of Ho, Jain, Abbeel, "Denoising Diffusion Probabilistic Models", 2020, with the smaller of its two
 * variances. */
const struct sampler_impl sampler_ddpm = {.fresh = FRESH_BUT_LAST, .fill = fill_ddpm};
