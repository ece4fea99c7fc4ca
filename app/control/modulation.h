/* Modulation: sound moves parameters. An offset is added to a parameter's value, within its range, for the frames that
 * are made; the value that users see and save does not change. Written PARAMETER=VALUE*AMOUNT[~SECONDS], as in
 * strength=bass*0.3~0.2.
 *
 * Only numbers that act on the next frame can be moved, because sound must not make the engine prepare or load
 * anything. */
#ifndef APP_CONTROL_MODULATION_H
#define APP_CONTROL_MODULATION_H

#include "app/control/settings.h"
#include "app/source/sound_levels.h"

struct modulation {
  enum parameter id;
  int index;
  enum sound_value by;
  double amount;    /* offset that is added where the sound's value is 1 */
  double smoothing; /* time constant in seconds; 0: none */
  double smooth;    /* the sound's value, smoothed */
};

enum { MODULATIONS_MAX = CHOICES_MAX };

/* A plain value. Zeros: no parameter is moved. */
struct modulations {
  struct modulation entry[MODULATIONS_MAX];
  int count;
  int64_t at_ns; /* time of the last modulations_follow; 0: none yet */
};

/* Reads the text of an option --modulate. Returns -1 with err set if it is wrong. */
int modulation_read(struct modulation *modulation, const char *text, struct error *err);

/* Updates the smoothed values from the sound's values at time now. */
void modulations_follow(struct modulations *modulations, const double values[SOUND_VALUES], int64_t now_ns);
/* Adds the offsets to the settings' values. Offsets of the same parameter add up. The marks of the values stay as they
 * are. */
void modulations_apply(const struct modulations *modulations, struct settings *settings);

#endif
