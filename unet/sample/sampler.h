/* Schedules and samplers as pure functions: they compute the coefficients of OP_START and OP_STEP from the number of
 * steps and the strength.
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

enum prediction { PREDICT_EPSILON, PREDICT_V /* v = a eps - b x0 */, PREDICT_SAMPLE /* x0 */ };

enum beta_schedule { BETAS_SCALED_LINEAR, BETAS_LINEAR };

/* The solver types of DPM++ and UniPC. */
enum solver_type { SOLVER_MIDPOINT, SOLVER_HEUN, SOLVER_BH1, SOLVER_BH2 };
enum { SOLVER_ORDER_MAX = 3 };

/* Parts of a scheduler's file that are not supported: its spacing of the steps, or its sampler. The user may choose
 * another. */
enum scheduler_lack { LACKS_SPACING = 1, LACKS_SAMPLER = 2 };

/* scheduler_config.json as checkpoint.c reads it. */
struct scheduler_config {
  /* The sampler and its prediction. */
  /* bits of enum scheduler_lack; for each of them the default spacing, or DDIM, is stored here instead */
  unsigned lacks;
  char class_name[64]; /* the class in the file ("EulerDiscreteScheduler"), even if sampler replaces it */
  enum sampler sampler;
  bool stand_in;        /* the file names a sampler that is not built in, and `sampler` stands for it */
  enum spacing spacing; /* SPACING_LCM for LCMScheduler */
  enum prediction prediction;
  bool says_prediction; /* the file has a field for the prediction; otherwise it is the class's default */

  /* The noise schedule, and the levels that the steps go through. */
  enum beta_schedule beta_schedule;
  double beta_start, beta_end;
  bool zero_snr;    /* rescale_betas_zero_snr */
  int steps_offset; /* leading spacing: added to each timestep */
  /* the file asks for a predicted picture that is clipped to -1..1, which is not supported */
  bool clip_sample;
  bool set_alpha_to_one;        /* DDIM: the last step ends at abar 1, otherwise at abar_0 */
  int original_inference_steps; /* LCM spacing: number of timesteps from which those of the steps are chosen */
  double timestep_scaling;      /* factor of the timestep in LCM's boundary condition */
  enum spacing sigmas;          /* SPACING_KARRAS or a following row; SPACING_AUTO: levels of the timesteps */
  /* smallest and largest sigma of the spacing `sigmas`; 0: those of the schedule */
  double sigma_min, sigma_max;
  bool final_sigma_min; /* the last step ends at the noise level of timestep 0 */

  /* Options of single samplers. */
  int solver_order; /* 1..SOLVER_ORDER_MAX */
  enum solver_type solver_type;
  /* true: DPM-Solver as first published, on predictions of noise; false: DPM-Solver++, on predictions of the picture */
  bool solver_epsilon;
  bool lower_order_final; /* the last steps use fewer earlier predictions */
  bool warms_up;          /* PNDM: begins with Runge-Kutta steps, which is not supported */
  bool euler_at_final;    /* the last step uses no earlier predictions */
  uint64_t uncorrected;   /* UniPC: if bit i is set, the result of step i is not corrected by the next one */
};

/* The parameters of one run of the sampler. */
struct sampling {
  /* The sampler, and how much of its schedule the run uses. */
  enum sampler sampler;
  enum spacing spacing;
  int steps; /* 1..STEPS_MAX */
  /* above 0, at most 1; text to image ignores it. The engine handles strength 0: it returns the input. */
  double strength;
  bool text_to_image;   /* the start is noise alone, because there is no input picture */
  bool image_condition; /* the U-Net reads the input picture itself, so at strength 1 the start is pure noise */

  /* The rules by which timesteps are chosen. */
  bool quantised;      /* follow diffusers' rounding rules exactly: see sampler_table */
  bool lcm_pipeline;   /* with quantised: use the rules of diffusers' pipeline for full LCM models */
  int noisiest;        /* timestep at which strength 1 begins; 0: the last one of the training */
  bool snap;           /* the first timestep becomes the nearest of 249, 499, 749, 999 */
  enum spacing sigmas; /* spacing of noise levels, with the meaning of scheduler_config.sigmas */
  double eta;          /* 0 to 1: share of fresh noise in each step of DDIM and TCD */
};

struct sampler_table {
  int steps; /* number of calls of the network; fewer than sampler_calls if quantised strength leaves out steps */
  struct step_params step[CALLS_MAX];
  struct residual_params residual[CALLS_MAX]; /* coefficients of OP_GUIDE, for the same calls as step[] */
  float start_latent, start_noise;            /* coefficients of OP_START */
};

/* Computes abar[0..TIMESTEPS) in double. */
void sampler_abar(const struct scheduler_config *config, double abar[TIMESTEPS]);
/* Returns abar at a real timestep from 0 to TIMESTEPS - 1. Between two timesteps of the training, sigma is
 * interpolated, as in diffusers' Euler. */
double sampler_abar_at(const double abar[TIMESTEPS], double t);

/* Fills *table.
 *
 * With continuous strength (quantised false), the first timestep is t = round(1000 strength) - 1; all steps are spread
 * over [0, t] by sampling->spacing, and each leads to the next one's timestep. With quantised, diffusers'
 * image-to-image keeps the last int(steps * strength) timesteps of strength 1 (at least one here; diffusers fails with
 * none). With lcm_pipeline, LCM spacing instead shortens the list from which timesteps are chosen. DDIM leads to t -
 * 1000 / steps (integer division), which differs from the next timestep if steps does not divide 1000.
 *
 * OP_START and the steps of SAMPLER_LCM and SAMPLER_EULER_ANCESTRAL need independent noise, so the noise operands of
 * OP_START and OP_STEP must be different noise samples: noise_fill's sample 0, and samples 1 + step. */
void sampler_table(const struct scheduler_config *config, const struct sampling *sampling, struct sampler_table *table);

/* Returns how often the network is called in this many steps: PNDM calls it twice in the first of several. */
int sampler_calls(enum sampler sampler, int steps);
/* Returns the number of calls, counted from the first, after which noise may be added; the noise coefficient of all
 * later calls is 0, whatever strength and eta are. */
int sampler_noise_samples(enum sampler sampler, int steps);
/* Returns how many earlier predictions, at most, a step uses in a table of this many steps. */
int sampler_earlier(const struct scheduler_config *config, enum sampler sampler, int steps);

/* Returns one more than the number of the last call of the table after which noise is added; 0: no noise is added. */
int sampler_table_noise(const struct sampler_table *table);

/* Appends steps that change nothing until the table has `count` steps. A plan for `count` steps can then run it, and
 * the other steps keep their numbers, which select the noise that they add. */
void sampler_pad(struct sampler_table *table, int count);

bool sampler_has_lcm_spacing(enum sampler sampler); /* true if the sampler's default is SPACING_LCM */
bool sampler_takes_sigmas(enum sampler sampler);    /* true if it can use SPACING_KARRAS and the following rows */
int sampler_usual_steps(enum sampler sampler);      /* recommended number of steps; 0: it depends on the model */
bool sampler_has_eta(enum sampler sampler);
double sampler_usual_eta(enum sampler sampler);

const char *sampler_name(enum sampler sampler);
enum sampler sampler_of_word(const char *word); /* returns SAMPLER_AUTO if there is none */
const char *spacing_name(enum spacing spacing);
const char *prediction_name(enum prediction prediction); /* "epsilon", "v", "sample" */

#endif
