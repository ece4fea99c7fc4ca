/* Schedules and samplers as pure functions: from the number of steps and the strength they compute the coefficients of
 * the ops OP_START (start of sampling) and OP_STEP (a step).
 *
 * All samplers use the variance-preserving state x_t = a_t x0 + b_t eps with a_t = sqrt(abar_t), b_t = sqrt(1 -
 * abar_t). Euler on sigmas (y = x_t / a_t) is the same method with another scaling, so its results are those of
 * diffusers. */
#ifndef UNET_SAMPLE_SAMPLER_H
#define UNET_SAMPLE_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "unet/base/samplers.h"
#include "unet/plan/run.h"

enum prediction { PREDICT_EPSILON, PREDICT_V /* the network predicts v = a eps - b x0 */, PREDICT_SAMPLE /* x0 */ };

enum beta_schedule { BETAS_SCALED_LINEAR, BETAS_LINEAR };

/* Variants of a solver: SOLVER_MIDPOINT and SOLVER_HEUN are for DPM-Solver++, the other two for UniPC. */
enum solver_type { SOLVER_MIDPOINT, SOLVER_HEUN, SOLVER_BH1, SOLVER_BH2 };
enum { SOLVER_ORDER_MAX = 3 };

/* Settings of a scheduler's file that are not supported: its spacing of the steps, or its sampler. The user may choose
 * another spacing or sampler. */
enum scheduler_lack { LACKS_SPACING = 1, LACKS_SAMPLER = 2 };

/* The settings of scheduler_config.json, as config_scheduler.c has read them. */
struct scheduler_config {
  /* The fields from `lacks` to `says_prediction` tell which sampler the file names, and what the network predicts. */
  /* which of the file's settings are not supported, as bits of enum scheduler_lack. In place of an unsupported spacing
   * the struct has the default one; in place of an unsupported sampler it has DDIM */
  unsigned lacks;
  /* name of the scheduler's class in the file ("EulerDiscreteScheduler"), even if `sampler` is another one */
  char class_name[64];
  enum sampler sampler;
  bool stand_in; /* true: the file names a sampler that is not built in, and the one in `sampler` is used in its
                  * place */
  /* spacing of the timesteps: that of the scheduler's config file. Classes with a fixed spacing have that one
   * (LCMScheduler: SPACING_LCM) */
  enum spacing spacing;
  enum prediction prediction;
  bool says_prediction; /* true: the file says what the network predicts; false: it is the default of the class */

  /* The fields from `beta_schedule` to `final_sigma_min` describe the noise schedule and the noise levels of the
   * steps. */
  enum beta_schedule beta_schedule;
  double beta_start, beta_end;
  bool zero_snr;    /* rescale_betas_zero_snr in the scheduler's file: the noise schedule ends at pure noise */
  int steps_offset; /* leading spacing: number that is added to each timestep */
  /* true: the file asks to clip the predicted picture to -1..1, which no sampler here does */
  bool clip_sample;
  /* DDIM: true: the last step ends without noise (abar 1); false: it ends at the noise of timestep 0 (abar_0) */
  bool set_alpha_to_one;
  /* LCM spacing: LCM divides the training's timesteps evenly into this many; the sampler's steps use some of these */
  int original_inference_steps;
  /* LCM: factor of the timestep in the formulas for c_skip and c_out (the boundary condition) */
  double timestep_scaling;
  /* formula for the noise levels of the steps: SPACING_KARRAS or one that follows it in enum spacing; SPACING_AUTO:
   * none, each step has the noise level of its timestep */
  enum spacing sigmas;
  /* smallest and largest sigma (noise level) of the spacing `sigmas`; 0: the schedule's own smallest and largest */
  double sigma_min, sigma_max;
  bool final_sigma_min; /* true: the last step ends at the noise level of timestep 0; false: it ends without noise */

  /* The following fields are options of only some samplers. */
  int solver_order; /* order of a multistep solver, 1 to SOLVER_ORDER_MAX */
  enum solver_type solver_type;
  /* true: the solver is the first DPM-Solver, which combines predictions of noise; false: DPM-Solver++, which combines
   * predictions of the picture */
  bool solver_epsilon;
  bool lower_order_final; /* true: the last steps use fewer earlier predictions than solver_order allows */
  bool warms_up;        /* PNDM: true: the file asks for Runge-Kutta steps at the beginning, which are not supported */
  bool euler_at_final;  /* true: the last step uses only its own prediction, as Euler does */
  uint64_t uncorrected; /* UniPC: if bit i is set, the corrector does not change the result of step i */
};

/* A sampler, with the settings from which the coefficients of its steps are computed. */
struct sampling {
  /* The fields from `sampler` to `image_condition` choose the sampler, the number of its steps, and the noise level at
   * which it starts. */
  enum sampler sampler;
  enum spacing spacing;
  int steps; /* number of steps, 1 to STEPS_MAX; if `quantised` is true, a strength below 1 leaves some of them out */
  /* how much of the input is replaced, above 0 and at most 1; ignored for text to image. With strength 0 the engine
   * returns the input without sampling. */
  double strength;
  bool text_to_image; /* true: sampling starts from noise alone, because there is no input picture */
  /* true: the U-Net reads the input picture itself, so that at strength 1 sampling starts from pure noise */
  bool image_condition;

  /* The following fields choose the timesteps, the noise levels and the noise of the steps. */
  /* true: the rounding rules of diffusers are followed exactly (see sampler_table); false: the strength is
   * continuous */
  bool quantised;
  bool lcm_pipeline; /* true (only with quantised): the rules of diffusers' pipeline for full LCM models are used */
  int noisiest; /* timestep from which sampling starts at strength 1; 0: the last timestep of the network's training */
  bool snap;    /* true: the first timestep is rounded to the nearest of 249, 499, 749, 999 */
  enum spacing sigmas; /* spacing of noise levels, with the meaning of scheduler_config.sigmas */
  double eta;          /* 0 to 1, DDIM and TCD: how much fresh noise each step adds; 0 adds none */
};

struct sampler_table {
  /* number of calls of the network; it is less than sampler_calls if strength, with `quantised`, leaves out steps */
  int steps;
  struct step_params step[CALLS_MAX];
  /* coefficients of residual guidance (OP_GUIDE) for each call of the network */
  struct residual_params residual[CALLS_MAX];
  /* coefficients of OP_START (start of sampling): factors of the input's latent and of the noise */
  float start_latent, start_noise;
};

/* Computes abar, the cumulative product of the alphas (1 - beta), in double precision for each timestep of the
 * network's training. */
void sampler_abar(const struct scheduler_config *config, double abar[TIMESTEPS]);
/* Returns abar at a timestep from 0 to TIMESTEPS - 1 that need not be a whole number. Between two timesteps of the
 * training, sigma = sqrt((1 - abar) / abar) is interpolated, as in diffusers' Euler. */
double sampler_abar_at(const double abar[TIMESTEPS], double t);

/* Computes the coefficients of all steps into *table.
 *
 * If quantised is false, strength is continuous: the first timestep is t = round(1000 strength) - 1. The steps are
 * spread over [0, t] by sampling->spacing, and each ends at the timestep where the next one begins.
 *
 * If quantised is true, the table has the last int(steps * strength) of the timesteps for strength 1, as in diffusers'
 * image-to-image; if that number is 0, it has one timestep, where diffusers fails. With lcm_pipeline, LCM spacing
 * instead shortens the list from which timesteps are chosen. A step of DDIM or PNDM from timestep t ends at t - 1000 /
 * steps (integer division); if 1000 is no multiple of steps, the next step does not begin there.
 *
 * OP_START and each step that adds noise (of LCM, Euler ancestral and others) need independent noise. So their noise
 * operands must be different samples of noise_fill: sample 0 for OP_START, sample 1 + step for the OP_STEPs. */
void sampler_table(const struct scheduler_config *config, const struct sampling *sampling, struct sampler_table *table);

/* Returns how often the network is called in this many steps: PNDM calls it twice in the first step, if there are
 * several steps. */
int sampler_calls(enum sampler sampler, int steps);
/* Returns the number of network calls, from the first one, after which fresh noise may be added. After later calls the
 * coefficient of noise is always 0, whatever strength and eta are. */
int sampler_noise_samples(enum sampler sampler, int steps);
/* Returns the largest number of earlier predictions that a step uses in a table of this many steps. */
int sampler_earlier(const struct scheduler_config *config, enum sampler sampler, int steps);

/* Returns 1 + the number of the last call after which this table adds noise; 0: it adds no noise. */
int sampler_table_noise(const struct sampler_table *table);

/* Appends steps that change nothing until the table has `count` steps. A network that was prepared for `count` steps
 * can then run the table. The table's own steps keep their numbers, which select the noise that they add. */
void sampler_pad(struct sampler_table *table, int count);

bool sampler_has_lcm_spacing(enum sampler sampler); /* Returns true if the sampler's default spacing is SPACING_LCM. */
/* Returns true if the sampler can use spacings that compute noise levels by a formula: SPACING_KARRAS and those
 * that follow it in enum spacing. */
bool sampler_takes_sigmas(enum sampler sampler);
/* Returns the recommended number of steps; 0: it depends on the model. */
int sampler_usual_steps(enum sampler sampler);
/* sampler_has_eta returns true if the sampler reads sampling->eta; sampler_usual_eta returns the recommended eta. */
bool sampler_has_eta(enum sampler sampler);
double sampler_usual_eta(enum sampler sampler);

const char *sampler_name(enum sampler sampler);
/* Returns the sampler with this name on the command line; SAMPLER_AUTO: there is none. */
enum sampler sampler_of_word(const char *word);
const char *spacing_name(enum spacing spacing);
const char *prediction_name(enum prediction prediction); /* Returns "epsilon", "v" or "sample". */

#endif
