/* The cross-fade between prompts: when the user chooses another prompt or blend of prompts, the prompts' weights in the
 * picture change gradually within FADE_MS. The functions use only the time that the caller passes. */
#ifndef APP_CONTROL_FADE_H
#define APP_CONTROL_FADE_H

#include <stdbool.h>
#include <stdint.h>

#include "unet/base/controls.h"

/* Duration of a fade, in milliseconds. */
enum { FADE_MS = 500 };

/* A fade between two sets of shares. A share is the weight of one prompt in the picture; the shares of a set add up to
 * 1. The time of the start is on the clock of platform_now_ns. */
struct fade {
  float from[SLOT_PRESETS], to[SLOT_PRESETS];
  int64_t start_ns, duration_ns;
};

/* Initialises the fade. shares: the weight that each prompt has in the picture; no weight is changing at first. */
void fade_begin(struct fade *fade, const float shares[SLOT_PRESETS]);

/* Sets the weights that the prompts shall reach. If a prompt's weight becomes 0 or stops being 0, a new fade begins at
 * now_ns from the present weights. Otherwise a fade that is under way goes to the new weights, and without a fade they
 * apply at once. */
void fade_turn(struct fade *fade, const float shares[SLOT_PRESETS], int64_t now_ns);

/* Begins a fade of duration_ns nanoseconds from the prompts' weights at now_ns to the weights in `shares`. */
void fade_slide(struct fade *fade, const float shares[SLOT_PRESETS], int64_t now_ns, int64_t duration_ns);

/* Returns true if no fade is under way at now_ns, so that the prompts' weights in the picture stay as they are. */
bool fade_is_over(const struct fade *fade, int64_t now_ns);

/* Computes each prompt's weight in the blend at time now_ns; the weights are stored in shares[]. */
void fade_apply(const struct fade *fade, int64_t now_ns, float shares[SLOT_PRESETS]);

#endif
