#include <math.h>

#include "unet/sample/schedule.h"

static void fill_euler(const struct schedule *s, struct sampler_table *table) {
  for (int i = 0; i < s->count; i++)
    table->step[i] = step_params(s->timestep[i], estimate_mix(schedule_estimate(s, i), s->to[i].a, s->to[i].b), 0);
}

const struct sampler_impl sampler_euler = {.finite_sigma = true,
                                           .real_timesteps = true,
                                           .noise_by_sigma = true,
                                           .sigmas = SIGMAS_OF_STEPS,
                                           .final = FINAL_SIGMA,
                                           .fill = fill_euler};

/* Fills the steps of ancestral Euler, in which a part of the noise after each step is fresh: y' = x0 + down eps + up
 * noise, with down^2 + up^2 = sigma'^2. sigma' is the noise level after the step; x0 and eps are the picture and the
 * noise that the network predicts; y' is the latent after the step, divided by a, the picture's factor in it. */
static void fill_ancestral(const struct schedule *s, struct sampler_table *table) {
  for (int i = 0; i < s->count; i++) {
    double a = s->to[i].a, sigma = s->to[i].b / a, part = sigma / (s->from[i].b / s->from[i].a);
    double up = sigma * sqrt(fmax(0, 1 - part * part));
    table->step[i] = step_params(s->timestep[i], estimate_mix(schedule_estimate(s, i), a, a * sigma * part), a * up);
  }
}

const struct sampler_impl sampler_euler_ancestral = {.finite_sigma = true,
                                                     .real_timesteps = true,
                                                     .noise_by_sigma = true,
                                                     .fresh = FRESH_BUT_LAST,
                                                     .fill = fill_ancestral};
