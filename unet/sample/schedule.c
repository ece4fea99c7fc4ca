/* Computes the timesteps and noise levels of a sampler's steps. */
#include <math.h>

#include "unet/sample/schedule.h"

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
  /* rescales the schedule to zero signal at the end: Lin, Liu, Li, Yang, "Common Diffusion Noise Schedules and Sample
   * Steps are Flawed", algorithm 1 */
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

struct estimate level_estimate(enum prediction prediction, struct level level) {
  double a = level.a, b = level.b;
  switch (prediction) {
  case PREDICT_V:
    return (struct estimate){{a, -b}, {b, a}};
  case PREDICT_SAMPLE:
    return (struct estimate){{0, 1}, {1 / b, -a / b}};
  default:
    return (struct estimate){{1 / a, -b / a}, {0, 1}};
  }
}

int schedule_order(const struct schedule *s, int i, int order) {
  int usable = 1;
  bool moves = level_lambda(s->to[i]) > level_lambda(s->from[i]);
  while (moves && usable < order && usable <= i &&
         level_lambda(s->from[i - usable + 1]) > level_lambda(s->from[i - usable]))
    usable++;
  return usable;
}

/* Solves the system of equations by Gaussian elimination. Rows are not exchanged, because no pivot of this matrix
 * (Vandermonde's) is 0. */
void schedule_solve(const double *at, const double *b, int count, double *x) {
  double m[SOLVE_MAX][SOLVE_MAX + 1];
  for (int j = 0; j < count; j++) {
    for (int k = 0; k < count; k++)
      m[j][k] = pow(at[k], j);
    m[j][count] = b[j];
  }
  for (int p = 0; p < count; p++)
    for (int j = 0; j < count; j++)
      for (int k = count; j != p && k >= p; k--)
        m[j][k] -= m[j][p] / m[p][p] * m[p][k];
  for (int p = 0; p < count; p++)
    x[p] = m[p][count] / m[p][p];
}

/* --- choosing the timesteps of the steps --- */

static double clamp_timestep(double t) {
  return t < 0 ? 0 : t > TIMESTEPS - 1 ? TIMESTEPS - 1 : t;
}

/* Computes the `count` timesteps of LCM's spacing over [0, length), highest first. LCM divides this range into
 * original_inference_steps equal parts. The timesteps are ends of the lowest `kept` parts, evenly spaced. */
static void lcm_timesteps(const struct scheduler_config *config, double length, int kept, int count,
                          double *timesteps) {
  int apart = TIMESTEPS / config->original_inference_steps;
  for (int i = 0; i < count; i++) {
    /* number of step i's timestep in LCM's list of timesteps, which is counted from 1 for the lowest */
    int point = kept - (int)floor(i * ((double)kept / count));
    timesteps[i] = clamp_timestep(rint((double)point * apart * length / TIMESTEPS) - 1);
  }
}

/* Returns timestep number `back`, counted from the lowest (0), of `count` timesteps that are evenly spaced from 0 to
 * `last`. Real timesteps are rounded to FP32, as in diffusers. */
static double linspace_timestep(const struct schedule *s, double last, int count, int back) {
  double t = count > 1 ? back * (last / (count - 1)) : 0;
  return s->impl->real_timesteps ? (double)(float)t : rint(t);
}

/* Computes count timesteps over [0, length), highest first. rint rounds halves to even, as NumPy does. */
static void make_timesteps(struct schedule *s, double length, int count) {
  const struct scheduler_config *config = s->config;
  int points = s->impl->skips_lowest ? count + 1 : count;
  if (s->sampling->spacing == SPACING_LCM) {
    lcm_timesteps(config, length, config->original_inference_steps, count, s->timestep);
    return;
  }
  for (int i = 0; i < count; i++) {
    int back = points - 1 - i;
    double t = 0;
    switch (s->sampling->spacing) {
    case SPACING_TRAILING:
      /* computed in the same order of operations as NumPy's arange, so that halves are rounded in the same direction */
      t = rint(length + i * (length - length / count - length)) - 1;
      break;
    case SPACING_LEADING:
      t = back * floor(length / points) + config->steps_offset;
      break;
    default:
      t = linspace_timestep(s, length - 1, points, back);
    }
    s->timestep[i] = clamp_timestep(t);
  }
}

/* --- choosing the noise levels of the steps --- */

static double sigma_of(struct level level) {
  return level.b / level.a;
}

/* Returns the timestep at which the schedule has this sigma. Between two timesteps of the training, log sigma is
 * interpolated. */
static double sigma_timestep(const struct schedule *s, double sigma) {
  int low = 0, high = TIMESTEPS - 1;
  while (high - low > 1) {
    int middle = (low + high) / 2;
    if (sigma_of(level_of(s->abar[middle])) <= sigma)
      low = middle;
    else
      high = middle;
  }
  double below = log(sigma_of(level_of(s->abar[low]))), above = log(sigma_of(level_of(s->abar[high])));
  double part = (log(sigma) - below) / (above - below);
  return low + fmin(1, fmax(0, part));
}

/* Returns the sigma at the fraction `part` of the range from high (0) to low (1). The spacing is exponential (even
 * steps of log sigma), or that of Karras et al., "Elucidating the Design Space of Diffusion-Based Generative Models",
 * 2022, equation 5. */
static double spaced_sigma(enum spacing sigmas, double high, double low, double part) {
  if (sigmas == SPACING_EXPONENTIAL)
    return high * pow(low / high, part);
  double first = pow(high, 1 / 7.0), last = pow(low, 1 / 7.0);
  return pow(first + part * (last - first), 7);
}

/* Rounds t, the timestep of a noise level, as diffusers does: to FP32 for samplers with real timesteps (Euler);
 * otherwise to a whole number, which is the nearest with Karras' spacing of noise levels, else the next lower one. */
static double level_timestep(const struct schedule *s, double t) {
  if (s->impl->real_timesteps)
    return (double)(float)t;
  return s->sampling->sigmas == SPACING_KARRAS ? rint(t) : floor(fmax(0, t - 1e-6));
}

/* Replaces the timesteps of `count` steps, which lie in [0, length), and their noise levels: the new levels are spaced
 * by sampling->sigmas (SPACING_KARRAS or a later value of enum spacing), and the timesteps are computed from them. */
static void space_levels(struct schedule *s, double length, int count) {
  const struct scheduler_config *c = s->config;
  bool all = s->impl->sigmas == SIGMAS_ALL;
  double high = sigma_of(all ? schedule_level(s, length - 1) : s->from[0]);
  double low = sigma_of(all ? schedule_level(s, 0) : s->from[count - 1]);
  if (c->sigma_max > 0)
    high = length < TIMESTEPS ? fmin(high, c->sigma_max) : c->sigma_max;
  if (c->sigma_min > 0)
    low = c->sigma_min;
  for (int i = 0; i < count; i++) {
    double sigma = spaced_sigma(s->sampling->sigmas, high, fmin(low, high), count > 1 ? (double)i / (count - 1) : 0);
    double a = 1 / sqrt(1 + sigma * sigma);
    s->timestep[i] = level_timestep(s, sigma_timestep(s, sigma));
    s->from[i] = (struct level){a, sigma * a};
  }
}

static void find_levels(struct schedule *s, int count) {
  for (int i = 0; i < count; i++)
    s->from[i] = schedule_level(s, s->timestep[i]);
}

static void make_points(struct schedule *s, double length, int count) {
  make_timesteps(s, length, count);
  find_levels(s, count);
  if (s->impl->sigmas != SIGMAS_NONE && s->sampling->sigmas != SPACING_AUTO)
    space_levels(s, length, count);
}

/* --- finding a schedule's timesteps and noise levels for a strength (how much noise the input gets) --- */

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

/* Finds the timesteps and noise levels of the steps by the rounding rules of diffusers (sampling->quantised). */
static void quantised_points(struct schedule *schedule, double strength) {
  const struct sampling *s = schedule->sampling;
  if (s->spacing == SPACING_LCM && s->lcm_pipeline) {
    int points = schedule->config->original_inference_steps;
    schedule->count = s->steps;
    lcm_timesteps(schedule->config, TIMESTEPS, clamp_count((int)(points * strength), 1, points), s->steps,
                  schedule->timestep);
    find_levels(schedule, s->steps);
    return;
  }
  schedule->count = clamp_count((int)(s->steps * strength), 1, s->steps);
  make_points(schedule, s->noisiest ? s->noisiest + 1 : TIMESTEPS, s->steps);
  for (int i = 0, first = s->steps - schedule->count; i < schedule->count; i++) {
    schedule->timestep[i] = schedule->timestep[first + i];
    schedule->from[i] = schedule->from[first + i];
  }
}

static void continuous_points(struct schedule *schedule, double strength) {
  const struct sampling *s = schedule->sampling;
  double t = clamp_timestep(rint(TIMESTEPS * strength) - 1);
  if (s->noisiest)
    t = fmin(t, s->noisiest);
  if (s->snap)
    t = snap_timestep(t);
  schedule->count = s->steps;
  make_points(schedule, t + 1, s->steps);
}

static struct level final_level(const struct schedule *s) {
  const bool rest[] = {[FINAL_PICTURE] = false,
                       [FINAL_ALPHA] = !s->config->set_alpha_to_one,
                       [FINAL_SIGMA] = s->config->final_sigma_min,
                       [FINAL_LOWEST] = true};
  struct level level = level_of(rest[s->impl->final] ? s->abar[0] : 1);
  /* With noise_by_sigma the latent after the last step has another scale, as in diffusers' Euler: not x = a x0 + b eps
   * but x / a = x0 + sigma eps, with sigma = b / a. */
  if (s->impl->noise_by_sigma)
    level = (struct level){1, sigma_of(level)};
  return level;
}

/* Returns the noise level to which step i leads. */
static struct level next_level(const struct schedule *s, int i) {
  if (s->sampling->quantised && s->impl->by_ratio) {
    double t = s->timestep[i] - TIMESTEPS / s->sampling->steps;
    return t < 0 ? final_level(s) : schedule_level(s, t);
  }
  return i + 1 < s->count ? s->from[i + 1] : final_level(s);
}

void schedule_make(struct schedule *s, const struct scheduler_config *config, const struct sampling *sampling,
                   const struct sampler_impl *impl) {
  double strength = sampling->text_to_image ? 1 : sampling->strength;
  *s = (struct schedule){.config = config, .sampling = sampling, .impl = impl, .full_count = sampling->steps};
  sampler_abar(config, s->abar);
  /* As in diffusers, samplers with finite_sigma replace a signal of zero by a small one. Other samplers keep the zero;
   * with it, a prediction of noise would give an infinite picture. */
  if (config->zero_snr && (impl->finite_sigma || config->prediction == PREDICT_EPSILON))
    s->abar[TIMESTEPS - 1] = 0x1p-24;
  if (sampling->quantised)
    quantised_points(s, strength);
  else
    continuous_points(s, strength);
  for (int i = 0; i < s->count; i++)
    s->to[i] = next_level(s, i);
}
