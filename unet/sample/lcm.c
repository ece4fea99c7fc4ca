#include <math.h>

#include "unet/sample/schedule.h"

/* Fills the steps. A step computes d = c_out x0 + c_skip x, and from it x' = a' d + b' noise with fresh noise, where a'
 * and b' are the next noise level's factors. The result of the last step is d. */
static void fill(const struct schedule *s, struct sampler_table *table) {
  for (int i = 0; i < s->count; i++) {
    /* variance is sigma_data^2, with sigma_data = 0.5 as in the paper on consistency models */
    double scaled = s->timestep[i] * s->config->timestep_scaling, variance = 0.25;
    double c_skip = variance / (scaled * scaled + variance), c_out = scaled / sqrt(scaled * scaled + variance);
    struct linear d = estimate_mix(schedule_estimate(s, i), c_out, 0);
    d.x += c_skip;
    table->step[i] = step_params(s->timestep[i], (struct linear){s->to[i].a * d.x, s->to[i].a * d.model}, s->to[i].b);
  }
}

const struct sampler_impl sampler_lcm = {.lcm_spacing = true, .fresh = FRESH_BUT_LAST, .usual_steps = 4, .fill = fill};
