/* Helpers for tests of MIDI: knobs, and the values that they set. */
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

/* Set-up and tear-down of all tests for cmocka: make the rig, and free it. */
int midi_rig_make(void **state);
int midi_rig_free(void **state);

/* Returns the rig, without knobs and with default values; its clock is at one second. */
struct rig *rig_of(void **state);
/* Returns the target that the text names. Fails the test if it names none. */
struct knob_target target_of(const char *text);
/* Assigns the next knob that moves to the target that the text names. */
void learn(struct rig *rig, const char *text);
/* Plays a MIDI message on channel 1, and sets values as the hub would. Returns what the message does. */
struct knob_action play(struct rig *rig, enum midi_kind kind, int number, int value);
/* Returns the value of the parameter strength. */
double strength(const struct rig *rig);

#endif
