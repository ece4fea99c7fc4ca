/* Measures sound at each moment, as numbers from 0 to 1: its level, the levels of three bands, and its beat. It only
 * computes, on samples of one channel.
 *
 * Levels are relative to the loudest of the last seconds: the gain adapts slowly, and never so far that silence is
 * taken for sound. */
#ifndef APP_SOURCE_SOUND_LEVELS_H
#define APP_SOURCE_SOUND_LEVELS_H

#include <stdbool.h>

enum sound_value {
  SOUND_LEVEL,
  SOUND_BASS, /* below 200 Hz */
  SOUND_MID,
  SOUND_TREBLE, /* above 2.5 kHz */
  SOUND_BEAT,   /* 1 when the bass sets in, then falling */
  SOUND_VALUES
};
#define SOUND_WORDS "level|bass|mid|treble|beat"

enum { SOUND_BANDS = SOUND_BEAT, SOUND_FILTERS = 8 };

struct sound_filter {
  double b0, b1, b2, a1, a2, z1, z2;
};

/* The state of one measurement; it owns no memory. */
struct sound_levels {
  double rate;
  struct sound_filter filter[SOUND_FILTERS];
  /* power, and its recent maximum, of the whole sound (SOUND_LEVEL) and of each band */
  double power[SOUND_BANDS], loudest[SOUND_BANDS];
  double onset, mean;      /* power of the bass, averaged over a short and a long time */
  bool above;              /* onset is far above mean */
  double beat, since_beat; /* since_beat: in seconds */
  long beats;              /* number of beats so far */
  /* hop: samples between two updates of `loudest` and the beat. in_hop: samples since the last one. */
  int hop, in_hop;
};

/* Begins a measurement. rate: samples per second, at least some thousands. */
void sound_levels_begin(struct sound_levels *levels, double rate);
/* Measures the next samples. */
void sound_levels_take(struct sound_levels *levels, const float *samples, int count);
/* Returns the values, each from 0 to 1, after the samples taken so far. */
void sound_levels_get(const struct sound_levels *levels, double values[SOUND_VALUES]);

#endif
