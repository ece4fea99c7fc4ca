/* The cross-fade from one prompt to the next: a pure function of time. */
#ifndef APP_CONTROL_FADE_H
#define APP_CONTROL_FADE_H

#include "unet/base/controls.h"

enum { FADE_MS = 500 };

/* from == to: no fade runs. */
struct fade {
  int from, to; /* prompt slots */
  int64_t start_ns;
};

/* Turns towards a slot at time now. Back to where a running fade came from, it turns round at the same point; towards a
 * third slot it goes on from the nearer of the two, because only two prompts can be blended. */
void fade_turn(struct fade *fade, int slot, int64_t now_ns);

/* Sets prompt, prompt_to and blend. */
void fade_apply(const struct fade *fade, int64_t now_ns, struct controls *controls);

#endif
