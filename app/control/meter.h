/* For the overlay: the levels of the sound at the moment of one frame, and the parameters that sound (modulation.h) and
 * LFOs change, with their values. A struct meter is a plain value. */
#ifndef APP_CONTROL_METER_H
#define APP_CONTROL_METER_H

#include "app/control/lfo.h"
#include "app/control/modulation.h"

enum { METER_ROWS_MAX = 8 };

struct meter {
  bool heard;                  /* true: there is a sound input, whose values are in `values` */
  double values[SOUND_VALUES]; /* values of the sound: level, frequency bands, beat and onset; each from 0 to 1 */
  /* A parameter that sound or an LFO changes. base: its value as users see and set it; now: its value for the frame. */
  struct meter_row {
    enum parameter id;
    int index;
    double base, now;
  } row[METER_ROWS_MAX];
  int count;
};

/* Lists the parameters that these modulations and LFOs change, at most METER_ROWS_MAX, with the values that users have
 * set (base). Called before the offsets are added to the values. */
void meter_begin(struct meter *meter, const struct modulations *modulations, const struct lfos *lfos,
                 const struct parameters *values);
/* Returns true if `a` and `b` have the same levels of sound, and the same values of the same parameters. */
bool meter_same(const struct meter *a, const struct meter *b);
/* Stores in the field `now` of each listed parameter its value for this frame. Called after the offsets were added to
 * the values. */
void meter_finish(struct meter *meter, const struct parameters *values);

#endif
