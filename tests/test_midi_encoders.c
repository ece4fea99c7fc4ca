/* Tests endless encoders: how they are distinguished from knobs with ends, and what their messages do. */
#include "tests/rigs/midi_rig.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct encoder {
  enum endless_mode mode;
  const char *word;
  int right, left, right2, left3;
} encoders[] = {{ENDLESS_TWOS, "twos-complement", 1, 127, 2, 125},
                {ENDLESS_SIGN, "sign-magnitude", 1, 65, 2, 67},
                {ENDLESS_OFFSET, "offset", 65, 63, 66, 61}};
enum { ENCODERS = sizeof encoders / sizeof *encoders };

/* Turns the encoder back and forth until it is recognised. */
static void teach(struct rig *rig, const char *name, const struct encoder *encoder, int first) {
  int moves = 0;
  learn(rig, name);
  assert_int_equal(play(rig, MIDI_CONTROLLER, 21, first).kind, KNOB_LEARNT);
  while (rig->knobs.binding[0].endless.mode != encoder->mode) {
    struct knob_action action = play(rig, MIDI_CONTROLLER, 21, moves % 4 < 2 ? encoder->right : encoder->left);
    assert_int_not_equal(action.kind, KNOB_SETS);
    assert_true(action.kind != KNOB_ENDLESS || moves < 3 || action.mode == encoder->mode);
    assert_true(++moves < 8);
  }
}

static void expect_steps(struct rig *rig, const struct encoder *encoder) {
  const double step = 1 / 127.0;
  rig->values.strength = 0.5;
  for (int i = 1; i <= 5; i++) {
    play(rig, MIDI_CONTROLLER, 21, encoder->right);
    assert_float_equal(strength(rig), 0.5 + i * step, 1e-9);
  }
  play(rig, MIDI_CONTROLLER, 21, encoder->right2); /* a faster turn */
  assert_float_equal(strength(rig), 0.5 + 7 * step, 1e-9);
  play(rig, MIDI_CONTROLLER, 21, encoder->left3);
  play(rig, MIDI_CONTROLLER, 21, encoder->left);
  assert_float_equal(strength(rig), 0.5 + 3 * step, 1e-9);
  rig->values.strength = 0.1; /* the value is changed by something else: the encoder continues from it */
  play(rig, MIDI_CONTROLLER, 21, encoder->right);
  assert_float_equal(strength(rig), 0.1 + step, 1e-9);
  for (int i = 0; i < 200; i++)
    play(rig, MIDI_CONTROLLER, 21, encoder->right);
  assert_float_equal(strength(rig), 1, 0);
  /* beyond the end of the range nothing accumulates that would have to be turned back */
  play(rig, MIDI_CONTROLLER, 21, encoder->left);
  assert_float_equal(strength(rig), 1 - step, 1e-9);
}

static void moves_tell_an_encoder(void **state) {
  for (int i = 0; i < ENCODERS; i++)
    for (int left = 0; left < 2; left++) {
      struct rig *rig = rig_of(state);
      teach(rig, "strength", &encoders[i], left ? encoders[i].left : encoders[i].right);
      assert_float_equal(strength(rig), 0.5, 0);
      expect_steps(rig, &encoders[i]);
    }
}

/* The value 65 may mean left or right, depending on the encoder; turning the other way shows which. The value 1 means
 * right; turning left shows the kind of encoder. */
static void one_way_alone_may_not_tell(void **state) {
  for (int offset = 0; offset < 2; offset++) {
    struct rig *rig = rig_of(state);
    learn(rig, "strength");
    play(rig, MIDI_CONTROLLER, 21, 65);
    int asked = 0;
    for (int i = 0; i < 10; i++) {
      enum knob_action_kind kind = play(rig, MIDI_CONTROLLER, 21, 65).kind;
      assert_true(kind == KNOB_DOES_NOTHING || kind == KNOB_ASKS);
      asked += kind == KNOB_ASKS;
    }
    assert_int_equal(asked, 1);
    struct knob_action action = play(rig, MIDI_CONTROLLER, 21, offset ? 63 : 1);
    assert_int_equal(action.kind, KNOB_ENDLESS);
    assert_int_equal(action.mode, offset ? ENDLESS_OFFSET : ENDLESS_SIGN);
    expect_steps(rig, &encoders[offset ? 2 : 1]);
  }
  struct rig *rig = rig_of(state);
  learn(rig, "strength");
  for (int i = 0; i < 5; i++)
    play(rig, MIDI_CONTROLLER, 21, 1);
  assert_float_equal(strength(rig), 0.5 + 2 / 127.0, 1e-9);
  struct knob_action action = play(rig, MIDI_CONTROLLER, 21, 65);
  assert_int_equal(action.kind, KNOB_ENDLESS);
  assert_int_equal(action.mode, ENDLESS_SIGN);
  expect_steps(rig, &encoders[1]);
}

/* A knob with ends is turned back and forth, slowly and fast, from any position. */
static void a_knob_with_ends_is_no_encoder(void **state) {
  for (int i = 0; i < 500; i++) {
    struct rig *rig = rig_of(state);
    int at = rand() % 128;
    learn(rig, "strength");
    play(rig, MIDI_CONTROLLER, 21, at);
    for (int turn = 0; turn < 8; turn++) {
      int by = (at < 20 || (at < 100 && rand() % 2) ? 1 : -1), most = rand() % 2 ? 1 : 12;
      for (int moves = 0; moves < 12 && (by > 0 ? at < 127 : at > 0); moves++) {
        at += by * (1 + rand() % most);
        at = at < 0 ? 0 : at > 127 ? 127 : at;
        enum knob_action_kind kind = play(rig, MIDI_CONTROLLER, 21, at).kind;
        assert_true(kind == KNOB_SETS || kind == KNOB_DOES_NOTHING);
      }
    }
    assert_int_equal(rig->knobs.binding[0].endless.mode, ENDLESS_NOT);
  }
}

/* A button's presses also repeat one value. */
static void a_button_is_no_encoder(void **state) {
  static const char *const names[] = {"new-seed", "pause"};
  for (int i = 0; i < 2; i++) {
    struct rig *rig = rig_of(state);
    learn(rig, names[i]);
    for (int stroke = 0; stroke < 6; stroke++)
      play(rig, MIDI_CONTROLLER, 21, 127);
    assert_int_equal(rig->knobs.binding[0].endless.mode, ENDLESS_NOT);
  }
}

static void encoders_step_through_what_there_is(void **state) {
  for (int i = 0; i < ENCODERS; i++) {
    struct rig *rig = rig_of(state);
    const struct encoder *encoder = &encoders[i];
    rig->values.steps = 1;
    teach(rig, "steps", encoder, encoder->right);
    for (int steps = 2; steps <= 8; steps++) {
      play(rig, MIDI_CONTROLLER, 21, encoder->right);
      assert_int_equal(rig->values.steps, steps);
    }
    rig->values.steps = 20; /* beyond the range that the knob covers */
    play(rig, MIDI_CONTROLLER, 21, encoder->right);
    assert_int_equal(rig->values.steps, 20);
    play(rig, MIDI_CONTROLLER, 21, encoder->left);
    assert_int_equal(rig->values.steps, 19);
    teach(rig, "show", encoder, encoder->left);
    static const int shown[] = {1, 2, 2};
    for (int step = 0; step < 3; step++) {
      play(rig, MIDI_CONTROLLER, 21, encoder->right);
      assert_int_equal(rig->values.show, shown[step]);
    }
    play(rig, MIDI_CONTROLLER, 21, encoder->left3);
    assert_int_equal(rig->values.show, 0);
  }
}

static void modes_are_kept(void **state) {
  struct knobs read;
  struct error err;
  struct knobs_unknown unknown;
  char text[300];
  for (int i = 0; i < ENCODERS; i++) {
    struct rig *rig = rig_of(state);
    teach(rig, "strength", &encoders[i], encoders[i].right);
    char *written = knobs_write(&rig->knobs, NULL);
    snprintf(text, sizeof text, "\"mode\":\t\"%s\"", encoders[i].word);
    assert_non_null(strstr(written, text));
    assert_int_equal(knobs_read(&rig->knobs, written, &unknown, &err), 0);
    free(written);
    expect_steps(rig, &encoders[i]);
    snprintf(text, sizeof text,
             "{\"bindings\": [{\"knob\": \"cc 21\", \"channel\": 1, \"sets\": \"strength\", \"low\": 1, \"high\": 0, "
             "\"mode\": \"%s\"}]}",
             encoders[i].word);
    assert_int_equal(knobs_read(&rig->knobs, text, &unknown, &err), 0);
    rig->values.strength = 0.5;
    play(rig, MIDI_CONTROLLER, 21, encoders[i].right); /* turned in the other direction */
    assert_float_equal(strength(rig), 0.5 - 1 / 127.0, 1e-9);
  }
#define MODE(knob, mode) "{\"knob\": \"" knob "\", \"channel\": 1, \"sets\": \"mix\", \"mode\": " mode "}"
  static const char some[] =
      "{\"bindings\": [" MODE("cc 1", "\"absolute\"") ", " MODE("cc 2", "\"sideways\"") ", " MODE(
          "cc 3", "1") ", " MODE("bend", "\"offset\"") ", " MODE("bend", "\"absolute\"") "]}";
  assert_int_equal(knobs_read(&read, some, &unknown, &err), 0);
  assert_int_equal(read.count, 2);
  assert_int_equal(unknown.count, 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(moves_tell_an_encoder),
      cmocka_unit_test(one_way_alone_may_not_tell),
      cmocka_unit_test(a_knob_with_ends_is_no_encoder),
      cmocka_unit_test(a_button_is_no_encoder),
      cmocka_unit_test(encoders_step_through_what_there_is),
      cmocka_unit_test(modes_are_kept),
  };
  srand((unsigned)time(NULL));
  return cmocka_run_group_tests(tests, midi_rig_make, midi_rig_free);
}
