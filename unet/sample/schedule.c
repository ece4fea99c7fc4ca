/* Timesteps and noise levels. */
#include <math.h>

#include "unet/sample/steps.h"

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

static struct level level_of(double abar) {
  return (struct level){sqrt(abar), sqrt(1 - abar)};
}

struct level schedule_level(const struct schedule *schedule, double timestep) {
  return level_of(sampler_abar_at(schedule->abar, timestep));
}

struct estimate schedule_estimate(const struct schedule *schedule, int i) {
  double a = schedule->from[i].a, b = schedule->from[i].b;
  switch (schedule->config->prediction) {
  case PREDICT_V:
    return (struct estimate){{a, -b}, {b, a}};
  case PREDICT_SAMPLE:
    return (struct estimate){{0, 1}, {1 / b, -a / b}};
  default:
    return (struct estimate){{1 / a, -b / a}, {0, 1}};
  }
}

/* --- timesteps --- */

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

/* Number back of count evenly spaced timesteps from 0 to last. Where they are real numbers, diffusers has them in
 * FP32. */
static double linspace_timestep(const struct schedule *s, double last, int count, int back) {
  double t = count > 1 ? back * (last / (count - 1)) : 0;
  return s->impl->real_timesteps ? (double)(float)t : rint(t);
}

/* count timesteps over [0, length), highest first. rint rounds halves to even, as NumPy does. */
static void make_timesteps(const struct schedule *s, double length, int count, double *timesteps) {
  const struct scheduler_config *config = s->config;
  if (s->sampling->spacing == SPACING_LCM) {
    lcm_timesteps(config, length, config->original_inference_steps, count, timesteps);
    return;
  }
  for (int i = 0; i < count; i++) {
    int back = count - 1 - i;
    double t = 0;
    switch (s->sampling->spacing) {
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

/* By diffusers' rule. */
static void quantised_timesteps(struct schedule *schedule, double strength) {
  const struct sampling *s = schedule->sampling;
  if (s->spacing == SPACING_LCM && s->lcm_pipeline) {
    int points = schedule->config->original_inference_steps;
    schedule->count = s->steps;
    lcm_timesteps(schedule->config, TIMESTEPS, clamp_count((int)(points * strength), 1, points), s->steps,
                  schedule->timestep);
    return;
  }
  double full[STEPS_MAX];
  schedule->count = clamp_count((int)(s->steps * strength), 1, s->steps);
  make_timesteps(schedule, TIMESTEPS, s->steps, full);
  for (int i = 0; i < schedule->count; i++)
    schedule->timestep[i] = full[s->steps - schedule->count + i];
}

static void continuous_timesteps(struct schedule *schedule, double strength) {
  const struct sampling *s = schedule->sampling;
  double t = clamp_timestep(rint(TIMESTEPS * strength) - 1);
  if (s->snap)
    t = snap_timestep(t);
  schedule->count = s->steps;
  make_timesteps(schedule, t + 1, s->steps, schedule->timestep);
}

/* --- levels --- */

/* Where step i leads: the next timestep, or final_timestep. */
static double next_timestep(const struct schedule *s, int i) {
  if (s->sampling->quantised && s->impl->by_ratio) {
    double t = s->timestep[i] - TIMESTEPS / s->sampling->steps;
    return t < 0 ? final_timestep : t;
  }
  return i + 1 < s->count ? s->timestep[i + 1] : final_timestep;
}

static struct level final_level(const struct schedule *s) {
  bool rest = s->impl->final == FINAL_ALPHA && !s->config->set_alpha_to_one;
  return level_of(rest ? s->abar[0] : 1);
}

void schedule_make(struct schedule *s, const struct scheduler_config *config, const struct sampling *sampling,
                   const struct sampler_impl *impl) {
  double strength = sampling->text_to_image ? 1 : sampling->strength;
  *s = (struct schedule){.config = config, .sampling = sampling, .impl = impl};
  sampler_abar(config, s->abar);
  if (config->zero_snr && impl->finite_sigma)
    s->abar[TIMESTEPS - 1] = 0x1p-24; /* as diffusers */
  if (sampling->quantised)
    quantised_timesteps(s, strength);
  else
    continuous_timesteps(s, strength);
  for (int i = 0; i < s->count; i++) {
    double next = next_timestep(s, i);
    s->from[i] = schedule_level(s, s->timestep[i]);
    s->to[i] = next == final_timestep ? final_level(s) : schedule_level(s, next);
  }
}
