#include "app/source/sound_levels.h"

#include <math.h>

/* The limits of bands lie below this part of the sample rate, because the limit of a filter cannot be above half of the
 * sample rate. */
static const double frequency_most = 0.45;
/* time constants in seconds: of the levels, of the short and the long average by which onsets are found, and of the
 * beat's fall */
static const double level_s = 0.03, onset_s = 0.03, mean_s = 1, beat_s = 0.12;
/* time constants of the gain in seconds: when sound becomes louder, and when it becomes quieter */
static const double louder_s = 0.5, quieter_s = 15;
static const double hops_a_second = 200;
/* Power, relative to full scale, below which the gain does not rise further, so that faint noise is not taken for
 * sound. */
static const double faint = 1e-5;
/* A band's level is relative to the band's own loudest power, but at least to this fraction of the whole sound's
 * loudest power, because other bands leak into a quiet band. */
static const double band_least = 0.01;
/* An onset (beginning of a sound) is found where the power exceeds onset_begins times its mean. The next one is
 * possible only after the power was below onset_ends times its mean; with a single limit, the ripple of a steady tone
 * would give several onsets. Power below onset_least times the loudest recent power is no onset. */
static const double onset_begins = 2.5, onset_ends = 1.5, onset_least = 0.05;
/* Shortest time between two beats, and between two onsets of the whole sound. */
static const double beats_apart_s = 0.25, onsets_apart_s = 0.12;
/* Levels below this value are set to 0, so that silence gives exact zeros. */
static const double least_value = 1e-3;
/* States of filters and powers below this value are set to 0 at each hop. In silence they would decay until they are
 * subnormal, and a processor takes some thirty times as long for subnormal numbers. */
static const double least_state = 1e-100;

/* --- filters that split sound into bands, each two Butterworth filters of second order in a row --- */

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

static void design_filters(struct sound_levels *levels) {
  double most = frequency_most * levels->rate, low = fmin(levels->limits.bass_below, most),
         high = fmin(fmax(levels->limits.treble_above, low), most);
  for (int i = 0; i < 2; i++) {
    design(&levels->filter[i], false, levels->rate, low);
    design(&levels->filter[2 + i], false, levels->rate, high);
    design(&levels->filter[4 + i], true, levels->rate, low);
    design(&levels->filter[6 + i], true, levels->rate, high);
  }
}

void sound_levels_begin(struct sound_levels *levels, double rate) {
  *levels = (struct sound_levels){.rate = rate,
                                  .limits = SOUND_LIMITS_DEFAULTS,
                                  .hop = (int)fmax(1, rate / hops_a_second),
                                  .beats.since = 1,
                                  .onsets.since = 1};
  design_filters(levels);
}

void sound_levels_limit(struct sound_levels *levels, const struct sound_limits *limits) {
  bool same = levels->limits.bass_below == limits->bass_below && levels->limits.treble_above == limits->treble_above;
  levels->limits = *limits;
  if (!same)
    design_filters(levels);
}

/* --- the gain, which makes levels relative to the loudest sound of the last seconds, and beats --- */

static double share(double step_s, double constant_s) {
  return 1 - exp(-step_s / constant_s);
}

static void follow_gain(struct sound_levels *levels, double step_s) {
  for (int i = 0; i < SOUND_BANDS; i++) {
    double more = levels->power[i] - levels->loudest[i];
    levels->loudest[i] += more * share(step_s, more > 0 ? louder_s : quieter_s);
  }
}

/* Returns true if an onset (beginning of a sound) was found. loudest: power of the loudest sound of the last
 * seconds; least_s: shortest time between two onsets; step_s: time since the last call; both in seconds. */
static bool follow_onsets(struct sound_onsets *onsets, double loudest, double least_s, double step_s) {
  bool loud = onsets->power > faint && onsets->power > onset_least * loudest;
  bool above = loud && onsets->power > (onsets->above ? onset_ends : onset_begins) * onsets->mean;
  onsets->since += step_s;
  bool found = above && !onsets->above && onsets->since > least_s;
  if (found) {
    onsets->since = 0;
    onsets->count++;
  }
  onsets->above = above;
  onsets->mean += (onsets->power - onsets->mean) * share(step_s, mean_s);
  return found;
}

static void follow_beat(struct sound_levels *levels, double step_s) {
  double loudest = levels->loudest[SOUND_LEVEL];
  levels->beat *= exp(-step_s / beat_s);
  if (follow_onsets(&levels->beats, loudest, beats_apart_s, step_s))
    levels->beat = 1;
  follow_onsets(&levels->onsets, loudest, onsets_apart_s, step_s);
}

static void take_sample(struct sound_levels *levels, double x, double level_share, double onset_share) {
  struct sound_filter *filter = levels->filter;
  double band[SOUND_BANDS] = {[SOUND_LEVEL] = x,
                              [SOUND_BASS] = pass_twice(&filter[0], x),
                              [SOUND_MID] = pass_twice(&filter[4], pass_twice(&filter[2], x)),
                              [SOUND_TREBLE] = pass_twice(&filter[6], x)};
  for (int i = 0; i < SOUND_BANDS; i++)
    levels->power[i] += (band[i] * band[i] - levels->power[i]) * level_share;
  levels->beats.power += (band[SOUND_BASS] * band[SOUND_BASS] - levels->beats.power) * onset_share;
  levels->onsets.power += (x * x - levels->onsets.power) * onset_share;
}

static void forget_faint(double *state) {
  if (fabs(*state) < least_state)
    *state = 0;
}

static void forget_faint_states(struct sound_levels *levels) {
  for (int i = 0; i < SOUND_FILTERS; i++) {
    forget_faint(&levels->filter[i].z1);
    forget_faint(&levels->filter[i].z2);
  }
  for (int i = 0; i < SOUND_BANDS; i++)
    forget_faint(&levels->power[i]);
  forget_faint(&levels->beats.power);
  forget_faint(&levels->onsets.power);
}

void sound_levels_take(struct sound_levels *levels, const float *samples, int count) {
  double sample_s = 1 / levels->rate, level_share = share(sample_s, level_s), onset_share = share(sample_s, onset_s);
  for (int i = 0; i < count; i++) {
    double x = isfinite(samples[i]) ? fmin(1, fmax(-1, (double)samples[i])) : 0;
    take_sample(levels, x, level_share, onset_share);
    if (++levels->in_hop < levels->hop)
      continue;
    levels->in_hop = 0;
    forget_faint_states(levels);
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
  values[SOUND_ONSET] = levels->onsets.count && levels->onsets.since < levels->limits.hold_s;
  for (int i = 0; i < SOUND_VALUES; i++)
    if (values[i] < least_value)
      values[i] = 0;
}
