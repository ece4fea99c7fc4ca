/* Zheng et al., "Trajectory Consistency Distillation", 2024, algorithm 4. Each step leads below the next noise level,
 * to (1 - eta) of its timestep, and fresh noise leads back up to that level; the last step ends at timestep 0. */
#include "unet/sample/schedule.h"

static void fill(const struct schedule *s, struct sampler_table *table) {
  double eta = s->sampling->eta;
  for (int i = 0; i < s->count; i++) {
    bool last = i == s->count - 1;
    struct level to = s->to[i], below = last ? to : schedule_level(s, floor((1 - eta) * s->timestep[i + 1]));
    double kept = to.a / below.a;
    struct linear x = estimate_mix(schedule_estimate(s, i), kept * below.a, kept * below.b);
    table->step[i] = step_params(s->timestep[i], x, eta > 0 ? sqrt(fmax(0, 1 - kept * kept)) : 0);
  }
}

const struct sampler_impl sampler_tcd = {.lcm_spacing = true,
                                         .final = FINAL_LOWEST,
                                         .fresh = FRESH_BUT_LAST,
                                         .has_eta = true,
                                         .usual_eta = 0.3,
                                         .usual_steps = 4,
                                         .fill = fill};
