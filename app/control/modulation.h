/* Sound moves numbers: an offset is added to the value that is set, within the parameter's range, for the frames alone;
 * the value itself stays as it is. Written PARAMETER=VALUE*AMOUNT[~SECONDS], as in strength=bass*0.3~0.2.
 *
 * Only what acts on the next frame can be moved so: nothing may have to be prepared or loaded for a sound. */
#ifndef APP_CONTROL_MODULATION_H
#define APP_CONTROL_MODULATION_H

#include "app/control/settings.h"
#include "app/source/sound_levels.h"

struct modulation {
  enum parameter id;
  int index;
  enum sound_value by;
  double amount;    /* that is added where the sound's value is 1 */
  double smoothing; /* time constant in seconds; 0: none */
  double smooth;    /* the sound's value, smoothed */
};

enum { MODULATIONS_MAX = CHOICES_MAX };

/* A plain value; zeros: nothing is moved. */
struct modulations {
  struct modulation entry[MODULATIONS_MAX];
  int count;
  int64_t at_ns; /* when it was last brought up to date; 0: never yet */
};

int modulation_read(struct modulation *modulation, const char *text, struct error *err);

/* values: of the sound at time now. */
void modulations_follow(struct modulations *modulations, const double values[SOUND_VALUES], int64_t now_ns);
/* Several of one parameter add up. */
void modulations_apply(const struct modulations *modulations, struct settings *settings);

#endif
