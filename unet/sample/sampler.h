/* Schedules and samplers as pure functions: steps and strength in, the coefficients of OP_START and OP_STEP out.
 *
 * One state convention, variance preserving: x_t = a_t x0 + b_t eps with a_t = sqrt(abar_t), b_t = sqrt(1 - abar_t).
 * Euler on sigmas (y = x_t / a_t) is the same walk in other units, so its results are those of diffusers. */
#ifndef UNET_SAMPLE_SAMPLER_H
#define UNET_SAMPLE_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "unet/base/samplers.h"
#include "unet/plan/run.h"

enum prediction { PREDICT_EPSILON, PREDICT_V /* v = a eps - b x0 */, PREDICT_SAMPLE /* x0 */ };

enum beta_schedule { BETAS_SCALED_LINEAR, BETAS_LINEAR };

/* Of DPM++ and UniPC. */
enum solver_type { SOLVER_MIDPOINT, SOLVER_HEUN, SOLVER_BH1, SOLVER_BH2 };
enum { SOLVER_ORDER_MAX = 3 };

/* What a scheduler's file asks for that is not supported: of the sampler, or of the spacing of its steps. Either may be
 * chosen in its place. */
enum scheduler_lack { LACKS_SPACING = 1, LACKS_SAMPLER = 2 };

/* scheduler_config.json, as checkpoint.c reads it. */
struct scheduler_config {
  unsigned lacks;      /* of enum scheduler_lack: DDIM, or the usual spacing, is in its place here */
  char class_name[64]; /* "EulerDiscreteScheduler": as the file says, even where sampler is a stand-in */
  enum sampler sampler;
  bool stand_in;        /* sampler is not what the file names */
  enum spacing spacing; /* SPACING_LCM for LCMScheduler */
  enum prediction prediction;
  bool says_prediction; /* the file has a field for it: else it is what the class takes without one */
  enum beta_schedule beta_schedule;
  double beta_start, beta_end;
  bool zero_snr;                /* rescale_betas_zero_snr */
  int steps_offset;             /* leading spacing */
  bool clip_sample;             /* what is predicted of the picture is clipped to -1..1: not supported */
  bool set_alpha_to_one;        /* DDIM: the last step ends on abar 1, else on abar_0 */
  int original_inference_steps; /* LCM spacing: timesteps that those of the steps are chosen from */
  double timestep_scaling;      /* LCM boundary condition */
  enum spacing sigmas;          /* SPACING_KARRAS or what follows it; SPACING_AUTO: those of the timesteps */
  double sigma_min, sigma_max;  /* its ends; 0: the schedule's */
  bool final_sigma_min;         /* the last step leaves the noise of timestep 0 */
  int solver_order;             /* 1..SOLVER_ORDER_MAX */
  enum solver_type solver_type;
  bool solver_epsilon;    /* DPM-Solver as first published, on predictions of noise */
  bool lower_order_final; /* fewer earlier predictions count in the last steps */
  bool warms_up;          /* PNDM: Runge-Kutta steps come first: not supported */
  bool euler_at_final;    /* none in the last one */
  uint64_t uncorrected;   /* UniPC: bit i: what step i led to is not corrected by the next one */
};

/* What one run of the sampler is to do. */
struct sampling {
  enum sampler sampler;
  enum spacing spacing;
  int steps;            /* 1..STEPS_MAX */
  double strength;      /* above 0 to 1; text to image ignores it. Strength 0 is the engine's: it returns the input */
  bool text_to_image;   /* no starting latent */
  bool image_condition; /* the U-Net sees the input picture itself: at strength 1 the start is pure noise */
  bool quantised;       /* diffusers' rules to the letter: see sampler_table */
  bool lcm_pipeline;    /* of these, the one of the pipeline for full LCM */
  int noisiest;         /* the timestep that strength 1 begins at; 0: the last of training */
  bool snap;            /* the start is the nearest of 249, 499, 749, 999 */
  enum spacing sigmas;  /* as scheduler_config's */
  double eta;           /* 0 to 1: how much of each step of DDIM and TCD is fresh noise */
};

struct sampler_table {
  int steps; /* calls of the network; fewer than sampler_calls where quantised strength leaves fewer */
  struct step_params step[CALLS_MAX];
  struct residual_params residual[CALLS_MAX]; /* OP_GUIDE, of the same calls */
  float start_latent, start_noise;            /* OP_START */
};

/* abar[0..TIMESTEPS), in double. */
void sampler_abar(const struct scheduler_config *config, double abar[TIMESTEPS]);
/* abar at a real timestep from 0 to TIMESTEPS - 1: between two of training's, sigma is taken in between, as diffusers'
 * Euler has it. */
double sampler_abar_at(const double abar[TIMESTEPS], double t);

/* Fills *table.
 *
 * Continuous strength (quantised false): t = round(1000 strength) - 1 is the first timestep; all the steps are spread
 * over [0, t] by the rule of sampling->spacing, and each goes to the next one's timestep. Quantised: diffusers'
 * image-to-image keeps the last int(steps * strength) timesteps of strength 1 (at least one here, where diffusers
 * fails); with lcm_pipeline, LCM spacing truncates the list that timesteps are chosen from instead; DDIM goes to
 * t - 1000 / steps (integer division), which differs from the next timestep where steps does not divide 1000.
 *
 * Noise: OP_START and the steps of SAMPLER_LCM and SAMPLER_EULER_ANCESTRAL need independent noise, so OP_START's noise
 * operand and OP_STEP's must be different noise samples: noise_fill's sample 0, and noise samples 1 + step. */
void sampler_table(const struct scheduler_config *config, const struct sampling *sampling, struct sampler_table *table);

/* How often the network is asked in so many steps. */
int sampler_calls(enum sampler sampler, int steps);
/* How many calls are followed by noise of their own, whatever strength and eta: the first ones. The others' coefficient
 * is 0 in every table. */
int sampler_noise_samples(enum sampler sampler, int steps);
/* How many earlier predictions the table of so many steps looks back on, at most. */
int sampler_earlier(const struct scheduler_config *config, enum sampler sampler, int steps);

/* How many of a table's first calls hold all that add noise. */
int sampler_table_noise(const struct sampler_table *table);

/* Puts steps that change nothing behind the others until there are count: a plan made for count steps can then run the
 * table, and the steps keep their numbers, which say what noise they add. */
void sampler_pad(struct sampler_table *table, int count);

bool sampler_has_lcm_spacing(enum sampler sampler); /* SPACING_LCM is its own */
bool sampler_takes_sigmas(enum sampler sampler);    /* SPACING_KARRAS and what follows it */
int sampler_usual_steps(enum sampler sampler);      /* that suit it; 0: it depends on the model */
bool sampler_has_eta(enum sampler sampler);
double sampler_usual_eta(enum sampler sampler);

const char *sampler_name(enum sampler sampler);
enum sampler sampler_of_word(const char *word); /* SAMPLER_AUTO: none is called so */
const char *spacing_name(enum spacing spacing);
const char *prediction_name(enum prediction prediction); /* "epsilon", "v", "sample" */

#endif
