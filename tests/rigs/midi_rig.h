/* Knobs and the values that they set, for the tests of what MIDI's messages do. */
#ifndef TESTS_MIDI_RIG_H
#define TESTS_MIDI_RIG_H

#include "tests/rigs/cmocka_all.h"

#include "app/remote/midi_bind.h"

enum { MS = 1000000 /* nanoseconds */ };

struct rig {
  struct knobs knobs;
  struct parameters values;
  int64_t now_ns;
};

/* For cmocka, around all tests: makes the rig, and frees it. */
int midi_rig_make(void **state);
int midi_rig_free(void **state);

/* Returns the rig with no knobs, with the usual values, a second after its clock began. */
struct rig *rig_of(void **state);
/* Returns what the text names. The test fails where it names nothing. */
struct knob_target target_of(const char *text);
/* The next knob that moves is to set what the text names. */
void learn(struct rig *rig, const char *text);
/* Plays a message of channel 1. What it sets is set, as the hub would. Returns what the message does. */
struct knob_action play(struct rig *rig, enum midi_kind kind, int number, int value);
/* Returns the strength that the rig's values have. */
double strength(const struct rig *rig);

#endif
