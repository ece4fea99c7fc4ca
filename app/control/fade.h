/* The cross-fade from one blend of prompts to the next: a pure function of time. */
#ifndef APP_CONTROL_FADE_H
#define APP_CONTROL_FADE_H

#include <stdbool.h>
#include <stdint.h>

#include "unet/base/controls.h"

enum { FADE_MS = 500 };

/* Shares of the presets in the picture: from those, which add up to 1, to these. */
struct fade {
  float from[SLOT_PRESETS], to[SLOT_PRESETS];
  int64_t start_ns;
};

/* At these shares, with no fade on its way. */
void fade_begin(struct fade *fade, const float shares[SLOT_PRESETS]);

/* Turns towards other shares at time now. Where a prompt comes in or goes out, a fade begins from what is shown now.
 * Where the prompts stay, their new shares act at once, or in the rest of the fade that is on its way. */
void fade_turn(struct fade *fade, const float shares[SLOT_PRESETS], int64_t now_ns);

/* Whether what is shown no longer changes by itself. */
bool fade_is_over(const struct fade *fade, int64_t now_ns);

/* What is shown at time now. */
void fade_apply(const struct fade *fade, int64_t now_ns, float shares[SLOT_PRESETS]);

#endif
