/* Tests the list of parameters: its rows, what their bars show, and what keys and the mouse do with them. */
#include "tests/rigs/cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/control/parameter_list.h"
#include "unet/base/maps.h"

static struct live_state state;
static struct parameter_list list;
static const struct list_box box = {
    .left = 100, .top = 50, .right = 400, .line = 10, .bar_left = 200, .bar_right = 300};

static int begin(void **unused) {
  (void)unused;
  struct parameters values;
  struct error err;
  parameters_init(&values);
  assert_int_equal(parameters_set_text(&values, PARAMETER_PROMPT, 1, "one", &err), 0);
  assert_int_equal(parameters_set_text(&values, PARAMETER_PROMPT, 2, "two", &err), 0);
  values.size = (struct parameter_size){512, 256};
  state = (struct live_state){.ready = true};
  settings_begin(&state.settings, &values);
  list = (struct parameter_list){.count = 0};
  parameter_list_update(&list, &state.settings.values, 10);
  return 0;
}

static int find(const char *name) {
  char now[PARAMETER_NAME_MAX];
  for (int i = 0; i < list.count; i++)
    if (list.row[i].id != PARAMETER_NONE && !strcmp(parameter_name(list.row[i].id, list.row[i].index, now), name))
      return i;
  return -1;
}

static void choose(const char *name) {
  parameter_list_choose(&list, find(name));
  assert_true(find(name) >= 0);
}

static enum list_wish press(int key) {
  enum list_wish wish = parameter_list_key(&list, &state, key, 0);
  parameter_list_update(&list, &state.settings.values, 10);
  return wish;
}

static void expect(const char *name, const char *wanted) {
  enum parameter id = PARAMETER_NONE;
  int index;
  struct error err;
  char now[100];
  assert_int_equal(parameter_find(name, &id, &index, &err), 0);
  assert_string_equal(parameter_list_value(&state.settings.values, (struct list_row){id, index}, now, sizeof now),
                      wanted);
}

/* The list has every parameter that can be changed while frames run; of parameters with several instances, those in use
 * and one more. */
static void rows(void **unused) {
  (void)unused;
  static const char *const shown[] = {"prompt[1]", "prompt[9]",  "negative", "strength",   "blend[2]",
                                      "lora[1]",   "control[1]", "size",     "fullscreen", "guidance-mode",
                                      "seed",      "mix",        "style[1]"};
  static const char *const hidden[] = {
      "blend[3]",          "lora[2]", "lora[1].weight", "control[2]",      "control[1].low",
      "control[1].weight", "fit",     "text-fix",       "style[1].weight", "style[2]"};
  for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
    assert_true(find(shown[i]) >= 0);
  for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
    assert_int_equal(find(hidden[i]), -1);
  struct error err;
  struct parameters *values = &state.settings.values;
  choose("strength");
  parameters_set_text(values, PARAMETER_LORA, 1, "a.safetensors", &err);
  values->control[0] = MAP_CANNY + 1;
  parameter_list_update(&list, values, 10);
  assert_true(find("lora[2]") >= 0 && find("lora[1].weight") >= 0 && find("control[2]") >= 0);
  assert_true(find("control[1].low") >= 0 && find("control[1].weight") == -1 && find("control[1].gain") == -1);
  assert_int_equal(list.chosen, find("strength")); /* the same row is selected, although the filter has moved it */
  snprintf(list.filter, sizeof list.filter, "lora");
  parameter_list_update(&list, values, 10);
  assert_int_equal(list.count, 4); /* lora[1], its weight, lora[2], lora-lenient */
  snprintf(list.filter, sizeof list.filter, "there is none");
  parameter_list_update(&list, values, 10);
  assert_null(parameter_list_chosen(&list));
  assert_int_equal(press(KEY_DOWN), LIST_DONE);
  assert_int_equal(press(KEY_RIGHT), LIST_NOT_MINE);
}

static void bars(void **unused) {
  (void)unused;
  static const struct {
    const char *name;
    double share, number;
  } cases[] = {{"strength", 0.254, 0.25}, {"strength", -3, 0},       {"strength", 7, 1},       {"steps", 0.5, 5},
               {"guidance", 0.5, 5.5},    {"size", 0, 64},           {"size", 1, 4096},        {"size", 0.5, 512},
               {"pause", 0.6, 1},         {"guidance-mode", 0.7, 2}, {"shown-prompt", 0.5, 5}, {"mix", 0.333, 0.33}};
  const struct parameters *values = &state.settings.values;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_float_equal(parameter_list_number(list.row[find(cases[i].name)], cases[i].share), cases[i].number, 1e-9);
  state.settings.values.strength = 0.75;
  state.settings.values.guidance = 60; /* beyond the range that the bar shows */
  assert_float_equal(parameter_list_share(values, list.row[find("strength")]), 0.75, 1e-9);
  assert_float_equal(parameter_list_share(values, list.row[find("guidance")]), 1, 0);
  assert_float_equal(parameter_list_share(values, list.row[find("size")]), 0.5, 1e-9);
  assert_true(parameter_list_share(values, list.row[find("prompt[1]")]) < 0);
}

/* For each row with a bar, every position of the mouse gives an allowed number, and the bar is then filled up to
 * there. */
static void bars_of_all(void **unused) {
  (void)unused;
  for (int i = 0; i < list.count; i++)
    for (int at = 0; parameter_list_share(&state.settings.values, list.row[i]) >= 0 && at <= 20; at++) {
      struct list_row row = list.row[i];
      double number = parameter_list_number(row, at / 20.0);
      if (row.id == PARAMETER_SHOWN_PROMPT && number > 2)
        continue;
      assert_int_equal(live_set_number(&state, row.id, row.index, number, 0), 0);
      double share = parameter_list_share(&state.settings.values, row);
      assert_true(fabs(parameter_list_number(row, share) - number) < 1e-9);
    }
}

/* Each group of parameters has a heading above its rows, which cannot be chosen; with a filter only rows are listed
 * whose name or label contains it. */
static void groups_have_headings(void **unused) {
  (void)unused;
  int headings = 0;
  for (int i = 0; i < list.count; i++) {
    bool heads = list.row[i].id == PARAMETER_NONE;
    headings += heads;
    assert_true(!heads || (i + 1 < list.count && list.row[i + 1].id != PARAMETER_NONE &&
                           (int)parameter_row(list.row[i + 1].id)->group == list.row[i].index));
    parameter_list_choose(&list, i);
    assert_int_not_equal(parameter_list_chosen(&list)->id, PARAMETER_NONE);
  }
  assert_in_range(headings, 10, PARAMETER_GROUPS);
  assert_true(find("strength") < find("seed") && find("strength") < find("mix"));
  snprintf(list.filter, sizeof list.filter, "scene");
  parameter_list_update(&list, &state.settings.values, 10);
  assert_true(find("saved-preset") == 0 && find("preset-fade") > 0);
}

/* Six parameters get bars: the most important ones among those that the model accepts, where one that is in use, such
 * as a LoRA's weight, comes before others. */
static void leading_rows_suit_the_model(void **unused) {
  (void)unused;
  struct parameters *values = &state.settings.values;
  const struct engine_info mini = {.refuses_guidance = true, .starts_from_noise = true};
  struct refusals refusals;
  struct list_row row[6];
  struct error err;
  assert_int_equal(parameter_list_leading(values, NULL, row, 6), 6);
  assert_true(row[0].id == PARAMETER_STRENGTH && row[1].id == PARAMETER_GUIDANCE);
  refusals_find(&refusals, &mini, &(struct prepared_info){.rows = 1});
  assert_string_equal(refusals.why[PARAMETER_GUIDANCE], "trained without guidance");
  assert_non_null(refusals.why[PARAMETER_FEEDBACK]);
  assert_non_null(refusals.why[PARAMETER_BANK]);
  assert_null(refusals.why[PARAMETER_STRENGTH]);
  assert_int_equal(parameter_list_leading(values, &refusals, row, 6), 6);
  for (int i = 0; i < 6; i++)
    assert_null(refusals.why[row[i].id]);
  assert_int_equal(row[1].id, PARAMETER_MIX);
  assert_int_equal(parameters_set_text(values, PARAMETER_LORA, 1, "a.safetensors", &err), 0);
  parameter_list_leading(values, &refusals, row, 6);
  assert_true(row[1].id == PARAMETER_LORA_WEIGHT && row[1].index == 1);
  assert_int_equal(parameter_list_leading(values, &refusals, row, 2), 2);
}

static void keys_move(void **unused) {
  (void)unused;
  assert_int_equal(list.chosen, 1); /* row 0 is the heading of the prompts */
  press(KEY_UP);
  assert_int_equal(list.chosen, 1);
  for (int i = 0; i < 12; i++)
    press(KEY_DOWN);
  assert_true(list.chosen == 13 && list.first == 4);
  press(KEY_UP);
  assert_true(list.chosen == 12 && list.first == 4);
  press(KEY_END);
  assert_true(list.chosen == list.count - 1 && list.first == list.count - 10);
  press(KEY_PAGE_UP);
  bool headed = list.row[list.count - 11].id == PARAMETER_NONE;
  assert_true(list.chosen == list.count - 11 - headed && list.first <= list.chosen);
  press(KEY_HOME);
  assert_true(list.chosen == 1 && list.first == 0);
  parameter_list_scroll(&list, 4);
  parameter_list_update(&list, &state.settings.values, 10);
  assert_true(list.chosen == 1 && list.first == 4);
  parameter_list_scroll(&list, 1000);
  assert_int_equal(list.first, list.count - 10);
  parameter_list_scroll(&list, -1000);
  assert_int_equal(list.first, 0);
  parameter_list_update(&list, &state.settings.values, 1000);
  assert_int_equal(list.first, 0);
}

static void keys_change(void **unused) {
  (void)unused;
  choose("strength");
  press(KEY_RIGHT);
  expect("strength", "0.55");
  press(KEY_LEFT);
  press(KEY_LEFT);
  expect("strength", "0.45");
  choose("guidance-mode");
  press(KEY_RIGHT);
  expect("guidance-mode", "self");
  press(KEY_RIGHT);
  press(KEY_RIGHT);
  expect("guidance-mode", "none"); /* after the last choice comes the first */
  press(KEY_LEFT);
  expect("guidance-mode", "one-time");
  choose("pause");
  press(KEY_ENTER);
  expect("pause", "on");
  choose("size");
  press(KEY_RIGHT);
  expect("size", "576x288");
  choose("steps");
  press(KEY_LEFT);
  expect("steps", "1");
  choose("shown-prompt");
  press(KEY_RIGHT);
  expect("shown-prompt", "2");
  press(KEY_RIGHT); /* there is no third prompt */
  expect("shown-prompt", "2");
  assert_non_null(strstr(state.notice, "no prompt 3"));
  choose("prompt[1]");
  assert_int_equal(press(KEY_RIGHT), LIST_DONE);
  expect("prompt[1]", "one");
  assert_int_equal(press(KEY_ENTER), LIST_EDIT);
}

static void numbers_typed(void **unused) {
  (void)unused;
  choose("strength");
  press('.');
  press('7');
  press('9');
  press(KEY_BACKSPACE);
  expect("strength", "0.50");
  assert_int_equal(press(KEY_ENTER), LIST_DONE);
  expect("strength", "0.70");
  press('4');
  press(KEY_ENTER);
  expect("strength", "0.70");
  assert_non_null(strstr(state.notice, "strength 4: a number from 0 to 1 is needed"));
  assert_int_equal(press(KEY_ENTER), LIST_EDIT); /* nothing was typed */
  press('1');
  assert_int_equal(press(KEY_ESCAPE), LIST_DONE);
  assert_string_equal(list.typed, "");
  press('1');
  press(KEY_DOWN);
  assert_string_equal(list.typed, "");
  for (int i = 0; i < 100; i++)
    press('1');
  assert_true(strlen(list.typed) < LIST_TYPED_MAX);
  assert_int_equal(press(KEY_ESCAPE), LIST_DONE);
  assert_int_equal(press(KEY_ESCAPE), LIST_LEAVE);
  assert_int_equal(press(KEY_TAB), LIST_LEAVE);
  assert_int_equal(press('s'), LIST_NOT_MINE);
  assert_int_equal(press(KEY_CONTROL + '1'), LIST_NOT_MINE);
}

/* The decimal comma of many keyboards is accepted; a wrong number does nothing until it is set or cancelled. */
static void decimal_commas(void **unused) {
  (void)unused;
  static const int others[] = {'f', 'B',     '/',      '?',       'q',     '+',
                               ' ', KEY_TAB, KEY_LEFT, KEY_RIGHT, KEY_F11, KEY_CONTROL + '1'};
  choose("guidance");
  press('1');
  press(',');
  press('5');
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    assert_int_equal(press(others[i]), LIST_DONE);
  assert_int_equal(press(KEY_CONTROL + 'q'), LIST_NOT_MINE);
  assert_string_equal(list.typed, "1.5");
  press(KEY_ENTER);
  expect("guidance", "1.50");
  choose("strength");
  press(',');
  press('2');
  press('5');
  press(KEY_ENTER);
  expect("strength", "0.25");
  press('9');
  press(KEY_ESCAPE);
  assert_int_equal(press('b'), LIST_NOT_MINE);
  /* a value typed in an edited line may have a decimal comma, too */
  assert_int_equal(live_set_words(&state, PARAMETER_STRENGTH, 0, "0,75", 0), 0);
  expect("strength", "0.75");
  assert_int_equal(live_set_words(&state, PARAMETER_STRENGTH, 0, "0,7,5", 0), -1);
  assert_int_equal(live_set_words(&state, PARAMETER_STRENGTH, 0, "0,7.5", 0), -1);
}

static enum list_wish click(int row, float x) {
  return parameter_list_press(&list, &state, &box, x, box.top + box.line * ((float)(row - list.first) + 0.5f), 0);
}

static void mouse(void **unused) {
  (void)unused;
  choose("strength");
  int row = list.chosen;
  parameter_list_choose(&list, 0);
  list.first = row - 4;
  assert_int_equal(click(row, 225), LIST_DONE);
  assert_int_equal(list.chosen, row);
  expect("strength", "0.25");
  parameter_list_drag(&list, &state, &box, 290, 0);
  expect("strength", "0.90");
  parameter_list_drag(&list, &state, &box, 1000, 0);
  expect("strength", "1.00");
  parameter_list_release(&list);
  parameter_list_drag(&list, &state, &box, 250, 0);
  expect("strength", "1.00");
  assert_int_equal(click(row, 150), LIST_DONE); /* a click on the row's name */
  parameter_list_drag(&list, &state, &box, 250, 0);
  expect("strength", "1.00");
  assert_int_equal(click(row, 50), LIST_NOT_MINE);
  assert_int_equal(click(list.first - 1, 250), LIST_NOT_MINE);
  assert_int_equal(click(list.first + 10, 250), LIST_NOT_MINE);
  list.first = 0;
  assert_int_equal(click(1, 250), LIST_EDIT);
  assert_int_equal(click(0, 250), LIST_DONE); /* a click on a heading */
  assert_int_equal(list.chosen, 1);
  choose("pause");
  assert_int_equal(click(list.chosen, 210), LIST_DONE);
  parameter_list_drag(&list, &state, &box, 290, 0);
  expect("pause", "on");
  click(list.chosen, 290);
  expect("pause", "off");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(rows, begin),
      cmocka_unit_test_setup(bars, begin),
      cmocka_unit_test_setup(bars_of_all, begin),
      cmocka_unit_test_setup(keys_move, begin),
      cmocka_unit_test_setup(keys_change, begin),
      cmocka_unit_test_setup(numbers_typed, begin),
      cmocka_unit_test_setup(mouse, begin),
      cmocka_unit_test_setup(decimal_commas, begin),
      cmocka_unit_test_setup(groups_have_headings, begin),
      cmocka_unit_test_setup(leading_rows_suit_the_model, begin),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
