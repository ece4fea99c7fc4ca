/* Tests where key presses go: to commands, to the list of parameters, or to the text input line. */
#include "tests/rigs/cmocka_all.h"

#include <string.h>

#include "app/control/panel.h"
#include "app/window/hud_text.h"

static struct live_state state;
static struct panel panel;

static int begin(void **unused) {
  (void)unused;
  struct parameters values;
  struct error err;
  parameters_init(&values);
  parameters_set_text(&values, PARAMETER_PROMPT, 1, "neon", &err);
  parameters_set_text(&values, PARAMETER_PROMPT, 2, "oil painting", &err);
  state = (struct live_state){.ready = true, .slot_before = 1};
  settings_begin(&state.settings, &values);
  history_close(&panel.history);
  panel = (struct panel){.lists = false};
  parameter_list_update(&panel.list, &state.settings.values, 10);
  return 0;
}

static int end(void **unused) {
  (void)unused;
  history_close(&panel.history);
  return 0;
}

/* Presses a key, as when keys come faster than the window is drawn. */
static void press(int key) {
  const char text[] = {(char)key, 0};
  if (key < 128 && panel_text(&panel, &state, text))
    return;
  if (!panel_key(&panel, &state, key, 0))
    commands_run(&state, key, false, 0);
  panel_follow(&panel, &state);
}

static void type(const char *text) {
  for (; *text; text++)
    press(*text);
}

static const char *prompt(int index) {
  return parameters_text(&state.settings.values, PARAMETER_PROMPT, index);
}

static void a_prompt_is_typed(void **unused) {
  (void)unused;
  char name[PARAMETER_NAME_MAX];
  press(KEY_ENTER);
  assert_string_equal(panel_label(&panel, name), "prompt[1]");
  assert_string_equal(panel.line.text, "neon");
  type("sqf 2/h"); /* replaces the selected text */
  press(KEY_TAB);
  press(KEY_F11);
  press(KEY_CONTROL + '2');
  assert_false(state.quit || state.settings.values.fullscreen || state.snapshots_asked || panel.lists);
  assert_int_equal(state.settings.values.shown_prompt, 1);
  assert_string_equal(prompt(1), "neon");
  press(KEY_ENTER);
  assert_string_equal(prompt(1), "sqf 2/h");
  assert_true(parameters_marked(&state.settings.values, PARAMETER_PROMPT, 1));
  assert_false(panel.types);
  press('s');
  assert_int_equal(state.snapshots_asked, 1);
}

/* An existing text is selected until a key moves the cursor. */
static void keys_keep_the_text(void **unused) {
  (void)unused;
  press(KEY_ENTER);
  press(KEY_LEFT);
  type("x");
  assert_string_equal(panel.line.text, "neoxn");
  press(KEY_ESCAPE);
  press(KEY_ENTER);
  press(KEY_END);
  type("!");
  assert_string_equal(panel.line.text, "neon!");
  press(KEY_ESCAPE);
  press(KEY_ENTER);
  press(KEY_BACKSPACE);
  assert_string_equal(panel.line.text, "");
  press(KEY_ESCAPE);
}

static void escape_leaves_it(void **unused) {
  (void)unused;
  press('2');
  press('/');
  assert_string_equal(panel.line.text, "oil painting");
  type(" at night");
  press(KEY_ESCAPE);
  assert_string_equal(prompt(2), "oil painting");
  assert_false(panel.types || state.quit || parameters_marked(&state.settings.values, PARAMETER_PROMPT, 2));
}

static void negative_and_history(void **unused) {
  (void)unused;
  char name[PARAMETER_NAME_MAX];
  press('n');
  assert_string_equal(panel_label(&panel, name), "negative");
  type("blurry");
  press(KEY_ENTER);
  assert_string_equal(parameters_text(&state.settings.values, PARAMETER_NEGATIVE, 0), "blurry");
  press(KEY_ENTER);
  press(KEY_END);
  type("!");
  press(KEY_UP);
  assert_string_equal(panel.line.text, "blurry");
  press(KEY_DOWN);
  assert_string_equal(panel.line.text, "neon!");
  press(KEY_ENTER);
  assert_string_equal(prompt(1), "neon!");
  assert_int_equal(panel.history.count, 2);
}

static void of_a_blend_the_last_one(void **unused) {
  (void)unused;
  press(KEY_CONTROL + '2');
  press(KEY_ENTER);
  assert_string_equal(panel.line.text, "oil painting");
}

/* Text that an input method has not completed is not part of the line. */
static void composed(void **unused) {
  (void)unused;
  assert_false(panel_compose(&panel, "x"));
  assert_false(panel_text(&panel, &state, "x"));
  press(KEY_ENTER);
  press(KEY_CONTROL + 'u');
  assert_true(panel_compose(&panel, "abura"));
  assert_string_equal(panel.line.text, "");
  assert_true(panel_text(&panel, &state, "\u6cb9"));
  assert_string_equal(panel.line.composed, "");
  press(KEY_ENTER);
  assert_string_equal(prompt(1), "\u6cb9");
}

static void the_list(void **unused) {
  (void)unused;
  press(KEY_TAB);
  assert_true(panel.lists);
  press('/');
  type("streng");
  assert_string_equal(panel.list.filter, "streng");
  press(KEY_ENTER);
  assert_int_equal(parameter_list_chosen(&panel.list)->id, PARAMETER_STRENGTH);
  press('.');
  press('8');
  press(KEY_ENTER);
  assert_float_equal(state.settings.values.strength, 0.8, 1e-9);
  press('7');
  press('/'); /* while a number is typed, keys are no commands */
  press('F');
  assert_false(panel.types || state.settings.values.freeze);
  press(KEY_ESCAPE);
  press('b'); /* letters are still commands */
  assert_true(state.settings.values.split);
  press('/');
  press(KEY_ESCAPE);
  assert_string_equal(panel.list.filter, "");
  press(KEY_TAB);
  assert_false(panel.lists);
}

/* A filter selects the first of the remaining rows, unless the row that was selected is among them. */
static void a_filter_chooses_the_first(void **unused) {
  (void)unused;
  press(KEY_TAB);
  press('/');
  type("prompt");
  press(KEY_ENTER);
  assert_int_equal(panel.list.chosen, 0);
  assert_int_equal(parameter_list_chosen(&panel.list)->index, 1);
  press('/');
  press(KEY_ESCAPE);
  press(KEY_END);
  press('/');
  type("guidance");
  assert_int_equal(panel.list.chosen, 0);
  press(KEY_ENTER);
  press(KEY_DOWN);
  press('/');
  press(KEY_BACKSPACE);
  assert_int_equal(panel.list.chosen, 1);
  press(KEY_CONTROL + 'u');
  type("no such name");
  press(KEY_ENTER);
  press('2');
  press(','); /* no row begins with these keys, and they are no commands in the list */
  assert_int_equal(state.settings.values.shown_prompt, 1);
  assert_false(panel.types);
}

/* The text of a row is edited like a prompt; an empty text clears it. */
static void a_text_of_the_list(void **unused) {
  (void)unused;
  press(KEY_TAB);
  press(KEY_HOME);
  press(KEY_DOWN);
  press(KEY_DOWN);
  press(KEY_ENTER);
  type("mosaic");
  press(KEY_ENTER);
  assert_string_equal(prompt(3), "mosaic");
  press(KEY_DOWN);
  press(KEY_ENTER);
  press(KEY_ENTER);
  assert_string_equal(prompt(4), "");
  struct error err;
  int at = 0;
  while (panel.list.row[at].id != PARAMETER_LORA)
    at++;
  parameters_set_text(&state.settings.values, PARAMETER_LORA, 1, "a", &err);
  parameter_list_choose(&panel.list, at);
  press(KEY_ENTER);
  press(KEY_BACKSPACE);
  press(KEY_ENTER);
  assert_null(parameters_text(&state.settings.values, PARAMETER_LORA, 1));
}

/* A line that was refused stays, so that it can be corrected. */
static void refused(void **unused) {
  (void)unused;
  press(KEY_TAB);
  int at = 0;
  while (panel.list.row[at].id != PARAMETER_SIZE)
    at++;
  parameter_list_choose(&panel.list, at);
  press(KEY_ENTER);
  type("wide");
  press(KEY_ENTER);
  assert_true(panel.types);
  assert_non_null(strstr(state.notice, "WIDTHxHEIGHT is needed"));
  press(KEY_CONTROL + 'u');
  type("512x288");
  press(KEY_ENTER);
  assert_false(panel.types);
  assert_int_equal(state.settings.values.size.width, 512);
}

/* Over the picture the list and the line are drawn only while in use; the operator's window always has the line. */
static void shown_as_text(void **unused) {
  (void)unused;
  char text[HUD_TEXT_MAX];
  struct hud_content content = {.panel = &panel, .values = &state.settings.values};
  hud_list_text(text, &content);
  assert_string_equal(text, "");
  hud_line_text(text, &content);
  assert_string_equal(text, "");
  content.layout = HUD_OPERATOR;
  hud_line_text(text, &content);
  assert_non_null(strstr(text, "Enter types the prompt"));
  press(KEY_TAB);
  content.layout = HUD_OVERLAY;
  hud_list_text(text, &content);
  assert_non_null(strstr(text, "   -1Prompts "));
  assert_non_null(strstr(text, "   -1prompt[2]")); /* this row has no bar */
  assert_non_null(strstr(text, "oil painting"));
  press('/');
  type("strength");
  press(KEY_ENTER);
  hud_list_text(text, &content);
  assert_non_null(strstr(text, "> 500strength"));
  assert_non_null(strstr(text, "only \"strength\": / and Esc show all"));
  press('.');
  press('2');
  hud_list_text(text, &content);
  assert_non_null(strstr(text, ".2_"));
  press(KEY_ESCAPE);
  press('/');
  press(KEY_ESCAPE);
  parameter_list_update(&panel.list, &state.settings.values, 10);
  hud_list_text(text, &content);
  assert_null(strstr(text, "only "));
  press(KEY_TAB);
  press(KEY_ENTER);
  hud_line_text(text, &content);
  assert_non_null(strstr(text, "prompt[1]"));
}

static bool apart(const struct hud_area *a, const struct hud_area *b) {
  return !a->width || !b->width || a->left + a->width <= b->left || b->left + b->width <= a->left ||
         a->top + a->height <= b->top || b->top + b->height <= a->top;
}

/* Over a picture of any size every panel is within the picture, and no two overlap. */
static void places(void **unused) {
  (void)unused;
  for (int height = 60; height < 2200; height += 171)
    for (int width = 80; width < 3900; width += 231) {
      int size = height / 44 < 13 ? 13 : height / 44 > 40 ? 40 : height / 44;
      const struct hud_type type = {size, size * 3 / 5, size * 3 / 2};
      struct hud_places at;
      int alerts = (width + height) % 15;
      hud_place(&at, width, height, &type, alerts);
      assert_true(!alerts || at.alerts.width || height < 10 * size || width < 8 * size);
      const struct hud_area *all[] = {&at.list, &at.line, &at.alerts};
      for (int i = 0; i < 3; i++) {
        assert_true(!all[i]->width || (all[i]->left >= 0 && all[i]->left + all[i]->width <= width));
        assert_true(!all[i]->width || (all[i]->top >= 0 && all[i]->top + all[i]->height <= height));
        for (int j = 0; j < i; j++)
          assert_true(apart(all[i], all[j]));
      }
      assert_true(at.list_rows >= 1 &&
                  (!at.list.width || at.list_rows < 2 || (at.list_rows + 1) * type.line <= at.list.height));
    }
}

int main(void) {
#define CASE(function) cmocka_unit_test_setup_teardown(function, begin, end)
  const struct CMUnitTest tests[] = {
      CASE(a_prompt_is_typed),
      CASE(keys_keep_the_text),
      CASE(escape_leaves_it),
      CASE(negative_and_history),
      CASE(of_a_blend_the_last_one),
      CASE(composed),
      CASE(the_list),
      CASE(a_filter_chooses_the_first),
      CASE(a_text_of_the_list),
      CASE(refused),
      CASE(shown_as_text),
      CASE(places),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
