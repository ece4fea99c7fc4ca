/* A glide sets parameter values together, such as those of a preset: at a given time, or gradually within some seconds
 * from then on. Numbers that act from frame to frame then change evenly from the old to the new value, prompts are
 * blended, the noise moves from one seed to the other, and all other values change at half of the time. A value
 * that somebody else sets meanwhile is not changed any more. The functions read no clock. */
#ifndef APP_CONTROL_GLIDE_H
#define APP_CONTROL_GLIDE_H

#include "app/control/settings.h"

/* State of a glide. GLIDE_NONE: there is none; GLIDE_WAITS: its time has not come; GLIDE_GOES: values are changing;
 * GLIDE_SETTLES: all values have changed, but a prompt whose text was stored in another prompt's slot (place for an
 * encoded prompt) meanwhile fades back to its own slot. */
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
  /* place[i]: number (from 1) of the prompt whose slot (place of an encoded text) contains the new text of prompt i + 1
   * while the glide goes on. Usually that is prompt i + 1 itself. But if the old text of prompt i + 1 is shown at the
   * beginning of the glide, the slot of a prompt that is not shown is used, if there is one. */
  int place[SLOT_PRESETS];
  /* When this glide began, an earlier one may have been blending the noise of one seed into that of another. way_to:
   * that other seed; way_share: the weight (0 to 1) that its noise had, 0: there was no such blend; way_end: the
   * weight (0 or 1) to which the blend is brought first. */
  uint64_t way_to;
  double way_share;
  int way_end;
  bool was_shown[SLOT_PRESETS]; /* was_shown[i]: true: prompt i + 1 had a weight above 0 at the beginning */
  bool halfway;                 /* true: half of the time has passed, and the values that cannot change gradually have
                                 * changed */
};

/* Starts a glide to those values of `changes` that are marked as set: glide_follow sets them at time begin_ns
 * (platform_now_ns) or, with `seconds` above 0, gradually within so many seconds from then on. An earlier glide that is
 * not over stops at its present values; texts of prompts that it was still to set are added to `changes`. */
void glide_set(struct glide *glide, struct parameters *changes, int64_t begin_ns, double seconds);
/* Sets the parameters that the glide changes to their values at the time now_ns. Returns true while there is a glide
 * (change of values within some seconds) that has not ended. */
bool glide_follow(struct glide *glide, struct settings *settings, int64_t now_ns);

#endif
