/* What the samplers share: the noise levels that a run goes through, and what a prediction says at one of them. */
#ifndef UNET_SAMPLE_SCHEDULE_H
#define UNET_SAMPLE_SCHEDULE_H

#include <math.h>

#include "unet/sample/sampler.h"

/* x = a x0 + b eps with a^2 + b^2 = 1. */
struct level {
  double a, b;
};

/* What a sampler goes by: step i asks the network at timestep[i] and leads from one level to another. */
struct schedule {
  const struct scheduler_config *config;
  const struct sampling *sampling;
  const struct sampler_impl *impl;
  double abar[TIMESTEPS];
  int full_count; /* steps of which the last count are taken */
  int count;
  double timestep[STEPS_MAX];
  struct level from[STEPS_MAX], to[STEPS_MAX];
};

/* Where the last step ends. */
enum final {
  FINAL_PICTURE, /* no noise is left */
  FINAL_ALPHA,   /* likewise, or at timestep 0: set_alpha_to_one */
  FINAL_SIGMA,   /* likewise: final_sigmas_type */
  FINAL_LOWEST,  /* at timestep 0 */
};

/* Which of the steps may add fresh noise. */
enum fresh { FRESH_NONE, FRESH_BUT_LAST, FRESH_ALL };

/* Whether SPACING_KARRAS and what follows it are taken, and over which levels. */
enum sigmas { SIGMAS_NONE, SIGMAS_OF_STEPS /* those that the spacing of timesteps gave */, SIGMAS_ALL };

/* A sampler's own part. */
struct sampler_impl {
  bool finite_sigma;   /* zero signal-to-noise ratio is a little above zero */
  bool real_timesteps; /* of linspace spacing; else they are rounded */
  bool by_ratio;       /* quantised, a step goes 1000 / steps down, wherever the next one begins */
  bool skips_lowest;   /* linspace and leading spacing are those of one step more, without the lowest */
  bool lcm_spacing;    /* SPACING_LCM is its own */
  bool noise_by_sigma; /* without a picture the start is as in diffusers' Euler: see make_start */
  enum sigmas sigmas;
  enum final final;
  enum fresh fresh;
  bool has_eta;
  double usual_eta;
  bool asks_twice; /* for the first of several steps */
  int usual_steps; /* that suit it; 0: it depends on the model */
  /* How many earlier predictions its steps look back on; NULL: none. */
  int (*earlier)(const struct scheduler_config *config);
  /* Fills the table's steps, one for each call of the network. */
  void (*fill)(const struct schedule *schedule, struct sampler_table *table);
};

/* The levels and timesteps of a run. */
void schedule_make(struct schedule *schedule, const struct scheduler_config *config, const struct sampling *sampling,
                   const struct sampler_impl *impl);
/* The order of step i's multistep formula: as wished, where so many predictions at different levels were made. */
int schedule_order(const struct schedule *schedule, int i, int order);
/* Solves sum over k of at[k]^j x[k] = b[j], j from 0. The places differ. */
enum { SOLVE_MAX = EARLIER_MAX + 1 };
void schedule_solve(const double *at, const double *b, int count, double *x);
/* The level at a timestep from 0 to TIMESTEPS - 1. */
struct level schedule_level(const struct schedule *schedule, double timestep);

/* x * X + model * M, of a latent X and the network's output M for it. */
struct linear {
  double x, model;
};

/* What the network's output at a level says; in step i. */
struct estimate {
  struct linear x0, eps;
};
struct estimate level_estimate(enum prediction prediction, struct level level);

static inline struct estimate schedule_estimate(const struct schedule *schedule, int i) {
  return level_estimate(schedule->config->prediction, schedule->from[i]);
}

/* What residual guidance makes of it. */
struct residual_params schedule_residual(const struct schedule *schedule, int i);

/* Logarithm of the signal-to-noise ratio's root; without noise infinite. */
static inline double level_lambda(struct level level) {
  return log(level.a / level.b);
}

/* x0 share[0] + eps share[1]: what steps lead to. */
static inline struct linear estimate_mix(struct estimate e, double x0, double eps) {
  return (struct linear){x0 * e.x0.x + eps * e.eps.x, x0 * e.x0.model + eps * e.eps.model};
}

static inline struct step_params step_params(double timestep, struct linear to, double noise) {
  return (struct step_params){
      .timestep = (float)timestep, .x = (float)to.x, .model = (float)to.model, .noise = (float)noise};
}

#define SAMPLER_IMPL(ID, identifier, ...) extern const struct sampler_impl sampler_##identifier;
SAMPLER_TABLE(SAMPLER_IMPL)
#undef SAMPLER_IMPL

#endif
