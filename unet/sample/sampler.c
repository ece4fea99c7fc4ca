#include "unet/sample/sampler.h"

#include <math.h>
#include <stdlib.h>

/* "No timestep": a step to here ends the walk. */
static const double final_timestep = -1;

static double scaled_beta(const struct scheduler_config *config, int i) {
  double f = (double)i / (TIMESTEPS - 1);
  if (config->beta_schedule == BETAS_LINEAR)
    return config->beta_start + f * (config->beta_end - config->beta_start);
  double first = sqrt(config->beta_start), last = sqrt(config->beta_end);
  return pow(first + f * (last - first), 2);
}

void sampler_abar(const struct scheduler_config *config, double abar[TIMESTEPS]) {
  double product = 1;
  for (int i = 0; i < TIMESTEPS; i++)
    abar[i] = product *= 1 - scaled_beta(config, i);
  if (!config->zero_snr)
    return;
  /* Lin, Liu, Li, Yang, "Common Diffusion Noise Schedules and Sample Steps are Flawed", algorithm 1. */
  double first = sqrt(abar[0]), last = sqrt(abar[TIMESTEPS - 1]);
  for (int i = 0; i < TIMESTEPS; i++)
    abar[i] = pow((sqrt(abar[i]) - last) * first / (first - last), 2);
}

double sampler_abar_at(const double abar[TIMESTEPS], double t) {
  int below = (int)t;
  double part = t - below;
  if (part == 0)
    return abar[below];
  double low = sqrt((1 - abar[below]) / abar[below]), high = sqrt((1 - abar[below + 1]) / abar[below + 1]);
  double sigma = low + part * (high - low);
  return 1 / (1 + sigma * sigma);
}

static double clamp_timestep(double t) {
  return t < 0 ? 0 : t > TIMESTEPS - 1 ? TIMESTEPS - 1 : t;
}

/* The count timesteps of LCM's spacing over [0, length): first of its original_inference_steps points every so many.
 * kept: of these points, how many from the low end take part. */
static void lcm_timesteps(const struct scheduler_config *config, double length, int kept, int count,
                          double *timesteps) {
  int apart = TIMESTEPS / config->original_inference_steps;
  for (int i = 0; i < count; i++) {
    int point = kept - (int)floor(i * ((double)kept / count)); /* 1 is the lowest */
    timesteps[i] = clamp_timestep(rint((double)point * apart * length / TIMESTEPS) - 1);
  }
}

static bool is_euler(enum sampler_method method) {
  return method == METHOD_EULER || method == METHOD_EULER_ANCESTRAL;
}

/* Number back of count evenly spaced timesteps from 0 to last. diffusers' Euler has them as real numbers in FP32, the
 * others round them. */
static double linspace_timestep(const struct sampling *s, double last, int count, int back) {
  double t = count > 1 ? back * (last / (count - 1)) : 0;
  return is_euler(s->method) ? (double)(float)t : rint(t);
}

/* count timesteps over [0, length), highest first. rint rounds halves to even, as NumPy does. */
static void make_timesteps(const struct scheduler_config *config, const struct sampling *s, double length, int count,
                           double *timesteps) {
  if (s->spacing == SPACING_LCM) {
    lcm_timesteps(config, length, config->original_inference_steps, count, timesteps);
    return;
  }
  for (int i = 0; i < count; i++) {
    int back = count - 1 - i;
    double t = 0;
    switch (s->spacing) {
    case SPACING_TRAILING:
      t = rint(length - i * (length / count)) - 1;
      break;
    case SPACING_LEADING:
      t = back * floor(length / count) + config->steps_offset;
      break;
    default:
      t = linspace_timestep(s, length - 1, count, back);
    }
    timesteps[i] = clamp_timestep(t);
  }
}

static double snap_timestep(double t) {
  static const double trained[] = {249, 499, 749, 999};
  double best = trained[0];
  for (int i = 1; i < 4; i++)
    if (fabs(trained[i] - t) < fabs(best - t))
      best = trained[i];
  return best;
}

static int clamp_count(int count, int min, int max) {
  return count < min ? min : count > max ? max : count;
}

/* Timesteps by diffusers' rule; returns how many. */
static int quantised_timesteps(const struct scheduler_config *config, const struct sampling *s, double strength,
                               double *timesteps) {
  if (s->spacing == SPACING_LCM && s->lcm_pipeline) {
    int points = config->original_inference_steps;
    lcm_timesteps(config, TIMESTEPS, clamp_count((int)(points * strength), 1, points), s->steps, timesteps);
    return s->steps;
  }
  double full[STEPS_MAX];
  int kept = clamp_count((int)(s->steps * strength), 1, s->steps);
  make_timesteps(config, s, TIMESTEPS, s->steps, full);
  for (int i = 0; i < kept; i++)
    timesteps[i] = full[s->steps - kept + i];
  return kept;
}

static int continuous_timesteps(const struct scheduler_config *config, const struct sampling *s, double strength,
                                double *timesteps) {
  double t = clamp_timestep(rint(TIMESTEPS * strength) - 1);
  if (s->snap)
    t = snap_timestep(t);
  make_timesteps(config, s, t + 1, s->steps, timesteps);
  return s->steps;
}

/* Where step i leads: the next timestep, or final_timestep. */
static double next_timestep(const struct sampling *s, const double *timesteps, int count, int i) {
  if (s->quantised && s->method == METHOD_DDIM) {
    double t = timesteps[i] - TIMESTEPS / s->steps;
    return t < 0 ? final_timestep : t;
  }
  return i + 1 < count ? timesteps[i + 1] : final_timestep;
}

/* x0 = x * X + model * M and eps = x * X + model * M for the model output M at timestep t. */
struct linear {
  double x, model;
};
struct estimate {
  struct linear x0, eps;
};

static struct estimate estimate(enum prediction prediction, double a, double b) {
  if (prediction == PREDICT_V)
    return (struct estimate){{a, -b}, {b, a}};
  if (prediction == PREDICT_SAMPLE)
    return (struct estimate){{0, 1}, {1 / b, -a / b}};
  return (struct estimate){{1 / a, -b / a}, {0, 1}};
}

static struct step_params lcm_step(const struct scheduler_config *config, struct estimate e, double t, double a_next,
                                   double b_next) {
  double scaled = t * config->timestep_scaling, variance = 0.25; /* sigma_data 0.5, squared */
  double c_skip = variance / (scaled * scaled + variance), c_out = scaled / sqrt(scaled * scaled + variance);
  return (struct step_params){(float)t, (float)(a_next * (c_out * e.x0.x + c_skip)),
                              (float)(a_next * c_out * e.x0.model), (float)b_next};
}

/* Part of the way down to the next sigma is noise: y' = x0 + down eps + up noise with down^2 + up^2 = sigma'^2. */
static struct step_params ancestral_step(struct estimate e, double t, double sigma, double a_next, double sigma_next) {
  double part = sigma_next / sigma, down = sigma_next * part, up = sigma_next * sqrt(fmax(0, 1 - part * part));
  return (struct step_params){(float)t, (float)(a_next * (e.x0.x + down * e.eps.x)),
                              (float)(a_next * (e.x0.model + down * e.eps.model)), (float)(a_next * up)};
}

static struct step_params make_step(const struct scheduler_config *config, enum sampler_method method,
                                    const double *abar, double t, double next) {
  double final = method == METHOD_DDIM && !config->set_alpha_to_one ? abar[0] : 1;
  double abar_t = sampler_abar_at(abar, t), abar_next = next == final_timestep ? final : sampler_abar_at(abar, next),
         a_next = sqrt(abar_next), b_next = sqrt(1 - abar_next);
  struct estimate e = estimate(config->prediction, sqrt(abar_t), sqrt(1 - abar_t));
  if (method == METHOD_LCM)
    return lcm_step(config, e, t, a_next, b_next);
  if (method == METHOD_EULER_ANCESTRAL)
    return ancestral_step(e, t, sqrt((1 - abar_t) / abar_t), a_next, b_next / a_next);
  return (struct step_params){(float)t, (float)(a_next * e.x0.x + b_next * e.eps.x),
                              (float)(a_next * e.x0.model + b_next * e.eps.model), 0};
}

/* OP_START. From noise alone, diffusers' Euler scales by init_noise_sigma: sigma_max, or with leading spacing
 * sqrt(sigma_max^2 + 1); the others by 1. */
static void make_start(struct sampler_table *table, const struct sampling *s, bool noise_alone, double abar) {
  double a = sqrt(abar), b = sqrt(1 - abar);
  table->start_latent = noise_alone ? 0 : (float)a;
  table->start_noise = (float)b;
  if (noise_alone && (!is_euler(s->method) || s->spacing == SPACING_LEADING))
    table->start_noise = 1;
}

void sampler_table(const struct scheduler_config *config, const struct sampling *s, struct sampler_table *table) {
  double abar[TIMESTEPS], strength = s->text_to_image ? 1 : s->strength;
  double timesteps[STEPS_MAX];
  sampler_abar(config, abar);
  if (config->zero_snr && is_euler(s->method))
    abar[TIMESTEPS - 1] = 0x1p-24; /* as diffusers: sigma is to stay finite */
  int count = s->quantised ? quantised_timesteps(config, s, strength, timesteps)
                           : continuous_timesteps(config, s, strength, timesteps);
  *table = (struct sampler_table){.steps = count};
  for (int i = 0; i < count; i++)
    table->step[i] = make_step(config, s->method, abar, timesteps[i], next_timestep(s, timesteps, count, i));
  make_start(table, s, s->text_to_image || (s->image_condition && strength >= 1), sampler_abar_at(abar, timesteps[0]));
}

int sampler_noise_samples(enum sampler_method method, int steps) {
  return method == METHOD_LCM || method == METHOD_EULER_ANCESTRAL ? steps - 1
                                                                  : 0; /* the last step ends on the prediction */
}

void sampler_pad(struct sampler_table *table, int count) {
  for (; table->steps < count; table->steps++)
    table->step[table->steps] = (struct step_params){table->step[table->steps - 1].timestep, 1, 0, 0};
}

const char *sampler_method_name(enum sampler_method method) {
  static const char *const names[] = {[METHOD_EULER] = "Euler",
                                      [METHOD_DDIM] = "DDIM",
                                      [METHOD_LCM] = "LCM",
                                      [METHOD_EULER_ANCESTRAL] = "Euler ancestral"};
  return names[method];
}

const char *sampler_spacing_name(enum sampler_spacing spacing) {
  static const char *const names[] = {[SPACING_TRAILING] = "trailing",
                                      [SPACING_LEADING] = "leading",
                                      [SPACING_LINSPACE] = "linspace",
                                      [SPACING_LCM] = "LCM"};
  return names[spacing];
}

const char *prediction_name(enum prediction prediction) {
  static const char *const names[] = {[PREDICT_EPSILON] = "epsilon", [PREDICT_V] = "v", [PREDICT_SAMPLE] = "sample"};
  return names[prediction];
}
