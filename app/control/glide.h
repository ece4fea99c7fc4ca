/* A glide sets several parameters together, for example those of a preset: at a given time, or gradually over some
 * seconds. Numbers that act on the next frame change evenly, prompts are blended, the noise moves from seed to seed,
 * and all other values change at half of the time. A value that somebody else sets meanwhile is left alone. The
 * functions read no clock. */
#ifndef APP_CONTROL_GLIDE_H
#define APP_CONTROL_GLIDE_H

#include "app/control/settings.h"

/* State of a glide. GLIDE_NONE: there is none; GLIDE_WAITS: its time has not come; GLIDE_GOES: values are changing;
 * GLIDE_SETTLES: all values have changed, but a prompt whose text was in another prompt's slot still fades to its own
 * slot. */
enum glide_state { GLIDE_NONE, GLIDE_WAITS, GLIDE_GOES, GLIDE_SETTLES };

/* A glide. Initialise with zeros: there is none. The struct is large, because it holds texts; the functions allocate
 * nothing. */
struct glide {
  enum glide_state state;
  int64_t begin_ns, length_ns, settled_ns;
  /* the parameters' new values, which are marked; the mark of a value is removed when somebody else sets it */
  struct parameters to;
  struct parameters from; /* the parameters' values when the glide began */
  /* the parameters' values as glide_follow has set them last; if a present value differs from this one, somebody else
   * has set it since */
  struct settings last;
  float shares[SLOT_PRESETS]; /* weight of each prompt in the picture at the glide's end; they add up to 1 */
  /* place[i]: number, from 1, of the prompt whose slot holds the new text of prompt i + 1 during the glide. It is i +
   * 1, unless the old text of prompt i + 1 was shown at the beginning; then it is a prompt that is not shown, if there
   * is one. */
  int place[SLOT_PRESETS];
  /* For a glide that begins between two seeds, where an earlier one has stopped. way_to: the second seed; way_share:
   * how far the noise had come to it, 0 to 1, 0: it was not between seeds; way_end: 1: the noise first continues to
   * way_to; 0: it first goes back. */
  uint64_t way_to;
  double way_share;
  int way_end;
  bool was_shown[SLOT_PRESETS]; /* was_shown[i]: true: prompt i + 1 had a weight above 0 at the beginning */
  bool halfway;                 /* true: half of the time has passed, and the values that cannot change gradually have
                                 * changed */
};

/* Starts a glide to those values of `changes` that are marked as set. glide_follow sets them at begin_ns
 * (platform_now_ns), or gradually within `seconds` from then on. A glide that is under way stops at its present values;
 * prompt texts that it still had to set are added to `changes`. */
void glide_set(struct glide *glide, struct parameters *changes, int64_t begin_ns, double seconds);
/* Sets the parameters that the glide changes to their values at the time now_ns. Returns true while there is a glide
 * (change of values within some seconds) that has not ended. */
bool glide_follow(struct glide *glide, struct settings *settings, int64_t now_ns);

#endif
