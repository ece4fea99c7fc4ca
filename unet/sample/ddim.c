#include "unet/sample/schedule.h"

/* eta: the share of fresh noise in a step, of as much as leaves the noise of DDPM. */
static void fill(const struct schedule *s, struct sampler_table *table) {
  for (int i = 0; i < s->count; i++) {
    struct level from = s->from[i], to = s->to[i];
    double kept = from.a / to.a, fresh = s->sampling->eta * (to.b / from.b) * sqrt(fmax(0, 1 - kept * kept));
    struct linear x = estimate_mix(schedule_estimate(s, i), to.a, sqrt(fmax(0, to.b * to.b - fresh * fresh)));
    table->step[i] = step_params(s->timestep[i], x, fresh);
  }
}

const struct sampler_impl sampler_ddim = {
    .by_ratio = true, .final = FINAL_ALPHA, .fresh = FRESH_ALL, .has_eta = true, .fill = fill};
