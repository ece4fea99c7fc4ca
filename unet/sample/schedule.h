/* Types and functions for all samplers: the noise levels of a run, and what a prediction at a level says of picture and
 * noise. */
#ifndef UNET_SAMPLE_SCHEDULE_H
#define UNET_SAMPLE_SCHEDULE_H

#include <math.h>

#include "unet/sample/sampler.h"

/* A noise level: x = a x0 + b eps with a^2 + b^2 = 1. */
struct level {
  double a, b;
};

/* The steps of a run: step i calls the network at timestep[i] and leads from level from[i] to level to[i]. */
struct schedule {
  const struct scheduler_config *config;
  const struct sampling *sampling;
  const struct sampler_impl *impl;
  double abar[TIMESTEPS];
  int full_count; /* number of steps at strength 1; the run has only the last `count` of them */
  int count;
  double timestep[STEPS_MAX];
  struct level from[STEPS_MAX], to[STEPS_MAX];
};

/* The level at which the last step ends. */
enum final {
  FINAL_PICTURE, /* no noise is left */
  FINAL_ALPHA,   /* no noise, or the level of timestep 0: set_alpha_to_one decides */
  FINAL_SIGMA,   /* no noise, or the level of timestep 0: final_sigmas_type decides */
  FINAL_LOWEST,  /* the level of timestep 0 */
};

/* The steps that may add fresh noise: none, all but the last, or all. */
enum fresh { FRESH_NONE, FRESH_BUT_LAST, FRESH_ALL };

/* Tells if the sampler can use SPACING_KARRAS and the following rows, and over which range of levels. */
enum sigmas { SIGMAS_NONE, SIGMAS_OF_STEPS /* from the first level of the steps to the last */, SIGMAS_ALL };

/* The properties and functions of one sampler. */
struct sampler_impl {
  bool finite_sigma;   /* a signal-to-noise ratio of zero is replaced by a small positive one */
  bool real_timesteps; /* with linspace spacing timesteps are real numbers; otherwise they are rounded to integers */
  /* with quantised, every step ends 1000 / steps timesteps below its own, wherever the next one begins */
  bool by_ratio;
  /* linspace and leading spacing make one timestep more than there are steps, and the lowest is left out */
  bool skips_lowest;
  bool lcm_spacing; /* SPACING_AUTO means SPACING_LCM for this sampler */
  /* noise alone is scaled by init_noise_sigma at the start, as in diffusers' Euler: see make_start */
  bool noise_by_sigma;
  enum sigmas sigmas;
  enum final final;
  enum fresh fresh;
  bool has_eta;
  double usual_eta;
  bool asks_twice; /* the network is called twice for the first of several steps */
  int usual_steps; /* recommended number of steps; 0: it depends on the model */
  /* Returns how many earlier predictions, at most, a step uses. NULL: no step uses any. */
  int (*earlier)(const struct scheduler_config *config);
  /* Fills table->step, one entry for each call of the network. eta, for samplers that have it, is in
   * schedule->sampling. */
  void (*fill)(const struct schedule *schedule, struct sampler_table *table);
};

/* Fills *schedule with the timesteps and levels of a run. config and sampling must exist as long as *schedule is
 * used. */
void schedule_make(struct schedule *schedule, const struct scheduler_config *config, const struct sampling *sampling,
                   const struct sampler_impl *impl);
/* Returns the order that step i's multistep formula can have, at most `order`: it needs order - 1 earlier predictions,
 * each at a lower lambda than the next. */
int schedule_order(const struct schedule *schedule, int i, int order);
/* Solves sum over k < count of at[k]^j x[k] = b[j] for j = 0 .. count - 1. All at[k] must differ; count is at most
 * SOLVE_MAX. */
enum { SOLVE_MAX = EARLIER_MAX + 1 };
void schedule_solve(const double *at, const double *b, int count, double *x);
/* Returns the level at a timestep from 0 to TIMESTEPS - 1. */
struct level schedule_level(const struct schedule *schedule, double timestep);

/* The linear combination x * X + model * M of a latent X and the network's output M for it. */
struct linear {
  double x, model;
};

/* The picture and noise that the network's output predicts, as factors of the latent and of the output: the picture x0
 * and the noise eps. level_estimate is for an output at a level, schedule_estimate for that of step i. */
struct estimate {
  struct linear x0, eps;
};
struct estimate level_estimate(enum prediction prediction, struct level level);

static inline struct estimate schedule_estimate(const struct schedule *schedule, int i) {
  return level_estimate(schedule->config->prediction, schedule->from[i]);
}

/* Returns the coefficients of residual guidance for step i. */
struct residual_params schedule_residual(const struct schedule *schedule, int i);

/* Returns the logarithm of the square root of the signal-to-noise ratio; infinity without noise. */
static inline double level_lambda(struct level level) {
  return log(level.a / level.b);
}

/* Returns x0 * e.x0 + eps * e.eps: the state to which a step leads. */
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
