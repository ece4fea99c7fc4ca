/* Modulation: sound changes parameters. For each frame an offset that follows from the sound is added to a parameter's
 * value, limited to its range. The value that users see and save stays the same.
 *
 * Users write PARAMETER=VALUE*AMOUNT[~SECONDS]. For example, strength=bass*0.3~0.2 adds up to 0.3 to the strength, by
 * the bass smoothed over 0.2 seconds. Only numbers that act on the next frame (NEED_FRAME) can be modulated, because
 * sound must not make the engine prepare or load anything. */
#ifndef APP_CONTROL_MODULATION_H
#define APP_CONTROL_MODULATION_H

#include "app/control/settings.h"
#include "app/source/sound_levels.h"

struct modulation {
  enum parameter id;
  int index;           /* instance of the parameter, from 1; 0: it has no instances */
  enum sound_value by; /* which measured value of the sound changes the parameter, such as the level of the bass */
  double amount;       /* offset that is added to the parameter when the sound's value has its maximum, 1 */
  double smoothing;    /* time constant of the low-pass filter, in seconds; 0: the value is not smoothed */
  double smooth;       /* the sound's value after the low-pass filter, 0 to 1 */
};

enum { MODULATIONS_MAX = CHOICES_MAX };

/* The list of modulations, each of which lets sound change one parameter. A plain value. Initialise with zeros: no
 * parameter is modulated. */
struct modulations {
  struct modulation entry[MODULATIONS_MAX];
  int count;
  int64_t at_ns; /* time of the last modulations_follow, on the clock of platform_now_ns; 0: it was not called yet */
};

/* Returns whether sound and waves can move a parameter: it is a number that may change from frame to frame. */
bool modulation_can_move(enum parameter id);
/* Finds a parameter by its name, and checks that sound and waves can move it. Returns 0, or -1 with err. */
int modulation_find(const char *name, enum parameter *id, int *index, struct error *err);
/* Adds `by` to a parameter's number in `settings`, which is a copy for one frame. The result is kept within the
 * parameter's range. The copy's marks, which tell what users have changed, are not touched. */
void modulation_add(struct settings *settings, enum parameter id, int index, double by);

/* Parses the text of an option --modulate, such as strength=bass*0.3. Returns 0, or -1 with err set if the text is
 * wrong. */
int modulation_read(struct modulation *modulation, const char *text, struct error *err);

/* Updates each modulation's smoothed value from the present levels of the sound (bass and others, 0 to 1 each). */
void modulations_follow(struct modulations *modulations, const double values[SOUND_VALUES], int64_t now_ns);
/* Adds the offsets of all modulations to the parameters' values in `settings`, which is a copy for one frame. Offsets
 * of the same parameter add up. The marks, which tell what users have changed, are not touched. */
void modulations_apply(const struct modulations *modulations, struct settings *settings);

#endif
