#include "app/source/sound_levels.h"

#include <math.h>

static const double bass_below = 200, treble_above = 2500;                     /* limits of the bands in Hz */
static const double level_s = 0.03, onset_s = 0.03, mean_s = 1, beat_s = 0.12; /* time constants in seconds */
static const double louder_s = 0.5, quieter_s = 15;                            /* time constants of the gain */
static const double hops_a_second = 200;
/* Power, relative to full scale, below which the gain does not rise further, so that faint noise is not taken for
 * sound. */
static const double faint = 1e-5;
/* The level of a band is relative to at least this share of the whole sound's loudest power: other bands leak into a
 * quiet one. */
static const double band_least = 0.01;
static const double beat_over_mean = 2.5, beat_least = 0.05, beats_apart_s = 0.25;
/* Values below this are set to 0, so that silence gives exact zeros. */
static const double least_value = 1e-3;

/* --- filters: two Butterworth filters of second order in a row --- */

static void design(struct sound_filter *filter, bool high, double rate, double frequency) {
  double k = tan(M_PI * frequency / rate), norm = 1 / (1 + M_SQRT2 * k + k * k);
  double gain = high ? norm : k * k * norm;
  *filter = (struct sound_filter){.b0 = gain,
                                  .b1 = high ? -2 * gain : 2 * gain,
                                  .b2 = gain,
                                  .a1 = 2 * (k * k - 1) * norm,
                                  .a2 = (1 - M_SQRT2 * k + k * k) * norm};
}

static double pass(struct sound_filter *filter, double x) {
  double y = filter->b0 * x + filter->z1;
  filter->z1 = filter->b1 * x - filter->a1 * y + filter->z2;
  filter->z2 = filter->b2 * x - filter->a2 * y;
  return y;
}

static double pass_twice(struct sound_filter *pair, double x) {
  return pass(&pair[1], pass(&pair[0], x));
}

void sound_levels_begin(struct sound_levels *levels, double rate) {
  *levels = (struct sound_levels){.rate = rate, .hop = (int)fmax(1, rate / hops_a_second), .since_beat = 1};
  for (int i = 0; i < 2; i++) {
    design(&levels->filter[i], false, rate, bass_below);
    design(&levels->filter[2 + i], false, rate, treble_above);
    design(&levels->filter[4 + i], true, rate, bass_below);
    design(&levels->filter[6 + i], true, rate, treble_above);
  }
}

/* --- gain and beat --- */

static double share(double step_s, double constant_s) {
  return 1 - exp(-step_s / constant_s);
}

static void follow_gain(struct sound_levels *levels, double step_s) {
  for (int i = 0; i < SOUND_BANDS; i++) {
    double more = levels->power[i] - levels->loudest[i];
    levels->loudest[i] += more * share(step_s, more > 0 ? louder_s : quieter_s);
  }
}

static void follow_beat(struct sound_levels *levels, double step_s) {
  bool loud = levels->onset > faint && levels->onset > beat_least * levels->loudest[SOUND_LEVEL];
  bool above = loud && levels->onset > beat_over_mean * levels->mean;
  levels->beat *= exp(-step_s / beat_s);
  levels->since_beat += step_s;
  if (above && !levels->above && levels->since_beat > beats_apart_s) {
    levels->beat = 1;
    levels->since_beat = 0;
    levels->beats++;
  }
  levels->above = above;
  levels->mean += (levels->onset - levels->mean) * share(step_s, mean_s);
}

static void take_sample(struct sound_levels *levels, double x, double level_share, double onset_share) {
  struct sound_filter *filter = levels->filter;
  double band[SOUND_BANDS] = {[SOUND_LEVEL] = x,
                              [SOUND_BASS] = pass_twice(&filter[0], x),
                              [SOUND_MID] = pass_twice(&filter[4], pass_twice(&filter[2], x)),
                              [SOUND_TREBLE] = pass_twice(&filter[6], x)};
  for (int i = 0; i < SOUND_BANDS; i++)
    levels->power[i] += (band[i] * band[i] - levels->power[i]) * level_share;
  levels->onset += (band[SOUND_BASS] * band[SOUND_BASS] - levels->onset) * onset_share;
}

void sound_levels_take(struct sound_levels *levels, const float *samples, int count) {
  double sample_s = 1 / levels->rate, level_share = share(sample_s, level_s), onset_share = share(sample_s, onset_s);
  for (int i = 0; i < count; i++) {
    double x = isfinite(samples[i]) ? fmin(1, fmax(-1, (double)samples[i])) : 0;
    take_sample(levels, x, level_share, onset_share);
    if (++levels->in_hop < levels->hop)
      continue;
    levels->in_hop = 0;
    follow_gain(levels, levels->hop * sample_s);
    follow_beat(levels, levels->hop * sample_s);
  }
}

void sound_levels_get(const struct sound_levels *levels, double values[SOUND_VALUES]) {
  for (int i = 0; i < SOUND_BANDS; i++) {
    double whole = fmax(faint, fmax(levels->loudest[i], band_least * levels->loudest[SOUND_LEVEL]));
    values[i] = fmin(1, sqrt(levels->power[i] / whole));
  }
  values[SOUND_BEAT] = levels->beat;
  for (int i = 0; i < SOUND_VALUES; i++)
    if (values[i] < least_value)
      values[i] = 0;
}
