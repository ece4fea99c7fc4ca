/* The timesteps and noise levels of a sampler's steps, and functions that compute picture and noise from the network's
 * output at a noise level. All samplers use them. */
#ifndef UNET_SAMPLE_SCHEDULE_H
#define UNET_SAMPLE_SCHEDULE_H

#include <math.h>

#include "unet/sample/sampler.h"

/* A noise level: a noisy latent is x = a x0 + b eps, where x0 is the picture, eps is standard normal noise, and a^2 +
 * b^2 = 1. */
struct level {
  double a, b;
};

/* The schedule of a sampler: step i calls the network at timestep[i] and leads from noise level from[i] to level
 * to[i]. */
struct schedule {
  const struct scheduler_config *config;
  const struct sampling *sampling;
  const struct sampler_impl *impl;
  double abar[TIMESTEPS];
  /* number of steps at strength 1; at a lower strength this schedule may have only the last `count` of them */
  int full_count;
  int count;
  double timestep[STEPS_MAX];
  struct level from[STEPS_MAX], to[STEPS_MAX];
};

/* The noise level at which the last step ends. */
enum final {
  FINAL_PICTURE, /* the last step ends without noise */
  FINAL_ALPHA,   /* the setting set_alpha_to_one decides: the last step ends without noise (true), or at the noise level
                  * of timestep 0 */
  FINAL_SIGMA,   /* the last step ends without noise, or at the noise level of timestep 0: the setting final_sigmas_type
                  * decides */
  FINAL_LOWEST,  /* the last step ends at the noise level of timestep 0, at which a little noise is left */
};

/* The steps that may add fresh noise: none, all but the last, or all. */
enum fresh { FRESH_NONE, FRESH_BUT_LAST, FRESH_ALL };

/* The range of noise levels that a sampler can divide into steps by a formula (SPACING_KARRAS and those that follow it
 * in enum spacing). SIGMAS_NONE: the sampler has no such spacings. SIGMAS_ALL: the whole range of the schedule. */
enum sigmas {
  SIGMAS_NONE,
  SIGMAS_OF_STEPS /* the range from the noise level of the first step to that of the last */,
  SIGMAS_ALL
};

/* The properties and functions of one sampler. */
struct sampler_impl {
  /* true: where the schedule has no signal left (a signal-to-noise ratio of 0), a small positive ratio is used
   * instead */
  bool finite_sigma;
  bool real_timesteps; /* timesteps that follow from linspace spacing or from noise levels: true: they are real numbers;
                        * false: they are rounded to integers */
  /* true: if sampling->quantised, every step spans 1000 / steps timesteps. The next step may then begin at another
   * timestep than the one at which this step ends */
  bool by_ratio;
  /* true: with linspace and leading spacing, one timestep more than there are steps is made, and the lowest one is
   * dropped */
  bool skips_lowest;
  bool lcm_spacing; /* true: SPACING_AUTO means SPACING_LCM for this sampler */
  /* true: if sampling starts from noise alone, the noise is scaled by init_noise_sigma, as in diffusers' Euler: see
   * make_start */
  bool noise_by_sigma;
  enum sigmas sigmas;
  enum final final;
  enum fresh fresh;
  bool has_eta;
  double usual_eta;
  bool asks_twice; /* true: if there are several steps, the network is called twice in the first one */
  int usual_steps; /* recommended number of steps; 0: it depends on the model */
  /* Returns the largest number of earlier predictions that any step uses. NULL: no step uses any. */
  int (*earlier)(const struct scheduler_config *config);
  /* Fills table->step, with one entry for each call of the network. Samplers that have an eta read it from
   * schedule->sampling->eta. */
  void (*fill)(const struct schedule *schedule, struct sampler_table *table);
};

/* Fills *schedule with the timesteps and noise levels of all steps. `config` and `sampling` must exist as long as
 * *schedule is used. */
void schedule_make(struct schedule *schedule, const struct scheduler_config *config, const struct sampling *sampling,
                   const struct sampler_impl *impl);
/* Returns the order of the multistep formula for step i, at most `order`. A formula of order n needs n - 1 earlier
 * predictions, made at lambdas (level_lambda) that increase from step to step. */
int schedule_order(const struct schedule *schedule, int i, int order);
/* Finds x[0] to x[count - 1] such that, for each j < count, the sum of at[k]^j x[k] over k is b[j]. The at[k] must all
 * differ; count is at most SOLVE_MAX. */
enum { SOLVE_MAX = EARLIER_MAX + 1 };
void schedule_solve(const double *at, const double *b, int count, double *x);
/* Returns the noise level at a timestep from 0 to TIMESTEPS - 1, which need not be a whole number. */
struct level schedule_level(const struct schedule *schedule, double timestep);

/* A sum x * X + model * M, where X is a latent and M is the network's output for this latent. */
struct linear {
  double x, model;
};

/* The picture x0 and the noise eps that follow from an output of the network, each as a weighted sum of latent and
 * output. level_estimate is for an output at any noise level, schedule_estimate for one at the level where step i
 * begins. */
struct estimate {
  struct linear x0, eps;
};
struct estimate level_estimate(enum prediction prediction, struct level level);

static inline struct estimate schedule_estimate(const struct schedule *schedule, int i) {
  return level_estimate(schedule->config->prediction, schedule->from[i]);
}

/* Returns the coefficients with which residual guidance (OP_GUIDE) makes its second prediction in step i. */
struct residual_params schedule_residual(const struct schedule *schedule, int i);

/* Returns lambda, the logarithm of the square root of the signal-to-noise ratio, at a noise level; infinity without
 * noise. */
static inline double level_lambda(struct level level) {
  return log(level.a / level.b);
}

/* Returns the sum x0 * e.x0 + eps * e.eps: the latent at the end of a step, for its factors x0 and eps of picture and
 * noise. */
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
