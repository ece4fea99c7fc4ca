/* The cross-fade from one blend of prompts to the next. It depends on nothing but the time that is passed in. */
#ifndef APP_CONTROL_FADE_H
#define APP_CONTROL_FADE_H

#include <stdbool.h>
#include <stdint.h>

#include "unet/base/controls.h"

enum { FADE_MS = 500 };

/* A fade of the prompts' shares in the picture, from one set to another. The shares of each set add up to 1. */
struct fade {
  float from[SLOT_PRESETS], to[SLOT_PRESETS];
  int64_t start_ns;
};

/* Starts with these shares and no fade under way. */
void fade_begin(struct fade *fade, const float shares[SLOT_PRESETS]);

/* Sets other shares as the target at time now. If a prompt comes in or goes out, a new fade begins at the shares that
 * are shown now. If only the weights change, they act at once, or within the fade that is under way. */
void fade_turn(struct fade *fade, const float shares[SLOT_PRESETS], int64_t now_ns);

/* Returns true if the shares no longer change by themselves. */
bool fade_is_over(const struct fade *fade, int64_t now_ns);

/* Computes the shares that are shown at time now. */
void fade_apply(const struct fade *fade, int64_t now_ns, float shares[SLOT_PRESETS]);

#endif
