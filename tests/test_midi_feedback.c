/* Tests the MIDI messages that bring values back to the knobs and pads of a controller. The test has a clock of its
 * own, rig->now_ns. */
#include "tests/rigs/midi_rig.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/remote/midi_feedback.h"

static struct midi_feedback feedback;

static struct rig *begin(void **state) {
  struct rig *rig = rig_of(state);
  midi_feedback_forget(&feedback, &rig->knobs);
  return rig;
}

/* Fails the test unless exactly these bytes are to be sent now, given as text: "b0 15 40". size: how many bytes may be
 * sent. */
static void expect(struct rig *rig, size_t size, const char *wanted) {
  uint8_t bytes[64];
  char text[64 * 3 + 1] = "";
  size_t count = midi_feedback_make(&feedback, &rig->knobs, &rig->values, rig->now_ns, bytes, size);
  for (size_t i = 0; i < count; i++)
    sprintf(text + strlen(text), "%s%02x", i ? " " : "", bytes[i]);
  assert_string_equal(text, wanted);
}

static void set(struct rig *rig, enum parameter id, double number) {
  struct error err;
  assert_int_equal(parameters_set_number(&rig->values, id, 0, number, &err), 0);
}

static void later(struct rig *rig, int ms) {
  rig->now_ns += (int64_t)ms * MS;
}

/* At first the values of all knobs are sent, later each change once. */
static void values_go_back(void **state) {
  struct rig *rig = begin(state);
  learn(rig, "strength");
  play(rig, MIDI_CONTROLLER, 21, 127);
  set(rig, PARAMETER_STRENGTH, 0.5);
  later(rig, 1000);
  expect(rig, 64, "b0 15 40");
  expect(rig, 64, "");
  later(rig, 20);
  set(rig, PARAMETER_STRENGTH, 1);
  expect(rig, 64, "b0 15 7f");
  set(rig, PARAMETER_MIX, 0.25); /* no knob is bound to this parameter */
  later(rig, 20);
  expect(rig, 64, "");
  midi_feedback_forget(&feedback, &rig->knobs); /* as for another controller, to which everything must be sent */
  expect(rig, 64, "b0 15 7f");
}

/* A value that the fader itself has set is not sent back to it, neither while it is moved nor afterwards. A value that
 * something else sets is sent 300 ms after the fader's last movement. */
static void nothing_works_against_the_hand(void **state) {
  struct rig *rig = begin(state);
  learn(rig, "strength");
  set(rig, PARAMETER_STRENGTH, 0.5);
  play(rig, MIDI_CONTROLLER, 21, 64);
  for (int i = 65; i <= 100; i++) {
    later(rig, 20);
    play(rig, MIDI_CONTROLLER, 21, i);
    expect(rig, 64, "");
  }
  assert_true(fabs(strength(rig) - 100.0 / 127) < 0.01);
  later(rig, 5000);
  expect(rig, 64, "");
  play(rig, MIDI_CONTROLLER, 21, 101);
  later(rig, 100);
  set(rig, PARAMETER_STRENGTH, 0);
  expect(rig, 64, "");
  later(rig, 199);
  expect(rig, 64, "");
  later(rig, 1);
  expect(rig, 64, "b0 15 00");
}

/* A pad's light shows whether its switch is on; it is set again after each stroke, because the controller may have
 * changed it. */
static void pads_are_lit(void **state) {
  struct rig *rig = begin(state);
  learn(rig, "freeze");
  play(rig, MIDI_NOTE_ON, 36, 100);
  learn(rig, "command/blackout");
  play(rig, MIDI_NOTE_ON, 37, 100);
  learn(rig, "prompt=3");
  play(rig, MIDI_NOTE_ON, 38, 100);
  learn(rig, "new-seed"); /* a command without a state, so its pad is not lit */
  play(rig, MIDI_NOTE_ON, 39, 100);
  learn(rig, "mix");
  play(rig, MIDI_NOTE_ON, 40, 100);
  set(rig, PARAMETER_MIX, 0.5);
  later(rig, 1000);
  expect(rig, 64, "90 24 00 90 25 00 90 26 00 90 28 40");
  play(rig, MIDI_NOTE_ON, 36, 100);
  assert_true(rig->values.freeze);
  expect(rig, 64, "");
  later(rig, 100);
  expect(rig, 64, "90 24 7f");
  play(rig, MIDI_NOTE_OFF, 36, 0);
  later(rig, 100);
  expect(rig, 64, "90 24 7f");
  set(rig, PARAMETER_BLACKOUT, 1);
  set(rig, PARAMETER_SHOWN_PROMPT, 3);
  expect(rig, 64, "90 25 7f 90 26 7f");
  set(rig, PARAMETER_SHOWN_PROMPT, 2);
  expect(rig, 64, "90 26 00");
}

/* The velocity with which a pad is struck sets a number. */
static void velocity_comes_in(void **state) {
  struct rig *rig = begin(state);
  learn(rig, "mix");
  play(rig, MIDI_NOTE_ON, 40, 100);
  play(rig, MIDI_NOTE_OFF, 40, 0);
  play(rig, MIDI_NOTE_ON, 40, 127);
  assert_true(rig->values.mix == 1);
  play(rig, MIDI_NOTE_OFF, 40, 0);
  play(rig, MIDI_NOTE_ON, 40, 32);
  assert_true(fabs(rig->values.mix - 32.0 / 127) < 0.01);
}

/* Motor faders of 14 bits: two controllers, the pitch bend of a Mackie control, and an NRPN; to knobs of program change
 * and pressure nothing is sent. */
static void kinds_of_knobs(void **state) {
  static const struct knob knobs[] = {
      {KNOB_FINE, 2, 3}, {KNOB_BEND, 16, 0}, {KNOB_NRPN, 1, 300}, {KNOB_PROGRAM, 1, 5}, {KNOB_PRESSURE, 1, 0}};
  struct rig *rig = begin(state);
  for (size_t i = 0; i < sizeof knobs / sizeof *knobs; i++)
    rig->knobs.binding[rig->knobs.count++] =
        (struct knob_binding){.knob = knobs[i], .target = target_of("strength"), .high = 1};
  set(rig, PARAMETER_STRENGTH, 0.75); /* 12287 = 95 * 128 + 127 */
  expect(rig, 64, "b1 03 5f b1 23 7f ef 7f 5f b0 63 02 b0 62 2c b0 06 5f b0 26 7f");
}

/* If only a few bytes may be sent at a time, every knob gets its value in turn, even if the first ones change again and
 * again. */
static void what_is_sent_is_limited(void **state) {
  enum { COUNT = 9 };
  struct rig *rig = begin(state);
  char words[16];
  for (int i = 0; i < COUNT; i++)
    rig->knobs.binding[rig->knobs.count++] =
        (struct knob_binding){.knob = {KNOB_CC, 1, i}, .target = target_of(i < 3 ? "strength" : "mix"), .high = 1};
  set(rig, PARAMETER_MIX, 1);
  expect(rig, 2, "");
  set(rig, PARAMETER_STRENGTH, 0);
  expect(rig, 8, "b0 00 00 b0 01 00");
  for (int i = 2; i < COUNT; i++) {
    set(rig, PARAMETER_STRENGTH, i % 2);
    snprintf(words, sizeof words, "b0 %02x %02x", i, i < 3 ? i % 2 * 127 : 127);
    expect(rig, 3, words);
  }
  expect(rig, 64, "");
}

/* A message that only repeats what was sent to its knob in the last 100 ms is recognised as an echo; after another
 * movement of the knob it is not. */
static void echoes_are_known(void **state) {
  struct rig *rig = begin(state);
  learn(rig, "strength");
  play(rig, MIDI_CONTROLLER, 21, 0);
  learn(rig, "freeze");
  play(rig, MIDI_NOTE_ON, 36, 100);
  set(rig, PARAMETER_STRENGTH, 1);
  set(rig, PARAMETER_FREEZE, 1);
  later(rig, 1000);
  expect(rig, 64, "b0 15 7f 90 24 7f");
  const struct midi_message fader = {MIDI_CONTROLLER, 1, 21, 127}, pad = {MIDI_NOTE_ON, 1, 36, 127};
  const struct midi_message other = {MIDI_CONTROLLER, 1, 21, 126}, tick = {MIDI_TICK, 0, 0, 0};
  const struct midi_message unbound = {MIDI_CONTROLLER, 1, 22, 127}, bend = {MIDI_BEND, 1, 0, 0};
  later(rig, 50);
  assert_true(midi_feedback_is_echo(&feedback, &rig->knobs, &fader, rig->now_ns));
  assert_true(midi_feedback_is_echo(&feedback, &rig->knobs, &pad, rig->now_ns));
  assert_false(midi_feedback_is_echo(&feedback, &rig->knobs, &other, rig->now_ns));
  assert_false(midi_feedback_is_echo(&feedback, &rig->knobs, &unbound, rig->now_ns));
  assert_false(midi_feedback_is_echo(&feedback, &rig->knobs, &bend, rig->now_ns));
  assert_false(midi_feedback_is_echo(&feedback, &rig->knobs, &tick, rig->now_ns));
  play(rig, MIDI_CONTROLLER, 21, 126); /* the user moves the fader */
  assert_false(midi_feedback_is_echo(&feedback, &rig->knobs, &fader, rig->now_ns));
  later(rig, 50);
  assert_false(midi_feedback_is_echo(&feedback, &rig->knobs, &pad, rig->now_ns));
}

/* An endless encoder's ring of lights gets the position of the value, whatever steps the encoder sends. */
static void encoders_have_rings(void **state) {
  struct rig *rig = begin(state);
  rig->knobs.binding[rig->knobs.count++] = (struct knob_binding){
      .knob = {KNOB_CC, 1, 16}, .target = target_of("strength"), .high = 1, .endless.mode = ENDLESS_TWOS};
  set(rig, PARAMETER_STRENGTH, 1);
  expect(rig, 64, "b0 10 7f");
  play(rig, MIDI_CONTROLLER, 16, 127);
  later(rig, 300);
  expect(rig, 64, "b0 10 7e");
}

int main(void) {
#define CASE(function) cmocka_unit_test_setup_teardown(function, midi_rig_make, midi_rig_free)
  const struct CMUnitTest tests[] = {
      CASE(values_go_back), CASE(nothing_works_against_the_hand), CASE(pads_are_lit),     CASE(velocity_comes_in),
      CASE(kinds_of_knobs), CASE(what_is_sent_is_limited),        CASE(echoes_are_known), CASE(encoders_have_rings),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
