/* Helpers for tests of the live window's keys: a state as at the start, and a function that presses a key. */
#ifndef TESTS_LIVE_KEYS_H
#define TESTS_LIVE_KEYS_H

#include "app/control/keys.h"

static const int64_t second_ns = 1000000000;

struct live_state fresh_state(void);
void press(struct live_state *state, int key);

#define SHARES(...) ((const int[SLOT_PRESETS]){__VA_ARGS__})

#endif
