/* Modulation: sound changes parameters. For each frame an offset, computed from the sound, is added to a parameter's
 * value and the sum is kept within the parameter's range; the value that users see and save does not change. Users
 * write PARAMETER=VALUE*AMOUNT[~SECONDS], for example strength=bass*0.3~0.2: the bass, smoothed over 0.2 seconds, adds
 * up to 0.3 to the strength.
 *
 * Only numbers that act on the next frame (NEED_FRAME) can be modulated, because sound must not make the engine prepare
 * or load anything. */
#ifndef APP_CONTROL_MODULATION_H
#define APP_CONTROL_MODULATION_H

#include "app/control/settings.h"
#include "app/source/sound_levels.h"

struct modulation {
  enum parameter id;
  int index;           /* from 1; 0: the parameter has no instances */
  enum sound_value by; /* the value of the sound that moves the parameter */
  double amount;       /* offset that is added while the sound's value is 1 */
  double smoothing;    /* time constant of the low-pass filter, in seconds; 0: the value is not smoothed */
  double smooth;       /* the sound's value after the filter, 0 to 1 */
};

enum { MODULATIONS_MAX = CHOICES_MAX };

/* A plain value. Initialise with zeros: no parameter is modulated. */
struct modulations {
  struct modulation entry[MODULATIONS_MAX];
  int count;
  int64_t at_ns; /* time of the last modulations_follow, on the clock of platform_now_ns; 0: it was not called yet */
};

/* Reads the text of an option --modulate. Returns -1 with err set if it is wrong. */
int modulation_read(struct modulation *modulation, const char *text, struct error *err);

/* Updates the smoothed values from the sound's present values (0 to 1 each). */
void modulations_follow(struct modulations *modulations, const double values[SOUND_VALUES], int64_t now_ns);
/* Adds the offsets to the values in settings, which is a copy for one frame. Offsets of the same parameter add up. The
 * marks, which show what users have changed, stay as they are. */
void modulations_apply(const struct modulations *modulations, struct settings *settings);

#endif
