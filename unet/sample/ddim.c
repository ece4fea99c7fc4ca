#include "unet/sample/steps.h"

static void fill(const struct schedule *s, struct sampler_table *table) {
  for (int i = 0; i < s->count; i++)
    table->step[i] = step_params(s->timestep[i], estimate_mix(schedule_estimate(s, i), s->to[i].a, s->to[i].b), 0);
}

const struct sampler_impl sampler_ddim = {.by_ratio = true, .final = FINAL_ALPHA, .fill = fill};
