/* Tests the live window's commands that choose among files, models and parts of a model. */
#include "tests/rigs/cmocka_all.h"

#include <string.h>

#include "app/control/keys.h"
#include "tests/rigs/live_keys.h"

static void set_text(struct live_state *state, enum parameter id, const char *text) {
  assert_int_equal(parameters_set_text(&state->settings.values, id, 0, text, NULL), 0);
}

static double lora_weight(const struct live_state *state, int index) {
  return parameters_number(&state->settings.values, PARAMETER_LORA_WEIGHT, index);
}

/* The keys change the weight of the LoRA that was chosen last, and the message names it. */
static void lora_keys(void **unused) {
  (void)unused;
  struct live_state state = fresh_state();
  struct error err;
  press(&state, '.');
  assert_non_null(strstr(state.notice, "no LoRA"));
  assert_true(lora_weight(&state, 1) == 1);
  for (int i = 1; i <= 2; i++)
    assert_int_equal(parameters_set_text(&state.settings.values, PARAMETER_LORA, i, i == 1 ? "a/one" : "two", &err), 0);
  parameters_clear_marks(&state.settings.values);
  press(&state, '.');
  assert_string_equal(state.notice, "LoRA 1, one: 1.10");
  assert_true(parameters_marked(&state.settings.values, PARAMETER_LORA_WEIGHT, 1));
  press(&state, 'l');
  assert_string_equal(state.notice, "LoRA 2, two: 1.00");
  press(&state, ',');
  press(&state, '<');
  assert_string_equal(state.notice, "LoRA 2, two: 0.80");
  assert_true(lora_weight(&state, 1) == 1.1 && lora_weight(&state, 2) == 0.8);
  press(&state, 'l');
  assert_string_equal(state.notice, "LoRA 1, one: 1.10");
}

static double control_number(const struct live_state *state, enum parameter id, int index) {
  return values_control_number(&state->settings.values, id, index, NULL);
}

static void press_several(struct live_state *state, int key, int times) {
  for (int i = 0; i < times; i++)
    press(state, key);
}

/* Key c chooses a control, key e which of its values the keys ( and ) change; the first value depends on the control's
 * map. */
static void control_keys(void **unused) {
  (void)unused;
  struct live_state state = fresh_state();
  struct parameters *values = &state.settings.values;
  struct error err;
  press(&state, ')');
  assert_non_null(strstr(state.notice, "there is no control"));
  assert_int_equal(parameters_set_number(values, PARAMETER_CONTROL, 1, MAP_CANNY + 1, &err), 0);
  assert_int_equal(parameters_set_number(values, PARAMETER_CONTROL, 2, MAP_TILE + 1, &err), 0);
  assert_int_equal(parameters_set_text(values, PARAMETER_CONTROL_MODEL, 2, "cn", &err), 0);
  assert_int_equal(parameters_set_number(values, PARAMETER_CONTROL, 3, MAP_GRAY + 1, &err), 0);
  parameters_clear_marks(values);
  press(&state, ')');
  assert_string_equal(state.notice, "control 1, canny: low 110");
  assert_true(parameters_marked(values, PARAMETER_CONTROL_LOW, 1));
  press(&state, 'e');
  assert_string_equal(state.notice, "control 1, canny: high 200");
  press_several(&state, '(', 30);
  assert_true(control_number(&state, PARAMETER_CONTROL_HIGH, 1) == 0);
  press(&state, 'e');
  assert_string_equal(state.notice, "control 1, canny: low 110");
  press(&state, 'c');
  assert_string_equal(state.notice, "control 2, tile: weight 1.00");
  press(&state, '(');
  assert_string_equal(state.notice, "control 2, tile: weight 0.95");
  press_several(&state, 'e', 3);
  press(&state, ')');
  assert_true(values->control_guess[1]);
  press(&state, '(');
  assert_false(values->control_guess[1]);
  press(&state, 'e');
  assert_string_equal(state.notice, "control 2, tile: cell 1");
  press_several(&state, ')', 100);
  assert_true(control_number(&state, PARAMETER_CONTROL_CELL, 2) == 64);
  press(&state, 'c');
  assert_string_equal(state.notice, "control 3, gray");
  press(&state, ')');
  press(&state, 'C');
  assert_string_equal(state.notice, "control 3, gray: out");
  assert_true(!values->control_on[2] && parameters_marked(values, PARAMETER_CONTROL_ON, 3));
  press(&state, 'C');
  assert_string_equal(state.notice, "control 3, gray: in");
  assert_true(values->control_on[2]);
  press(&state, 'c');
  assert_string_equal(state.notice, "control 1, canny: low 110");
}

/* Key d shows in turn the picture, the chosen control's map, and both. */
static void show_key(void **unused) {
  (void)unused;
  struct live_state state = fresh_state();
  struct parameters *values = &state.settings.values;
  struct error err;
  press(&state, 'd');
  assert_int_equal(values->show, SHOW_PICTURE);
  assert_int_equal(parameters_set_number(values, PARAMETER_CONTROL, 1, MAP_CANNY + 1, &err), 0);
  assert_int_equal(parameters_set_number(values, PARAMETER_CONTROL, 2, MAP_GRAY + 1, &err), 0);
  press(&state, 'd');
  assert_int_equal(values->show, SHOW_MAP);
  assert_int_equal(values->show_control, 1);
  press(&state, 'c'); /* the other control's map is shown at once */
  assert_int_equal(values->show_control, 2);
  press(&state, 'd');
  assert_int_equal(values->show, SHOW_BOTH);
  assert_int_equal(values->show_control, 2);
  press(&state, 'd');
  assert_int_equal(values->show, SHOW_PICTURE);
}

/* Key L replaces the chosen LoRA by the next file, after the last one by the first. No file is used twice, and weights
 * do not change. */
static void lora_files(void **unused) {
  (void)unused;
  struct live_state state = fresh_state();
  struct parameter_choices loras = {{"spare"}, 1};
  struct error err;
  const struct parameters *values = &state.settings.values;
  press(&state, 'L');
  assert_non_null(strstr(state.notice, "no other LoRA"));
  state.loras = &loras;
  press(&state, 'L');
  assert_string_equal(parameters_text(values, PARAMETER_LORA, 1), "spare");
  press(&state, 'L');
  assert_non_null(strstr(state.notice, "no other LoRA"));
  loras = (struct parameter_choices){{"a/one", "two", "spare", "ink"}, 4};
  for (int i = 1; i <= 2; i++)
    assert_int_equal(parameters_set_text(&state.settings.values, PARAMETER_LORA, i, loras.text[i - 1], &err), 0);
  assert_int_equal(parameters_set_number(&state.settings.values, PARAMETER_LORA_WEIGHT, 1, 0.5, &err), 0);
  parameters_clear_marks(&state.settings.values);
  press(&state, 'L');
  assert_string_equal(state.notice, "LoRA 1, spare: 0.50");
  assert_string_equal(parameters_text(values, PARAMETER_LORA, 1), "spare");
  assert_true(parameters_marked(values, PARAMETER_LORA, 1) && !parameters_marked(values, PARAMETER_LORA, 2));
  press(&state, 'l');
  press(&state, 'L');
  assert_string_equal(parameters_text(values, PARAMETER_LORA, 2), "ink");
  press(&state, 'L');
  assert_string_equal(parameters_text(values, PARAMETER_LORA, 2), "a/one");
  press(&state, 'L');
  assert_string_equal(parameters_text(values, PARAMETER_LORA, 2), "two");
  assert_string_equal(parameters_text(values, PARAMETER_LORA, 1), "spare");
}

/* A key replaces the first style picture by the next file; files used for other styles are skipped. */
static void style_files(void **unused) {
  (void)unused;
  struct live_state state = fresh_state();
  struct parameter_choices styles = {{"a/one.png", "two.png", "three.png"}, 3};
  struct error err;
  const struct parameters *values = &state.settings.values;
  state.styles = &styles;
  press(&state, 'Y');
  assert_non_null(strstr(state.notice, "no IP-Adapter"));
  assert_null(parameters_text(values, PARAMETER_STYLE, 1));
  set_text(&state, PARAMETER_IP_ADAPTER, PARAMETER_IP_ADAPTER_OWN);
  press(&state, 'Y'); /* the model has none of its own */
  assert_null(parameters_text(values, PARAMETER_STYLE, 1));
  set_text(&state, PARAMETER_IP_ADAPTER, "adapter");
  assert_int_equal(parameters_set_text(&state.settings.values, PARAMETER_STYLE, 2, "two.png", &err), 0);
  assert_int_equal(parameters_set_number(&state.settings.values, PARAMETER_STYLE_WEIGHT, 1, 0.5, &err), 0);
  parameters_clear_marks(&state.settings.values);
  press(&state, 'Y');
  assert_string_equal(state.notice, "style 1, one.png: 0.50");
  assert_true(parameters_marked(values, PARAMETER_STYLE, 1) && !parameters_marked(values, PARAMETER_STYLE, 2));
  press(&state, 'Y');
  assert_string_equal(parameters_text(values, PARAMETER_STYLE, 1), "three.png");
  press(&state, 'Y');
  assert_string_equal(parameters_text(values, PARAMETER_STYLE, 1), "a/one.png");
  assert_string_equal(parameters_text(values, PARAMETER_STYLE, 2), "two.png");
  styles.count = 2;
  press(&state, 'Y');
  assert_non_null(strstr(state.notice, "no other style picture"));
  assert_int_equal(parameters_set_text(&state.settings.values, PARAMETER_IP_ADAPTER, 0, NULL, &err), 0);
  state.own_adapter = true;
  styles.count = 3;
  press(&state, 'Y');
  assert_string_equal(parameters_text(values, PARAMETER_STYLE, 1), "three.png");
}

static const char *text_of(const struct live_state *state, enum parameter id) {
  return parameters_text(&state->settings.values, id, 0);
}

/* After a file was refused and the former one restored, the next press skips the refused one. */
static void refused_choices(void **unused) {
  (void)unused;
  struct live_state state = fresh_state();
  struct parameter_choices models = {{"one", "bad", "three"}, 3};
  state.models = &models;
  set_text(&state, PARAMETER_MODEL, "one");
  press(&state, 'm');
  assert_string_equal(text_of(&state, PARAMETER_MODEL), "bad");
  set_text(&state, PARAMETER_MODEL, "one");
  press(&state, 'm');
  assert_string_equal(text_of(&state, PARAMETER_MODEL), "three");
  press(&state, 'm');
  assert_string_equal(text_of(&state, PARAMETER_MODEL), "one");
  press(&state, 'm');
  assert_string_equal(text_of(&state, PARAMETER_MODEL), "bad");
}

static void model_keys(void **unused) {
  (void)unused;
  struct live_state state = fresh_state();
  struct parameter_choices models = {{"one", "a/two"}, 1}, vaes = {{"tiny"}, 1};
  press(&state, 'm');
  assert_non_null(strstr(state.notice, "no other model"));
  press(&state, 'v');
  assert_non_null(strstr(state.notice, "no other VAE"));
  state.models = &models;
  state.vaes = &vaes;
  press(&state, 'm');
  assert_non_null(strstr(state.notice, "no other model"));
  assert_null(text_of(&state, PARAMETER_MODEL));
  models.count = 2;
  set_text(&state, PARAMETER_MODEL, "one");
  press(&state, 'm');
  assert_string_equal(text_of(&state, PARAMETER_MODEL), "a/two");
  assert_string_equal(state.notice, "model a/two");
  assert_true(parameters_marked(&state.settings.values, PARAMETER_MODEL, 0));
  assert_null(text_of(&state, PARAMETER_VAE));
  press(&state, 'm');
  assert_string_equal(text_of(&state, PARAMETER_MODEL), "one");
  /* The list of VAEs has the one that was given, and the model's own. */
  set_text(&state, PARAMETER_VAE, "tiny");
  press(&state, 'v');
  assert_string_equal(text_of(&state, PARAMETER_VAE), "own");
  press(&state, 'v');
  assert_string_equal(text_of(&state, PARAMETER_VAE), "tiny");
  /* each model has a list of its own */
  vaes = (struct parameter_choices){{"tiny", "own"}, 2};
  press(&state, 'm');
  assert_string_equal(text_of(&state, PARAMETER_MODEL), "a/two");
  assert_string_equal(text_of(&state, PARAMETER_VAE), "own");
  press(&state, 'm');
  assert_string_equal(text_of(&state, PARAMETER_VAE), "tiny");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lora_keys),  cmocka_unit_test(control_keys), cmocka_unit_test(show_key),
      cmocka_unit_test(lora_files), cmocka_unit_test(style_files),  cmocka_unit_test(refused_choices),
      cmocka_unit_test(model_keys),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
