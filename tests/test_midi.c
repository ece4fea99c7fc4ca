/* Tests parsing of MIDI bytes, and what knobs do with messages. */
#include "tests/rigs/midi_rig.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
  assert_int_equal(heard.count, 6);
  assert_message(&heard.message[0], MIDI_TICK, 0, 0, 0);
  assert_message(&heard.message[1], MIDI_TICK, 0, 0, 0);
  assert_message(&heard.message[2], MIDI_CONTROLLER, 1, 7, 100);
  assert_message(&heard.message[3], MIDI_TICK, 0, 0, 0);
  assert_message(&heard.message[4], MIDI_TICK, 0, 0, 0);
  assert_message(&heard.message[5], MIDI_CONTROLLER, 1, 8, 101);
}

static void a_clock_says_where_the_song_is(void **state) {
  struct rig *rig = rig_of(state);
  struct heard heard = HEAR(0xfa, 0xfb, 0xfc, 0xf2, 1, 2, 3, 4, 0xb0, 7, 0xf2, 0, 0xf8, 1, 8, 9);
  assert_int_equal(heard.count, 6);
  assert_message(&heard.message[0], MIDI_START, 0, 0, 0);
  assert_message(&heard.message[1], MIDI_CONTINUE, 0, 0, 0);
  assert_message(&heard.message[2], MIDI_STOP, 0, 0, 0);
  assert_message(&heard.message[3], MIDI_SONG, 0, 0, 257); /* no running status after it */
  assert_message(&heard.message[4], MIDI_TICK, 0, 0, 0);
  assert_message(&heard.message[5], MIDI_SONG, 0, 0, 128);
  learn(rig, "strength"); /* a clock message is never taken for a knob */
  for (int i = 0; i < heard.count; i++)
    assert_int_equal(knobs_take(&rig->knobs, &heard.message[i], &rig->values, rig->now_ns).kind, KNOB_DOES_NOTHING);
}

static void what_belongs_to_nothing_is_passed_over(void **state) {
  (void)state;
  assert_int_equal(HEAR(1, 2, 3).count, 0);                            /* bytes from the middle of a message */
  assert_int_equal(HEAR(0xf0, 0x7e, 1, 2, 3, 0xf7, 4, 5, 6).count, 0); /* system exclusive */
  assert_int_equal(HEAR(0xb0, 7, 0xf0, 1, 2, 0xf7, 7, 1).count, 0);    /* system exclusive ends a running status */
  struct heard cut = HEAR(0xb0, 7, 0x90, 60, 1);                       /* a message that another one interrupts */
  assert_int_equal(cut.count, 1);
  assert_message(&cut.message[0], MIDI_NOTE_ON, 1, 60, 1);
  struct heard behind = HEAR(0xf0, 1, 2, 0xb0, 7, 5); /* system exclusive without its end byte */
  assert_int_equal(behind.count, 1);
  assert_message(&behind.message[0], MIDI_CONTROLLER, 1, 7, 5);
}

/* --- knobs --- */

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
  play(rig, MIDI_CONTROLLER, 21, 127); /* the knob sets its parameter at once */
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
  assert_float_equal(rig->values.mix, 1, 0); /* the value stays until the knob reaches it */
  play(rig, MIDI_CONTROLLER, 21, 127);
  play(rig, MIDI_CONTROLLER, 21, 0);
  assert_float_equal(rig->values.mix, 0, 0);
  assert_float_equal(strength(rig), 0.5, 0);
  learn(rig, "strength");
  knobs_learn(&rig->knobs, NULL);
  assert_int_equal(play(rig, MIDI_CONTROLLER, 22, 1).kind, KNOB_DOES_NOTHING);
}

/* A knob that was just learnt does not make the value jump, wherever the knob stood. */
static void a_learnt_knob_waits(void **state) {
  for (int i = 0; i < 200; i++) {
    struct rig *rig = rig_of(state);
    int at = 10 + rand() % 50, to = 61 + rand() % 50; /* turns of the knob in one direction, or in the other */
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
    if (near || passes) /* a single step, which an encoder could also send, sets nothing yet */
      assert_true(strength(rig) == set || fabs(strength(rig) - to / 127.0) < 1e-9);
    else
      assert_float_equal(strength(rig), set, 0);
    int end = set < 0.5 ? 0 : 127; /* once the knob has moved far enough and passed the value, it sets the value */
    play(rig, MIDI_CONTROLLER, 21, 127 - end);
    play(rig, MIDI_CONTROLLER, 21, 40);
    play(rig, MIDI_CONTROLLER, 21, 100);
    play(rig, MIDI_CONTROLLER, 21, 90);
    play(rig, MIDI_CONTROLLER, 21, end);
    play(rig, MIDI_CONTROLLER, 21, 50);
    assert_float_equal(strength(rig), 50 / 127.0, 1e-9);
  }
}

/* If something else has changed the parameter, the knob sets it only after it has reached that value. */
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
  /* the value lies between 60 and 20, so the knob has passed it */
  assert_int_equal(play(rig, MIDI_CONTROLLER, 21, 20).kind, KNOB_SETS);
  assert_float_equal(strength(rig), 20 / 127.0, 1e-9);
  rig->now_ns += 1000 * (int64_t)MS;
  assert_int_equal(play(rig, MIDI_CONTROLLER, 21, 90).kind, KNOB_SETS);
}

/* During a quick move of the knob, values that the program reports late are not taken for changes by something else. */
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
  assert_float_equal(strength(rig), 0, 0); /* upper half alone: no 14-bit pair with the number of another knob */
  assert_int_equal(rig->knobs.count, 1);
}

/* A button beside a fader has the number of the fader's lower half, and is not taken for it. */
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
  play(rig, MIDI_CONTROLLER, 98, 127); /* this message deselects the parameter number */
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

  learn(rig, "show"); /* for a parameter with choices, each press selects the next one */
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

/* Lines that another version or a person wrote are kept in the file. */
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
  /* an inverted knob: its lower end is the larger value */
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_kind_is_read),
      cmocka_unit_test(a_status_runs_on),
      cmocka_unit_test(real_time_bytes_may_be_anywhere),
      cmocka_unit_test_setup_teardown(a_clock_says_where_the_song_is, midi_rig_make, midi_rig_free),
      cmocka_unit_test(what_belongs_to_nothing_is_passed_over),
      cmocka_unit_test(a_touched_knob_is_learnt),
      cmocka_unit_test(a_knob_learns_anew),
      cmocka_unit_test(a_learnt_knob_waits),
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
  return cmocka_run_group_tests(tests, midi_rig_make, midi_rig_free);
}
