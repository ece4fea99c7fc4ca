/* The cross-fade between prompts: when another prompt or blend is chosen, the prompts' shares in the picture change
 * gradually within FADE_MS. The functions use only the time that the caller passes. */
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
  int64_t start_ns;
};

/* Initialises the fade so that the prompts are shown with these shares, and nothing changes. */
void fade_begin(struct fade *fade, const float shares[SLOT_PRESETS]);

/* Sets the shares that are to be shown in the end. If a prompt's share becomes 0 or stops being 0, a new fade begins at
 * now_ns with the shares that are shown at that time. Otherwise the time of the fade under way stays; if none is under
 * way, the new shares are shown at once. */
void fade_turn(struct fade *fade, const float shares[SLOT_PRESETS], int64_t now_ns);

/* True if no fade is under way at now_ns, so that the shares stay as they are. */
bool fade_is_over(const struct fade *fade, int64_t now_ns);

/* Computes each prompt's share of the picture at time now_ns. */
void fade_apply(const struct fade *fade, int64_t now_ns, float shares[SLOT_PRESETS]);

#endif
