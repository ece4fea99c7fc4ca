/* What sound does at this moment, as numbers from 0 to 1: how loud it is, in all and in three bands, and its beat. Pure
 * arithmetic on samples of one channel.
 *
 * Levels are relative to the loudest of the last seconds: the gain adapts, slowly, and never so far that silence counts
 * as sound. */
#ifndef APP_SOURCE_SOUND_LEVELS_H
#define APP_SOURCE_SOUND_LEVELS_H

#include <stdbool.h>

enum sound_value {
  SOUND_LEVEL,
  SOUND_BASS, /* below 200 Hz */
  SOUND_MID,
  SOUND_TREBLE, /* above 2.5 kHz */
  SOUND_BEAT,   /* 1 where the bass sets in, then falling */
  SOUND_VALUES
};
#define SOUND_WORDS "level|bass|mid|treble|beat"

enum { SOUND_BANDS = SOUND_BEAT, SOUND_FILTERS = 8 };

struct sound_filter {
  double b0, b1, b2, a1, a2, z1, z2;
};

/* A plain value. */
struct sound_levels {
  double rate;
  struct sound_filter filter[SOUND_FILTERS];
  double power[SOUND_BANDS], loudest[SOUND_BANDS]; /* of the level and each band */
  double onset, mean;                              /* power of the bass, followed fast and slowly */
  bool above;                                      /* onset is far above mean */
  double beat, since_beat;                         /* since_beat: seconds */
  long beats;                                      /* so far */
  int hop, in_hop;                                 /* samples between two steps of what is slow; since the last */
};

/* rate: samples a second, from some thousands on. */
void sound_levels_begin(struct sound_levels *levels, double rate);
void sound_levels_take(struct sound_levels *levels, const float *samples, int count);
void sound_levels_get(const struct sound_levels *levels, double values[SOUND_VALUES]);

#endif
