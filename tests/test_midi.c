/* MIDI's bytes and what knobs do with them. */
#include "tests/cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "app/control/midi_bind.h"

enum { MS = 1000000 };

/* --- bytes --- */

struct heard {
  struct midi_message message[16];
  int count;
};

static struct heard hear(const uint8_t *bytes, size_t size) {
  struct midi_reader reader = {0};
  struct heard heard = {.count = 0};
  for (size_t i = 0; i < size; i++)
    heard.count += midi_read(&reader, bytes[i], &heard.message[heard.count]);
  return heard;
}

#define HEAR(...) hear((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void assert_message(const struct midi_message *message, enum midi_kind kind, int channel, int number,
                           int value) {
  assert_int_equal(message->kind, kind);
  assert_int_equal(message->channel, channel);
  assert_int_equal(message->number, number);
  assert_int_equal(message->value, value);
}

static void every_kind_is_read(void **state) {
  (void)state;
  struct heard heard =
      HEAR(0x80, 60, 64, 0x95, 61, 1, 0xa1, 62, 5, 0xbf, 7, 127, 0xc2, 3, 0xd4, 99, 0xe0, 0, 64, 0xe0, 127, 127);
  assert_int_equal(heard.count, 8);
  assert_message(&heard.message[0], MIDI_NOTE_OFF, 1, 60, 64);
  assert_message(&heard.message[1], MIDI_NOTE_ON, 6, 61, 1);
  assert_message(&heard.message[2], MIDI_KEY_PRESSURE, 2, 62, 5);
  assert_message(&heard.message[3], MIDI_CONTROLLER, 16, 7, 127);
  assert_message(&heard.message[4], MIDI_PROGRAM, 3, 3, 0);
  assert_message(&heard.message[5], MIDI_PRESSURE, 5, 0, 99);
  assert_message(&heard.message[6], MIDI_BEND, 1, 0, 8192);
  assert_message(&heard.message[7], MIDI_BEND, 1, 0, 16383);
}

static void a_status_runs_on(void **state) {
  (void)state;
  struct heard heard = HEAR(0x90, 60, 100, 60, 0, 62, 1, 0xc0, 1, 2);
  assert_int_equal(heard.count, 5);
  assert_message(&heard.message[1], MIDI_NOTE_OFF, 1, 60, 0);
  assert_message(&heard.message[2], MIDI_NOTE_ON, 1, 62, 1);
  assert_message(&heard.message[4], MIDI_PROGRAM, 1, 2, 0);
}

static void real_time_bytes_may_be_anywhere(void **state) {
  (void)state;
  struct heard heard = HEAR(0xf8, 0xb0, 0xf8, 7, 0xfe, 0xff, 100, 0xf8, 8, 0xf8, 101);
  assert_int_equal(heard.count, 2);
  assert_message(&heard.message[0], MIDI_CONTROLLER, 1, 7, 100);
  assert_message(&heard.message[1], MIDI_CONTROLLER, 1, 8, 101);
}

static void what_belongs_to_nothing_is_passed_over(void **state) {
  (void)state;
  assert_int_equal(HEAR(1, 2, 3).count, 0);                            /* from the middle of something */
  assert_int_equal(HEAR(0xf0, 0x7e, 1, 2, 3, 0xf7, 4, 5, 6).count, 0); /* system exclusive */
  assert_int_equal(HEAR(0xb0, 7, 0xf0, 1, 2, 0xf7, 7, 1).count, 0);    /* it ends a running status */
  struct heard cut = HEAR(0xb0, 7, 0x90, 60, 1);                       /* a message that was cut off */
  assert_int_equal(cut.count, 1);
  assert_message(&cut.message[0], MIDI_NOTE_ON, 1, 60, 1);
  struct heard behind = HEAR(0xf0, 1, 2, 0xb0, 7, 5); /* exclusive without its end */
  assert_int_equal(behind.count, 1);
  assert_message(&behind.message[0], MIDI_CONTROLLER, 1, 7, 5);
}

/* --- knobs --- */

struct rig {
  struct knobs knobs;
  struct parameters values;
  int64_t now_ns;
};

static struct rig *rig_of(void **state) {
  struct rig *rig = *state;
  rig->knobs = (struct knobs){0};
  parameters_init(&rig->values);
  rig->now_ns = 1000000000;
  return rig;
}

static struct knob_target target_of(const char *text) {
  struct knob_target target;
  struct error err;
  assert_int_equal(knob_target_find(&target, text, &err), 0);
  return target;
}

static void learn(struct rig *rig, const char *text) {
  const struct knob_target target = target_of(text);
  knobs_learn(&rig->knobs, &target);
}

/* A message; what it sets is set, as the hub would. */
static struct knob_action play(struct rig *rig, enum midi_kind kind, int number, int value) {
  const struct midi_message message = {kind, 1, number, value};
  struct error err;
  struct knob_action action = knobs_take(&rig->knobs, &message, &rig->values, rig->now_ns);
  if (action.kind == KNOB_SETS)
    assert_int_equal(parameters_set_number(&rig->values, action.target.id, action.target.index, action.number, &err),
                     0);
  return action;
}

static double strength(const struct rig *rig) {
  return rig->values.strength;
}

static void a_touched_knob_is_learnt(void **state) {
  struct rig *rig = rig_of(state);
  char name[PARAMETER_NAME_MAX];
  assert_int_equal(play(rig, MIDI_CONTROLLER, 21, 100).kind, KNOB_DOES_NOTHING);
  learn(rig, "strength");
  assert_int_equal(play(rig, MIDI_NOTE_OFF, 60, 0).kind, KNOB_DOES_NOTHING);
  struct knob_action action = play(rig, MIDI_CONTROLLER, 21, 40);
  assert_int_equal(action.kind, KNOB_LEARNT);
  assert_string_equal(knob_name(&action.knob, name), "cc 21 of channel 1");
  assert_string_equal(knob_target_name(&action.target, name), "strength");
  assert_float_equal(strength(rig), 0.5, 0);
  rig->now_ns += 1000 * (int64_t)MS;
  play(rig, MIDI_CONTROLLER, 21, 127); /* it has its parameter at once */
  assert_float_equal(strength(rig), 1, 0);
  play(rig, MIDI_CONTROLLER, 21, 0);
  assert_float_equal(strength(rig), 0, 0);
  assert_int_equal(play(rig, MIDI_CONTROLLER, 22, 50).kind, KNOB_DOES_NOTHING);
  const struct midi_message other = {MIDI_CONTROLLER, 2, 21, 50};
  assert_int_equal(knobs_take(&rig->knobs, &other, &rig->values, rig->now_ns).kind, KNOB_DOES_NOTHING);
}

static void a_knob_learns_anew(void **state) {
  struct rig *rig = rig_of(state);
  learn(rig, "strength");
  play(rig, MIDI_CONTROLLER, 21, 40);
  learn(rig, "mix");
  play(rig, MIDI_CONTROLLER, 21, 40);
  assert_int_equal(rig->knobs.count, 1);
  play(rig, MIDI_CONTROLLER, 21, 0);
  assert_float_equal(rig->values.mix, 1, 0); /* where it was, until the knob comes by */
  play(rig, MIDI_CONTROLLER, 21, 127);
  play(rig, MIDI_CONTROLLER, 21, 0);
  assert_float_equal(rig->values.mix, 0, 0);
  assert_float_equal(strength(rig), 0.5, 0);
  learn(rig, "strength");
  knobs_learn(&rig->knobs, NULL);
  assert_int_equal(play(rig, MIDI_CONTROLLER, 22, 1).kind, KNOB_DOES_NOTHING);
}

/* A knob that was just learnt makes no jump either, from wherever it stood. */
static void a_learnt_knob_waits(void **state) {
  for (int i = 0; i < 200; i++) {
    struct rig *rig = rig_of(state);
    int at = 10 + rand() % 50, to = 61 + rand() % 50; /* a hand that goes one way, or the other */
    if (rand() % 2) {
      int swap = at;
      at = to;
      to = swap;
    }
    double set = (rand() % 101) / 100.0;
    struct error err;
    assert_int_equal(parameters_set_number(&rig->values, PARAMETER_STRENGTH, 0, set, &err), 0);
    learn(rig, "strength");
    struct knob_action action = play(rig, MIDI_CONTROLLER, 21, at);
    assert_int_equal(action.kind, KNOB_LEARNT);
    assert_false(action.waits && fabs(at / 127.0 - set) <= 0.02);
    rig->now_ns += 100 * MS;
    bool near = fabs(at / 127.0 - set) <= 0.02 || fabs(to / 127.0 - set) <= 0.02;
    bool passes = (at / 127.0 - set) * (to / 127.0 - set) <= 0;
    play(rig, MIDI_CONTROLLER, 21, to);
    if (near || passes) /* what may be an encoder's step sets nothing yet */
      assert_true(strength(rig) == set || fabs(strength(rig) - to / 127.0) < 1e-9);
    else
      assert_float_equal(strength(rig), set, 0);
    int end = set < 0.5 ? 0 : 127; /* the far side is left, the value passed, and the knob has it */
    play(rig, MIDI_CONTROLLER, 21, 127 - end);
    play(rig, MIDI_CONTROLLER, 21, 40);
    play(rig, MIDI_CONTROLLER, 21, 100);
    play(rig, MIDI_CONTROLLER, 21, 90);
    play(rig, MIDI_CONTROLLER, 21, end);
    play(rig, MIDI_CONTROLLER, 21, 50);
    assert_float_equal(strength(rig), 50 / 127.0, 1e-9);
  }
}

/* --- endless encoders --- */

static const struct encoder {
  enum endless_mode mode;
  const char *word;
  int right, left, right2, left3;
} encoders[] = {{ENDLESS_TWOS, "twos-complement", 1, 127, 2, 125},
                {ENDLESS_SIGN, "sign-magnitude", 1, 65, 2, 67},
                {ENDLESS_OFFSET, "offset", 65, 63, 66, 61}};
enum { ENCODERS = sizeof encoders / sizeof *encoders };

/* Turned to and fro as long as it takes. */
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
  play(rig, MIDI_CONTROLLER, 21, encoder->right2); /* turned faster */
  assert_float_equal(strength(rig), 0.5 + 7 * step, 1e-9);
  play(rig, MIDI_CONTROLLER, 21, encoder->left3);
  play(rig, MIDI_CONTROLLER, 21, encoder->left);
  assert_float_equal(strength(rig), 0.5 + 3 * step, 1e-9);
  rig->values.strength = 0.1; /* another hand: an encoder goes on from there */
  play(rig, MIDI_CONTROLLER, 21, encoder->right);
  assert_float_equal(strength(rig), 0.1 + step, 1e-9);
  for (int i = 0; i < 200; i++)
    play(rig, MIDI_CONTROLLER, 21, encoder->right);
  assert_float_equal(strength(rig), 1, 0);
  play(rig, MIDI_CONTROLLER, 21, encoder->left); /* the end is no way that has to be turned back */
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

/* 65 is to the left or to the right: a turn the other way tells. 1 is to the right, and a turn to the left tells more.
 */
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

/* A hand on a knob with ends: there and back, slowly and fast, from anywhere. */
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

/* A button's strokes repeat one value, too. */
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
    rig->values.steps = 20; /* beyond what the knob spans */
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
    play(rig, MIDI_CONTROLLER, 21, encoders[i].right); /* turned round */
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

/* Another hand has moved the parameter: the knob waits until it comes by. */
static void a_knob_picks_its_value_up(void **state) {
  struct rig *rig = rig_of(state);
  struct error err;
  learn(rig, "strength");
  play(rig, MIDI_CONTROLLER, 21, 64);
  play(rig, MIDI_CONTROLLER, 21, 127);
  rig->now_ns += 1000 * (int64_t)MS;
  assert_int_equal(parameters_set_number(&rig->values, PARAMETER_STRENGTH, 0, 0.25, &err), 0);
  assert_int_equal(play(rig, MIDI_CONTROLLER, 21, 100).kind, KNOB_DOES_NOTHING);
  assert_int_equal(play(rig, MIDI_CONTROLLER, 21, 60).kind, KNOB_DOES_NOTHING);
  assert_float_equal(strength(rig), 0.25, 0);
  assert_int_equal(play(rig, MIDI_CONTROLLER, 21, 20).kind, KNOB_SETS); /* it came by between 60 and 20 */
  assert_float_equal(strength(rig), 20 / 127.0, 1e-9);
  rig->now_ns += 1000 * (int64_t)MS;
  assert_int_equal(play(rig, MIDI_CONTROLLER, 21, 90).kind, KNOB_SETS);
}

/* A quick move is not taken for another hand's, though the values are those from before it. */
static void values_that_lag_are_no_other_hand(void **state) {
  struct rig *rig = rig_of(state);
  learn(rig, "strength");
  play(rig, MIDI_CONTROLLER, 21, 64);
  const struct parameters before = rig->values;
  for (int i = 70; i < 128; i += 10) {
    rig->now_ns += 5 * MS;
    assert_int_equal(play(rig, MIDI_CONTROLLER, 21, i).kind, KNOB_SETS);
    rig->values = before;
  }
}

static void halves_are_one_knob(void **state) {
  struct rig *rig = rig_of(state);
  char name[PARAMETER_NAME_MAX];
  learn(rig, "strength");
  assert_int_equal(play(rig, MIDI_CONTROLLER, 1, 64).kind, KNOB_LEARNT);
  rig->now_ns += MS;
  struct knob_action action = play(rig, MIDI_CONTROLLER, 33, 0);
  assert_int_equal(action.kind, KNOB_LEARNT);
  assert_string_equal(knob_name(&action.knob, name), "cc14 1 of channel 1");
  play(rig, MIDI_CONTROLLER, 1, 64);
  play(rig, MIDI_CONTROLLER, 33, 1);
  assert_float_equal(strength(rig), 8193 / 16383.0, 1e-12);
  play(rig, MIDI_CONTROLLER, 1, 127);
  play(rig, MIDI_CONTROLLER, 33, 127);
  assert_float_equal(strength(rig), 1, 0);
  play(rig, MIDI_CONTROLLER, 1, 0);
  assert_float_equal(strength(rig), 0, 0); /* the upper half alone lies within its own pairs */
  assert_int_equal(rig->knobs.count, 1);
}

/* A button beside a fader, whose number is that of the fader's lower half. */
static void a_button_is_no_half(void **state) {
  struct rig *rig = rig_of(state);
  learn(rig, "strength");
  play(rig, MIDI_CONTROLLER, 0, 64);
  rig->now_ns += 200 * MS;
  assert_int_equal(play(rig, MIDI_CONTROLLER, 32, 127).kind, KNOB_DOES_NOTHING);
  learn(rig, "pause");
  assert_int_equal(play(rig, MIDI_CONTROLLER, 32, 127).kind, KNOB_LEARNT);
  assert_int_equal(rig->knobs.count, 2);
  play(rig, MIDI_CONTROLLER, 0, 127);
  assert_float_equal(strength(rig), 1, 0);
}

static void non_registered_parameters_are_knobs(void **state) {
  struct rig *rig = rig_of(state);
  char name[PARAMETER_NAME_MAX];
  learn(rig, "strength");
  assert_int_equal(play(rig, MIDI_CONTROLLER, 99, 2).kind, KNOB_DOES_NOTHING);
  assert_int_equal(play(rig, MIDI_CONTROLLER, 98, 44).kind, KNOB_DOES_NOTHING);
  struct knob_action action = play(rig, MIDI_CONTROLLER, 6, 10);
  assert_int_equal(action.kind, KNOB_LEARNT);
  assert_string_equal(knob_name(&action.knob, name), "nrpn 300 of channel 1");
  play(rig, MIDI_CONTROLLER, 6, 64);
  play(rig, MIDI_CONTROLLER, 38, 1);
  assert_float_equal(strength(rig), 8193 / 16383.0, 1e-12);
  play(rig, MIDI_CONTROLLER, 99, 127);
  play(rig, MIDI_CONTROLLER, 98, 127); /* none is chosen */
  assert_int_equal(play(rig, MIDI_CONTROLLER, 6, 0).kind, KNOB_DOES_NOTHING);
}

static void pads_switch_and_run(void **state) {
  struct rig *rig = rig_of(state);
  learn(rig, "pause");
  assert_int_equal(play(rig, MIDI_NOTE_ON, 36, 90).kind, KNOB_LEARNT);
  play(rig, MIDI_NOTE_OFF, 36, 0);
  play(rig, MIDI_NOTE_ON, 36, 90);
  assert_true(rig->values.pause);
  play(rig, MIDI_NOTE_OFF, 36, 0);
  assert_true(rig->values.pause);
  play(rig, MIDI_NOTE_ON, 36, 1);
  assert_false(rig->values.pause);

  learn(rig, "new-seed");
  play(rig, MIDI_NOTE_ON, 37, 90);
  play(rig, MIDI_NOTE_OFF, 37, 0);
  struct knob_action action = play(rig, MIDI_NOTE_ON, 37, 1);
  assert_int_equal(action.kind, KNOB_RUNS);
  assert_string_equal(action.target.command->name, "new-seed");
  assert_true(isnan(action.number));
  assert_int_equal(play(rig, MIDI_NOTE_OFF, 37, 0).kind, KNOB_DOES_NOTHING);

  learn(rig, "prompt=3");
  play(rig, MIDI_NOTE_ON, 38, 90);
  play(rig, MIDI_NOTE_OFF, 38, 0);
  action = play(rig, MIDI_NOTE_ON, 38, 90);
  assert_int_equal(action.kind, KNOB_RUNS);
  assert_float_equal(action.number, 3, 0);

  learn(rig, "show"); /* a choice: the next with each stroke */
  play(rig, MIDI_NOTE_ON, 39, 90);
  for (int i = 1; i <= 4; i++) {
    play(rig, MIDI_NOTE_OFF, 39, 0);
    play(rig, MIDI_NOTE_ON, 39, 90);
    assert_int_equal(rig->values.show, i % 3);
  }
}

static void a_button_of_two_states_switches(void **state) {
  struct rig *rig = rig_of(state);
  struct error err;
  learn(rig, "split");
  play(rig, MIDI_CONTROLLER, 40, 0);
  play(rig, MIDI_CONTROLLER, 40, 127);
  assert_true(rig->values.split);
  assert_int_equal(play(rig, MIDI_CONTROLLER, 40, 100).kind, KNOB_DOES_NOTHING);
  play(rig, MIDI_CONTROLLER, 40, 0);
  assert_false(rig->values.split);
  assert_int_equal(parameters_set_number(&rig->values, PARAMETER_SPLIT, 0, 1, &err), 0);
  assert_int_equal(play(rig, MIDI_CONTROLLER, 40, 1).kind, KNOB_DOES_NOTHING);
  assert_true(rig->values.split);

  learn(rig, "new-seed");
  play(rig, MIDI_CONTROLLER, 41, 127);
  play(rig, MIDI_CONTROLLER, 41, 0);
  assert_int_equal(play(rig, MIDI_CONTROLLER, 41, 127).kind, KNOB_RUNS);
  assert_int_equal(play(rig, MIDI_CONTROLLER, 41, 126).kind, KNOB_DOES_NOTHING);
}

static void programs_choose_prompts(void **state) {
  struct rig *rig = rig_of(state);
  struct knob_action action = play(rig, MIDI_PROGRAM, 4, 0);
  assert_int_equal(action.kind, KNOB_RUNS);
  assert_string_equal(action.target.command->name, "prompt");
  assert_float_equal(action.number, 5, 0);
  assert_int_equal(play(rig, MIDI_PROGRAM, 9, 0).kind, KNOB_DOES_NOTHING);
  learn(rig, "new-seed");
  assert_int_equal(play(rig, MIDI_PROGRAM, 4, 0).kind, KNOB_LEARNT);
  assert_string_equal(play(rig, MIDI_PROGRAM, 4, 0).target.command->name, "new-seed");
  assert_int_equal(play(rig, MIDI_PROGRAM, 4, 0).kind, KNOB_RUNS);
}

static void whole_values_and_choices_are_reached(void **state) {
  struct rig *rig = rig_of(state);
  bool seen[9] = {false};
  learn(rig, "steps");
  play(rig, MIDI_CONTROLLER, 1, 0);
  for (int i = 0; i < 128; i++) {
    play(rig, MIDI_CONTROLLER, 1, i);
    seen[rig->values.steps] = true;
  }
  for (int i = 1; i <= 8; i++)
    assert_true(seen[i]);
  learn(rig, "show");
  play(rig, MIDI_BEND, 0, 0);
  for (int i = 0; i < 3; i++) {
    play(rig, MIDI_BEND, 0, i * 8191);
    assert_int_equal(rig->values.show, i);
  }
  learn(rig, "mix");
  play(rig, MIDI_PRESSURE, 0, 1);
  play(rig, MIDI_PRESSURE, 0, 0);
  assert_float_equal(rig->values.mix, 0, 0);
}

static void assert_refused(const char *text, const char *why) {
  struct knob_target target;
  struct error err = {0};
  assert_int_equal(knob_target_find(&target, text, &err), -1);
  if (!strstr(err.message, why))
    fail_msg("%s: %s", text, err.message);
}

static void targets_are_names(void **state) {
  (void)state;
  char name[PARAMETER_NAME_MAX];
  static const char *const good[] = {"strength", "lora[2].weight", "command/new-seed", "command/prompt=3", "help"};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    struct knob_target target = target_of(good[i]);
    assert_string_equal(knob_target_name(&target, name), good[i]);
  }
  struct knob_target command = target_of("stronger"), parameter = target_of("pause");
  assert_non_null(command.command);
  assert_null(parameter.command);
  assert_int_equal(parameter.id, PARAMETER_PAUSE);
  assert_refused("", "there is no parameter");
  assert_refused("strenght", "there is no parameter");
  assert_refused("prompt[2]", "cannot set a text");
  assert_refused("size", "cannot set a size");
  assert_refused("lora[99].weight", "there are 1 to 8");
  assert_refused("prompt", "prompt=3");
  assert_refused("prompt=", "a number is needed");
  assert_refused("prompt=x", "a number is needed");
  assert_refused("command/no", "no command");
}

static void bindings_are_kept(void **state) {
  struct rig *rig = rig_of(state);
  struct knobs read;
  struct error err;
  struct knobs_unknown unknown;
  learn(rig, "strength");
  play(rig, MIDI_CONTROLLER, 1, 64);
  play(rig, MIDI_CONTROLLER, 33, 0);
  learn(rig, "prompt=3");
  play(rig, MIDI_NOTE_ON, 36, 1);
  learn(rig, "guidance");
  play(rig, MIDI_BEND, 0, 1);
  char *text = knobs_write(&rig->knobs, NULL);
  assert_int_equal(knobs_read(&read, text, &unknown, &err), 0);
  assert_int_equal(unknown.count, 0);
  assert_int_equal(read.count, 3);
  assert_int_equal(read.binding[0].knob.kind, KNOB_FINE);
  assert_string_equal(read.binding[1].target.command->name, "prompt");
  assert_float_equal(read.binding[1].target.value, 3, 0);
  assert_float_equal(read.binding[2].low, 1, 0);
  assert_float_equal(read.binding[2].high, 10, 0);
  char *again = knobs_write(&read, text);
  assert_string_equal(again, text);
  free(again);
  free(text);
}

/* What another version wrote, or a person, stays in the file. */
static void what_is_not_understood_is_kept(void **state) {
  (void)state;
  static const char text[] =
      "{\"note\": \"mine\", \"bindings\": [{\"knob\": \"ribbon 1\", \"channel\": 1, \"sets\": \"strength\"},"
      "{\"knob\": \"cc 7\", \"channel\": 1, \"sets\": \"strength\", \"low\": 1, \"high\": 0.2},"
      "{\"knob\": \"cc 8\", \"channel\": 1, \"sets\": \"swirl\"}, {\"knob\": \"cc 9\", \"channel\": 17, \"sets\": "
      "\"mix\"}, {\"knob\": \"cc 9\", \"channel\": 1, \"sets\": \"mix\", \"low\": 0, \"high\": 7}, 5]}";
  struct knobs read;
  struct error err;
  struct knobs_unknown unknown;
  assert_int_equal(knobs_read(&read, text, &unknown, &err), 0);
  assert_int_equal(read.count, 1);
  assert_int_equal(unknown.count, 5);
  char *written = knobs_write(&read, text);
  for (size_t i = 0; i < 5; i++)
    assert_non_null(strstr(written, ((const char *[]){"mine", "ribbon 1", "swirl", "17", "\"high\":\t7"})[i]));
  free(written);
  /* A knob that goes the other way */
  struct parameters values;
  parameters_init(&values);
  struct midi_message message = {MIDI_CONTROLLER, 1, 7, 80};
  assert_int_equal(knobs_take(&read, &message, &values, 0).kind, KNOB_SETS);
  message.value = 127;
  assert_float_equal(knobs_take(&read, &message, &values, 1).number, 0.2, 1e-12);
}

static void no_list_is_refused(void **state) {
  (void)state;
  static const char *const bad[] = {"", "[]", "{}", "{\"bindings\": 3}", "{\"bindings\": [", "\xff"};
  struct knobs read;
  struct error err;
  struct knobs_unknown unknown;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_int_equal(knobs_read(&read, bad[i], &unknown, &err), -1);
    assert_int_equal(read.count, 0);
  }
}

static void there_is_an_end_to_knobs(void **state) {
  struct rig *rig = rig_of(state);
  for (int i = 0; i < KNOBS_MAX; i++) {
    learn(rig, "strength");
    assert_int_equal(play(rig, MIDI_NOTE_ON, i, 1).kind, KNOB_LEARNT);
  }
  learn(rig, "strength");
  assert_int_equal(play(rig, MIDI_CONTROLLER, 1, 1).kind, KNOB_TOO_MANY);
  assert_int_equal(rig->knobs.count, KNOBS_MAX);
}

static int make_rig(void **state) {
  *state = calloc(1, sizeof(struct rig));
  return *state ? 0 : -1;
}

static int free_rig(void **state) {
  free(*state);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_kind_is_read),
      cmocka_unit_test(a_status_runs_on),
      cmocka_unit_test(real_time_bytes_may_be_anywhere),
      cmocka_unit_test(what_belongs_to_nothing_is_passed_over),
      cmocka_unit_test(a_touched_knob_is_learnt),
      cmocka_unit_test(a_knob_learns_anew),
      cmocka_unit_test(a_learnt_knob_waits),
      cmocka_unit_test(moves_tell_an_encoder),
      cmocka_unit_test(one_way_alone_may_not_tell),
      cmocka_unit_test(a_knob_with_ends_is_no_encoder),
      cmocka_unit_test(a_button_is_no_encoder),
      cmocka_unit_test(encoders_step_through_what_there_is),
      cmocka_unit_test(modes_are_kept),
      cmocka_unit_test(a_knob_picks_its_value_up),
      cmocka_unit_test(values_that_lag_are_no_other_hand),
      cmocka_unit_test(halves_are_one_knob),
      cmocka_unit_test(a_button_is_no_half),
      cmocka_unit_test(non_registered_parameters_are_knobs),
      cmocka_unit_test(pads_switch_and_run),
      cmocka_unit_test(a_button_of_two_states_switches),
      cmocka_unit_test(programs_choose_prompts),
      cmocka_unit_test(whole_values_and_choices_are_reached),
      cmocka_unit_test(targets_are_names),
      cmocka_unit_test(bindings_are_kept),
      cmocka_unit_test(what_is_not_understood_is_kept),
      cmocka_unit_test(no_list_is_refused),
      cmocka_unit_test(there_is_an_end_to_knobs),
  };
  srand((unsigned)time(NULL));
  return cmocka_run_group_tests(tests, make_rig, free_rig);
}
