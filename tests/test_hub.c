/* Tests values that are set from outside: each is checked at once, taken by the window once in each pass of its loop,
 * and seen by all clients. */
#include "tests/rigs/cmocka_all.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "app/remote/hub.h"
#include "unet/base/platform.h"

struct place {
  struct live_state state;
  struct parameter_choices models, styles;
  struct hub *hub;
};

static void open_place(struct place *place) {
  struct parameters values;
  struct error err;
  *place =
      (struct place){.models = {.text = {"mini", "turbo"}, .count = 2}, .styles = {.text = {"sea.png"}, .count = 1}};
  parameters_init(&values);
  for (int i = 1; i <= 3; i++)
    assert_int_equal(parameters_set_text(&values, PARAMETER_PROMPT, i, "a prompt", &err), 0);
  settings_begin(&place->state.settings, &values);
  place->state.ready = true;
  place->state.models = &place->models;
  place->state.styles = &place->styles;
  assert_int_equal(hub_open(&place->hub, &place->state, &err), 0);
}

static double strength(const struct place *place) {
  return place->state.settings.values.strength;
}

static void newest_value_wins_and_is_marked(void **unused) {
  (void)unused;
  struct place place;
  struct error err;
  open_place(&place);
  assert_false(hub_take(place.hub, &place.state, 0));
  assert_int_equal(hub_set_number(place.hub, PARAMETER_STRENGTH, 0, 0.25, &err), 0);
  assert_int_equal(hub_parse(place.hub, PARAMETER_STRENGTH, 0, "0.75", &err), 0);
  assert_true(hub_take(place.hub, &place.state, 0));
  assert_float_equal(strength(&place), 0.75, 0);
  assert_true(parameters_marked(&place.state.settings.values, PARAMETER_STRENGTH, 0));
  assert_false(parameters_marked(&place.state.settings.values, PARAMETER_SEED, 0));
  assert_false(hub_take(place.hub, &place.state, 0));
  hub_close(&place.hub);
}

/* A value that was set never goes back to the old one for a moment (such as between taking and publishing), because all
 * observing clients would get that. */
static void what_was_set_never_goes_back(void **unused) {
  (void)unused;
  struct place place;
  struct parameters values;
  struct error err;
  uint64_t seen = 0;
  open_place(&place);
  assert_true(hub_wait(place.hub, &seen, 0));
  assert_int_equal(hub_set_number(place.hub, PARAMETER_STRENGTH, 0, 0.25, &err), 0);
  assert_true(hub_take(place.hub, &place.state, 0));
  hub_get_values(place.hub, &values);
  assert_float_equal(values.strength, 0.25, 0);
  assert_true(hub_wait(place.hub, &seen, 0));
  hub_close(&place.hub);
}

static void wrong_values_change_nothing(void **unused) {
  (void)unused;
  struct place place;
  struct error err;
  open_place(&place);
  assert_int_equal(hub_set_number(place.hub, PARAMETER_STRENGTH, 0, 7, &err), -1);
  assert_int_equal(hub_set_number(place.hub, PARAMETER_STRENGTH, 0, (double)NAN, &err), -1);
  assert_int_equal(hub_set_number(place.hub, PARAMETER_BLEND, 99, 1, &err), -1);
  assert_int_equal(hub_parse(place.hub, PARAMETER_SAMPLER, 0, "no such", &err), -1);
  assert_int_equal(hub_run(place.hub, "no-such-command", 0, &err), -1);
  assert_false(hub_take(place.hub, &place.state, 0));
  hub_close(&place.hub);
}

static void files_are_those_of_the_command_line(void **unused) {
  (void)unused;
  struct place place;
  struct error err;
  open_place(&place);
  assert_int_equal(hub_set_text(place.hub, PARAMETER_MODEL, 0, "/etc", &err), -1);
  assert_non_null(strstr(err.message, "/etc"));
  assert_int_equal(hub_set_text(place.hub, PARAMETER_CONTROL_MODEL, 1, "x", &err), -1);
  assert_int_equal(hub_parse(place.hub, PARAMETER_STYLE, 1, "secret.png", &err), -1);
  assert_int_equal(hub_run(place.hub, "quit-at-once", (double)NAN, &err), -1);
  assert_int_equal(hub_run(place.hub, "quit", (double)NAN, &err), -1);
  assert_int_equal(hub_run(place.hub, "edit-prompt", (double)NAN, &err), -1);
  assert_int_equal(hub_run(place.hub, "parameters", 7, &err), -1);
  assert_false(hub_take(place.hub, &place.state, 0));
  assert_int_equal(hub_set_text(place.hub, PARAMETER_MODEL, 0, "turbo", &err), 0);
  assert_int_equal(hub_set_text(place.hub, PARAMETER_PROMPT, 2, "/etc", &err), 0);
  assert_true(hub_take(place.hub, &place.state, 0));
  assert_string_equal(parameters_text(&place.state.settings.values, PARAMETER_MODEL, 0), "turbo");
  assert_string_equal(parameters_text(&place.state.settings.values, PARAMETER_PROMPT, 2), "/etc");
  assert_int_equal(hub_parse(place.hub, PARAMETER_STYLE, 2, "sea.png", &err), 0);
  assert_int_equal(hub_set_text(place.hub, PARAMETER_STYLE, 1, NULL, &err), 0);
  assert_true(hub_take(place.hub, &place.state, 0));
  assert_string_equal(parameters_text(&place.state.settings.values, PARAMETER_STYLE, 2), "sea.png");
  hub_close(&place.hub);
}

/* A tap, and a beat that is set, get the time at which the client sent them, not that of the window's next pass. */
static void beats_are_of_the_moment_they_are_set(void **unused) {
  (void)unused;
  struct place place;
  struct error err;
  int64_t before_ns = platform_now_ns();
  open_place(&place);
  assert_int_equal(hub_run(place.hub, "tap", (double)NAN, &err), 0);
  assert_int_equal(hub_set_number(place.hub, PARAMETER_BEAT, 0, 32, &err), 0);
  int64_t after_ns = platform_now_ns();
  assert_true(hub_take(place.hub, &place.state, 0));
  assert_true(place.state.taps.at_ns[0] >= before_ns && place.state.taps.at_ns[0] <= after_ns);
  assert_true(place.state.beat_set_ns >= before_ns && place.state.beat_set_ns <= after_ns);
  assert_int_equal(hub_parse(place.hub, PARAMETER_BAR_PHASE, 0, "0.5", &err), 0);
  place.state.beat_set_ns = 0;
  assert_true(hub_take(place.hub, &place.state, 0));
  assert_true(place.state.beat_set_ns >= after_ns);
  assert_false(hub_take(place.hub, &place.state, 0));
  assert_true(place.state.beat_set_ns == 0);
  hub_close(&place.hub);
}

static void waves_move_what_can_be_moved(void **unused) {
  (void)unused;
  struct place place;
  struct error err;
  open_place(&place);
  assert_int_equal(hub_set_text(place.hub, PARAMETER_LFO, 1, "/etc/passwd", &err), -1);
  assert_int_equal(hub_parse(place.hub, PARAMETER_LFO, 1, "steps", &err), -1);
  assert_non_null(strstr(err.message, "cannot change from frame to frame"));
  assert_int_equal(hub_set_text(place.hub, PARAMETER_LFO, 5, "mix", &err), -1);
  assert_false(hub_take(place.hub, &place.state, 0));
  assert_int_equal(hub_set_text(place.hub, PARAMETER_LFO, 4, "lora[1].weight", &err), 0);
  assert_int_equal(hub_set_number(place.hub, PARAMETER_LFO_AMOUNT, 4, 0.5, &err), 0);
  assert_true(hub_take(place.hub, &place.state, 0));
  assert_string_equal(parameters_text(&place.state.settings.values, PARAMETER_LFO, 4), "lora[1].weight");
  assert_int_equal(hub_set_text(place.hub, PARAMETER_LFO, 4, "", &err), 0);
  hub_close(&place.hub);
}

/* A knob can only be learnt for parameters and commands that exist. */
static void knobs_learn_what_there_is(void **unused) {
  (void)unused;
  static const char *const refused[] = {"/etc/passwd", "strenght",  "model", "size",
                                        "prompt=10",   "prompt=x",  "quit",  "command/parameters",
                                        "blend[10]",   "new-seed=", " last", "device"};
  static const char *const taken[] = {"strength", "lora[1].weight", "new-seed", "prompt=9", "command/help", "last", ""};
  struct place place;
  struct error err;
  open_place(&place);
  assert_int_equal(hub_set_text(place.hub, PARAMETER_MIDI_LEARN, 0, "strength", &err), -1);
  assert_non_null(strstr(err.message, "there is no MIDI"));
  assert_int_equal(hub_set_text(place.hub, PARAMETER_MIDI_LEARN, 0, "", &err), 0);
  assert_true(hub_take(place.hub, &place.state, 0));
  place.state.midi = true;
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    if (!hub_set_text(place.hub, PARAMETER_MIDI_LEARN, 0, refused[i], &err))
      fail_msg("\"%s\" was taken", refused[i]);
    assert_int_equal(hub_parse(place.hub, PARAMETER_MIDI_LEARN, 0, refused[i], &err), -1);
  }
  assert_false(hub_take(place.hub, &place.state, 0));
  for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
    if (hub_set_text(place.hub, PARAMETER_MIDI_LEARN, 0, taken[i], &err))
      fail_msg("%s", err.message);
  assert_int_equal(hub_set_text(place.hub, PARAMETER_MIDI_LEARN, 0, NULL, &err), 0);
  hub_close(&place.hub);
}

static void words_are_a_line_of_utf8(void **unused) {
  (void)unused;
  static const char *const refused[] = {"two\nlines", "\x1b[31m", "a\x7f", "a\xff\xfe", "a\xed\xa0\x80", "\xc2\x85"};
  struct place place;
  struct error err;
  open_place(&place);
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    assert_int_equal(hub_set_text(place.hub, PARAMETER_PROMPT, 1, refused[i], &err), -1);
    assert_int_equal(hub_parse(place.hub, PARAMETER_NEGATIVE, 0, refused[i], &err), -1);
    assert_non_null(strstr(err.message, "one line"));
  }
  assert_false(hub_take(place.hub, &place.state, 0));
  assert_int_equal(hub_set_text(place.hub, PARAMETER_PROMPT, 1, "un caf\xc3\xa9, \xe6\xb0\xb4\xe5\xbd\xa9", &err), 0);
  hub_close(&place.hub);
}

static void commands_run_as_keys_run_them(void **unused) {
  (void)unused;
  struct place place;
  struct error err;
  open_place(&place);
  assert_int_equal(hub_run(place.hub, "prompt", (double)NAN, &err), -1); /* the prompt's index is missing */
  assert_int_equal(hub_run(place.hub, "prompt", 3, &err), 0);
  assert_int_equal(hub_run(place.hub, "snapshot", (double)NAN, &err), 0);
  assert_true(hub_take(place.hub, &place.state, 0));
  assert_int_equal(place.state.settings.values.shown_prompt, 3);
  assert_int_equal(place.state.snapshots_asked, 1);
  int accepted = 0;
  while (accepted < 1000 && !hub_run(place.hub, "snapshot", (double)NAN, &err))
    accepted++;
  assert_in_range(accepted, 1, 999); /* the number of waiting commands is limited */
  hub_close(&place.hub);
}

static void observers_hear_of_changes(void **unused) {
  (void)unused;
  struct place place;
  struct parameters values;
  struct hub_figures figures, read;
  struct error err;
  uint64_t seen = 0;
  open_place(&place);
  memset(&figures, 0, sizeof figures);
  assert_true(hub_wait(place.hub, &seen, 0));
  assert_false(hub_wait(place.hub, &seen, 1));
  assert_int_equal(hub_set_number(place.hub, PARAMETER_SEED, 0, 7, &err), 0);
  hub_get_values(place.hub, &values);
  assert_int_equal(values.seed, 7); /* the client that set it reads it at once */
  hub_take(place.hub, &place.state, 0);
  hub_publish(place.hub, &place.state.settings.values, &figures);
  assert_true(hub_wait(place.hub, &seen, 1000));
  hub_get_values(place.hub, &values);
  assert_int_equal(values.seed, 7);
  hub_publish(place.hub, &place.state.settings.values, &figures);
  assert_false(hub_wait(place.hub, &seen, 1));
  figures.fps = 30;
  hub_publish(place.hub, &place.state.settings.values, &figures);
  assert_true(hub_wait(place.hub, &seen, 1000));
  hub_get_figures(place.hub, &read);
  assert_float_equal(read.fps, 30, 0);
  hub_close(&place.hub);
}

static void one_looks_at_the_picture_at_a_time(void **unused) {
  (void)unused;
  struct place place;
  struct host_pictures pictures = {0};
  struct frame frame;
  struct covered first, second;
  struct error err;
  open_place(&place);
  assert_false(hub_get_picture(place.hub, &first));
  assert_int_equal(host_pictures_take(&pictures, PIXEL_RGBA, 8, 8, &frame, &err), 0);
  hub_show(place.hub, &(struct covered){.picture = frame, .held = frame, .cover.held = 1});
  assert_true(hub_get_picture(place.hub, &first));
  assert_false(hub_get_picture(place.hub, &second));
  hub_put_back(place.hub, &first);
  assert_true(hub_get_picture(place.hub, &second));
  hub_put_back(place.hub, &second);
  frame_release(&frame);
  hub_close(&place.hub);
  host_pictures_free(&pictures);
}

/* An index that the parameter does not have is refused at once. */
static void counted_things(void **unused) {
  (void)unused;
  struct place place;
  struct error err;
  open_place(&place);
  place.state.sources = 2;
  place.state.presets = -1;
  hub_take(place.hub, &place.state, 0);
  assert_int_equal(hub_set_number(place.hub, PARAMETER_SOURCE, 0, 99, &err), -1);
  assert_string_equal(err.message, "source: there is no number 99, but 2");
  assert_int_equal(hub_parse(place.hub, PARAMETER_SOURCE, 0, "3", &err), -1);
  assert_int_equal(hub_parse(place.hub, PARAMETER_SOURCE, 0, "2", &err), 0);
  assert_int_equal(hub_set_number(place.hub, PARAMETER_CUED_SOURCE, 0, 3, &err), -1);
  assert_string_equal(err.message, "cued-source: there is no number 3, but 2");
  assert_int_equal(hub_set_number(place.hub, PARAMETER_CUED_SOURCE, 0, 0, &err), 0);
  assert_int_equal(hub_set_number(place.hub, PARAMETER_CLIP_SPEED, 0, 0, &err), -1);
  assert_int_equal(hub_set_number(place.hub, PARAMETER_CLIP_OUT, 0, (double)NAN, &err), -1);
  assert_int_equal(hub_set_number(place.hub, PARAMETER_SAVED_PRESET, 0, 1, &err), -1);
  assert_string_equal(err.message, "saved-preset: there is no file of --presets");
  place.state.presets = 1;
  hub_take(place.hub, &place.state, 0);
  assert_int_equal(hub_set_number(place.hub, PARAMETER_SAVED_PRESET, 0, 1, &err), 0);
  assert_int_equal(hub_set_number(place.hub, PARAMETER_SAVED_PRESET, 0, 0, &err), 0);
  assert_int_equal(hub_run(place.hub, "prompt", 99, &err), -1);
  assert_int_equal(hub_run(place.hub, "blend", 1.5, &err), -1);
  assert_string_equal(err.message, "blend: there are prompts 1 to 9");
  hub_close(&place.hub);
}

/* Padding bytes between the fields of the figures do not count as a change. */
static void padding_is_no_figure(void **unused) {
  (void)unused;
  struct place place;
  struct hub_figures *figures = test_malloc(sizeof *figures);
  uint64_t seen = 0;
  open_place(&place);
  for (int turn = 0; turn < 2; turn++) {
    memset(figures, turn ? 0xff : 0, sizeof *figures);
    *figures->model = *figures->source = *figures->state = *figures->notice = 0;
    figures->ready = true;
    figures->fps = figures->frame_ms = figures->budget_ms = figures->latency_ms = figures->latency_p99_ms = 1;
    figures->shown = figures->dropped = figures->missed = figures->width = figures->height = 1;
    figures->left_out = figures->undrawn = 1;
    figures->recorded_s = 1;
    figures->not_recorded = figures->sending = figures->lost = 1;
    for (enum alert_kind kind = 0; kind < ALERTS; kind++)
      alerts_end(&figures->alerts, kind);
    figures->meter.heard = false;
    figures->meter.count = 0;
    hub_publish(place.hub, &place.state.settings.values, figures);
    assert_true(hub_wait(place.hub, &seen, 0) == !turn);
  }
  test_free(figures);
  hub_close(&place.hub);
}

static void *set_many(void *opaque) {
  struct place *place = opaque;
  struct error err;
  for (int i = 0; i <= 1000; i++)
    hub_set_number(place->hub, PARAMETER_SEED, 0, i, &err);
  return NULL;
}

static void threads_may_set_at_once(void **unused) {
  (void)unused;
  struct place place;
  pthread_t threads[3];
  open_place(&place);
  for (int i = 0; i < 3; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, set_many, &place), 0);
  for (int i = 0; i < 100; i++)
    hub_take(place.hub, &place.state, 0);
  for (int i = 0; i < 3; i++)
    pthread_join(threads[i], NULL);
  hub_take(place.hub, &place.state, 0);
  assert_int_equal(place.state.settings.values.seed, 1000);
  hub_close(&place.hub);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(newest_value_wins_and_is_marked),
      cmocka_unit_test(what_was_set_never_goes_back),
      cmocka_unit_test(wrong_values_change_nothing),
      cmocka_unit_test(files_are_those_of_the_command_line),
      cmocka_unit_test(beats_are_of_the_moment_they_are_set),
      cmocka_unit_test(waves_move_what_can_be_moved),
      cmocka_unit_test(knobs_learn_what_there_is),
      cmocka_unit_test(words_are_a_line_of_utf8),
      cmocka_unit_test(commands_run_as_keys_run_them),
      cmocka_unit_test(observers_hear_of_changes),
      cmocka_unit_test(one_looks_at_the_picture_at_a_time),
      cmocka_unit_test(threads_may_set_at_once),
      cmocka_unit_test(counted_things),
      cmocka_unit_test(padding_is_no_figure),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
