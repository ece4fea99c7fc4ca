/* Measures sound at each moment, as numbers from 0 to 1: its level, the levels of three bands, and its beat. The
 * functions only compute, from samples of one channel. Levels are relative to the loudest sound of the last seconds: a
 * gain follows its power slowly, but does not rise so far that silence would be taken for sound. */
#ifndef APP_SOURCE_SOUND_LEVELS_H
#define APP_SOURCE_SOUND_LEVELS_H

#include <stdbool.h>

enum sound_value {
  SOUND_LEVEL,
  SOUND_BASS, /* level of the frequencies below limits.bass_below */
  SOUND_MID,
  SOUND_TREBLE, /* level of the frequencies above limits.treble_above */
  SOUND_BEAT,   /* 1 at each beat (when the bass suddenly becomes loud), then falling to 0 */
  /* 1 from each onset (when any sound suddenly becomes loud) on, for limits.hold_s seconds; otherwise 0 */
  SOUND_ONSET,
  SOUND_VALUES
};
#define SOUND_WORDS "level|bass|mid|treble|beat|onset"

/* The settings with which sound is measured, as users set them: frequency bands and duration of onsets. */
struct sound_limits {
  double bass_below, treble_above; /* limits of the three bands, in Hz; treble_above counts as at least bass_below */
  double hold_s;                   /* for how long SOUND_ONSET stays 1, in seconds */
};
#define SOUND_LIMITS_DEFAULTS                                                                                          \
  { .bass_below = 200, .treble_above = 2500, .hold_s = 0.1 }

enum { SOUND_BANDS = SOUND_BEAT, SOUND_FILTERS = 8 };

struct sound_filter {
  double b0, b1, b2, a1, a2, z1, z2;
};

/* Finds onsets: moments at which power rises far above its mean. */
struct sound_onsets {
  /* averages of the power of the sound, or of the band, in which onsets are looked for: `power` over a short time,
   * `mean` over a long time */
  double power, mean;
  bool above;   /* true: `power` has risen far above `mean`, and has not come near it again */
  double since; /* seconds since the last onset; before the first onset: seconds since the beginning, plus 1 */
  long count;   /* number of onsets so far */
};

/* The state of one measurement; it owns no memory. */
struct sound_levels {
  double rate;
  struct sound_limits limits;
  struct sound_filter filter[SOUND_FILTERS];
  /* power of the whole sound (SOUND_LEVEL) and of each frequency band, and the recent maximum of each */
  double power[SOUND_BANDS], loudest[SOUND_BANDS];
  struct sound_onsets beats;  /* onsets of the bass */
  struct sound_onsets onsets; /* onsets of the whole sound */
  double beat;                /* SOUND_BEAT: 1 at each beat, then falling to 0 */
  /* hop: samples between two updates of `loudest` and `beat`. in_hop: samples since the last update. */
  int hop, in_hop;
};

/* Begins a measurement, with the default limits of the frequency bands (sound_levels_limit sets others). rate: samples
 * per second, at least some thousands. */
void sound_levels_begin(struct sound_levels *levels, double rate);
/* Sets the limits of the frequency bands and the duration of SOUND_ONSET, from the next sample on. What was measured
 * so far is kept. Costs little if the bands' limits do not change. */
void sound_levels_limit(struct sound_levels *levels, const struct sound_limits *limits);
/* Measures further samples, which follow those of the call before. */
void sound_levels_take(struct sound_levels *levels, const float *samples, int count);
/* Returns all values of enum sound_value (level, bands, beat), each from 0 to 1, after the samples taken so far. */
void sound_levels_get(const struct sound_levels *levels, double values[SOUND_VALUES]);

#endif
