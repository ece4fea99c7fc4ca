/* The live window's commands: each edits what it says and nothing else. */
#include "cmocka_all.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "app/control/cover.h"
#include "app/control/keys.h"
#include "app/source/mirror.h"
#include "app/window/hud_text.h"

static const int64_t second_ns = 1000000000;

static struct live_state fresh_state(void) {
  struct live_state state = {.slot_before = 1, .ready = true};
  struct parameters values;
  struct error err;
  parameters_init(&values);
  for (int i = 1; i <= 5; i++)
    assert_int_equal(parameters_set_text(&values, PARAMETER_PROMPT, i, "a prompt", &err), 0);
  values.steps = 4;
  settings_begin(&state.settings, &values);
  return state;
}

static void press(struct live_state *state, int key) {
  assert_true(commands_run(state, key, false, 0));
}

static void no_key_twice(void **unused) {
  (void)unused;
  int count;
  const struct command_entry *entries = commands_table(&count);
  bool seen[KEY_CONTROL + 128] = {false};
  for (int i = 0; i < count; i++) {
    assert_true(strlen(entries[i].help) > 0);
    int held = entries[i].special == KEY_CONTROL ? KEY_CONTROL : 0;
    for (const char *key = entries[i].keys; *key; key++) {
      assert_false(seen[held + *key]);
      seen[held + *key] = true;
    }
    if (entries[i].special != KEY_NONE && !held) {
      assert_false(seen[entries[i].special]);
      seen[entries[i].special] = true;
    }
    for (int j = 0; j < i; j++)
      assert_string_not_equal(entries[i].name, entries[j].name);
  }
}

/* Every command that a key runs can be read in the help. */
static void help_names_every_key(void **unused) {
  (void)unused;
  int count;
  const struct command_entry *entries = commands_table(&count);
  char labels[512] = "", text[HUD_TEXT_MAX];
  for (int i = 0; i < count; i++)
    strcat(labels, entries[i].label ? entries[i].label : "");
  for (int i = 0; i < count; i++) {
    char key = entries[i].keys[0];
    if (isdigit((unsigned char)key) || key == ' ')
      continue;
    assert_non_null(strchr(labels, key));
  }
  struct hud_content content = {.help = true};
  hud_help_text(text, &content);
  for (int i = 0; i < count; i++)
    if (entries[i].label)
      assert_non_null(strstr(text, entries[i].help));
}

static void sources_go_round(void **unused) {
  (void)unused;
  struct live_state state = fresh_state();
  const int64_t *source = &state.settings.values.source;
  press(&state, 'g');
  assert_int_equal(*source, 1);
  assert_non_null(strstr(state.notice, "no other source"));
  state.sources = 3;
  static const struct { int key, source; } way[] = {{'g', 2}, {'g', 3}, {'g', 1}, {'G', 3}, {'G', 2}, {'G', 1}};
  for (size_t i = 0; i < sizeof way / sizeof *way; i++) {
    press(&state, way[i].key);
    assert_int_equal(*source, way[i].source);
    assert_true(parameters_marked(&state.settings.values, PARAMETER_SOURCE, 0));
  }
}

static void mirror_turns(void **unused) {
  (void)unused;
  struct live_state state = fresh_state();
  const int *mirror = &state.settings.values.mirror;
  press(&state, 'M');
  assert_int_equal(*mirror, MIRROR_ON);
  assert_string_equal(state.notice, "mirrored");
  press(&state, 'M');
  assert_int_equal(*mirror, MIRROR_OFF);
  assert_string_equal(state.notice, "not mirrored");
  /* A camera is already, by itself. */
  assert_int_equal(parameters_set_number(&state.settings.values, PARAMETER_MIRROR, 0, MIRROR_AUTO, NULL), 0);
  state.mirrored = true;
  press(&state, 'M');
  assert_int_equal(*mirror, MIRROR_OFF);
  assert_false(commands_run(&state, 'M', true, 0));
}

/* What is shown at that time, in hundredths. */
static void expect_shares(const struct fade *fade, int64_t now_ns, const int expected[SLOT_PRESETS]) {
  float shares[SLOT_PRESETS];
  fade_apply(fade, now_ns, shares);
  for (int i = 0; i < SLOT_PRESETS; i++)
    assert_int_equal(lrintf(100 * shares[i]), expected[i]);
}

#define SHARES(...) ((const int[SLOT_PRESETS]){__VA_ARGS__})

static void prompts_fade(void **unused) {
  (void)unused;
  struct live_state state = fresh_state();
  const struct fade *fade = &state.settings.fade;
  int64_t start = 10 * second_ns;
  struct controls now;
  assert_true(commands_run(&state, '3', false, start));
  expect_shares(fade, start, SHARES(100));
  expect_shares(fade, start + FADE_MS * 250000, SHARES(75, 0, 25));
  settings_controls(&state.settings, start + FADE_MS * 250000, &now);
  assert_true(now.blend[0] == 0.75f && now.blend[2] == 0.25f);
  settings_controls(&state.settings, 11 * second_ns, &now);
  assert_int_equal(now.prompt, 3);
  for (int i = 0; i < SLOT_PRESETS; i++)
    assert_true(now.blend[i] == 0);
}

static void expect_size(const struct live_state *state, int width, int height) {
  const struct parameter_size *size = &state->settings.values.size;
  if (size->width != width || size->height != height)
    fail_msg("%dx%d in place of %dx%d", size->width, size->height, width, height);
}

/* Each key is the next size, in the picture's shape as it was before the engine rounded it. */
static void sizes_keep_the_shape(void **unused) {
  (void)unused;
  struct live_state state = fresh_state();
  struct parameter_size *size = &state.settings.values.size;
  press(&state, '}'); /* of no size nothing follows */
  expect_size(&state, 0, 0);
  state.shape = 16 / 9.0;
  *size = (struct parameter_size){512, 320};
  press(&state, '}');
  expect_size(&state, 576, 324);
  *size = (struct parameter_size){576, 320};
  press(&state, '}');
  expect_size(&state, 640, 360);
  press(&state, '{');
  expect_size(&state, 576, 324);
  assert_string_equal(state.notice, "size 576x324");
  assert_true(parameters_marked(&state.settings.values, PARAMETER_SIZE, 0));
  *size = (struct parameter_size){500, 1000}; /* of another shape */
  press(&state, '{');
  expect_size(&state, 480, 960);
  state.shape = 1;
  *size = (struct parameter_size){64, 64};
  press(&state, '{');
  expect_size(&state, 64, 64);
  *size = (struct parameter_size){8192, 8192};
  press(&state, '}');
  expect_size(&state, 8192, 8192);
}

static bool controls_differ(const struct parameters *a, const struct parameters *b) {
  struct controls first, second;
  memset(&first, 0, sizeof first);
  memset(&second, 0, sizeof second);
  values_controls(a, &first);
  values_controls(b, &second);
  return memcmp(&first, &second, sizeof first) != 0;
}

/* A number that the parameter may be and is not as it comes. */
static double another(const struct parameter_row *row) {
  if (row->type == TYPE_SWITCH || row->type == TYPE_CHOICE)
    return row->standard > 0 ? 0 : 1;
  return row->standard == row->max ? row->min : row->max;
}

/* With some map: each has parameters of its own. */
static bool reaches_controls(const struct parameters *standard, const struct parameters *changed) {
  bool reaches = false;
  for (int kind = 0; kind <= MAP_KINDS; kind++) {
    struct parameters a = *standard, b = *changed;
    a.control[0] = b.control[0] = kind;
    reaches = reaches || controls_differ(&a, &b);
  }
  return reaches;
}

/* What the next frame is to take, a frame's controls have: a parameter that values_controls leaves out has no effect.
 */
static void each_value_of_a_frame_is_in_its_controls(void **unused) {
  (void)unused;
  int count = 0;
  struct parameters standard;
  parameters_init(&standard);
  assert_false(controls_differ(&standard, &standard));
  for (enum parameter id = PARAMETER_NONE + 1; id < PARAMETERS; id++) {
    const struct parameter_row *row = parameter_row(id);
    struct parameters changed = standard;
    struct error err;
    if (row->need != NEED_FRAME && row->need != NEED_ROWS)
      continue;
    assert_int_equal(parameters_set_number(&changed, id, row->first, another(row), &err), 0);
    if (!reaches_controls(&standard, &changed))
      fail_msg("%s does not reach the controls", row->name);
    count++;
  }
  assert_in_range(count, 6, PARAMETERS);
}

/* Back on the way, or on to a third: the picture is the same just before and just after. */
static void fades_begin_where_they_are(void **unused) {
  (void)unused;
  const float one[SLOT_PRESETS] = {1}, two[SLOT_PRESETS] = {0, 1}, three[SLOT_PRESETS] = {0, 0, 1};
  int64_t start = 5 * second_ns, step = FADE_MS * 100000; /* a tenth */
  struct fade fade;
  fade_begin(&fade, one);
  expect_shares(&fade, start, SHARES(100));
  fade_turn(&fade, two, start);
  expect_shares(&fade, start + 4 * step, SHARES(60, 40));
  fade_turn(&fade, one, start + 4 * step);
  expect_shares(&fade, start + 4 * step, SHARES(60, 40));
  fade_turn(&fade, three, start + 9 * step);
  expect_shares(&fade, start + 9 * step, SHARES(80, 20));
  expect_shares(&fade, start + 14 * step, SHARES(40, 10, 50));
  expect_shares(&fade, start + 19 * step, SHARES(0, 0, 100));
}

/* Between blends, too; shares of the prompts that are there already act at once. */
static void blends_fade_and_move(void **unused) {
  (void)unused;
  const float from[SLOT_PRESETS] = {0.5f, 0.5f}, to[SLOT_PRESETS] = {0, 0, 0.8f, 0.2f},
              moved[SLOT_PRESETS] = {0, 0, 0.4f, 0.6f};
  struct fade fade;
  fade_begin(&fade, from);
  fade_turn(&fade, to, second_ns);
  expect_shares(&fade, second_ns + FADE_MS * 500000, SHARES(25, 25, 40, 10));
  fade_turn(&fade, moved, second_ns + FADE_MS * 500000);
  expect_shares(&fade, second_ns + FADE_MS * 500000, SHARES(25, 25, 20, 30));
  expect_shares(&fade, 3 * second_ns, SHARES(0, 0, 40, 60));
  fade_turn(&fade, to, 3 * second_ns);
  expect_shares(&fade, 3 * second_ns, SHARES(0, 0, 80, 20));
}

static bool weights_are(const struct live_state *state, const int expected[SLOT_PRESETS]) {
  bool same = true;
  for (int i = 0; i < SLOT_PRESETS; i++)
    same = same && lrint(100 * state->settings.values.blend[i]) == expected[i];
  return same;
}

static void blend_keys(void **unused) {
  (void)unused;
  struct live_state state = fresh_state();
  press(&state, 'k');
  assert_non_null(strstr(state.notice, "no blend"));
  press(&state, KEY_CONTROL + '1'); /* it is there already */
  assert_true(weights_are(&state, SHARES(0)));
  press(&state, KEY_CONTROL + '3');
  assert_true(weights_are(&state, SHARES(100, 0, 100)));
  assert_string_equal(state.notice, "blend 1 50%, 3 50%");
  for (int i = 0; i < 5; i++)
    assert_true(commands_run(&state, 'j', i > 0, 0));
  assert_true(weights_are(&state, SHARES(100, 0, 50)));
  assert_string_equal(state.notice, "blend 1 67%, 3 33%");
  press(&state, KEY_CONTROL + '9');
  assert_non_null(strstr(state.notice, "no prompt 9"));
  press(&state, KEY_CONTROL + '4');
  press(&state, 'k');
  assert_true(weights_are(&state, SHARES(100, 0, 50, 100)));
  press(&state, KEY_CONTROL + '4');
  press(&state, 'j'); /* of the first one that is left */
  assert_true(weights_are(&state, SHARES(90, 0, 50)));
  for (int i = 0; i < 20; i++)
    press(&state, 'j');
  assert_true(weights_are(&state, SHARES(10, 0, 50)));
  press(&state, KEY_CONTROL + '1');
  assert_true(weights_are(&state, SHARES(0)));
  assert_int_equal(state.settings.values.preset, 3);
  press(&state, KEY_CONTROL + '2');
  press(&state, '3'); /* alone, though it was chosen before */
  assert_true(weights_are(&state, SHARES(0)));
  assert_int_equal(state.settings.values.preset, 3);
}

static int shown_at_last(const struct live_state *state) {
  struct controls now;
  settings_controls(&state->settings, INT64_MAX / 2, &now);
  return now.prompt;
}

static void prompt_keys(void **unused) {
  (void)unused;
  struct live_state state = fresh_state();
  press(&state, '4');
  assert_int_equal(shown_at_last(&state), 4);
  press(&state, 't');
  assert_int_equal(shown_at_last(&state), 1);
  press(&state, 't');
  assert_int_equal(shown_at_last(&state), 4);
  press(&state, 'p');
  assert_int_equal(shown_at_last(&state), 5);
  press(&state, 'p'); /* 6 to 9 are empty */
  assert_int_equal(shown_at_last(&state), 1);
  press(&state, '9');
  assert_int_equal(shown_at_last(&state), 1);
  assert_non_null(strstr(state.notice, "9"));
}

static void strength_keys(void **unused) {
  (void)unused;
  struct live_state state = fresh_state();
  press(&state, '+');
  assert_true((float)state.settings.values.strength == 0.55f);
  press(&state, KEY_DOWN);
  press(&state, '-');
  assert_true((float)state.settings.values.strength == 0.45f);
  for (int i = 0; i < 30; i++)
    assert_true(commands_run(&state, KEY_UP, i > 0, 0));
  assert_true((float)state.settings.values.strength == 1);
  for (int i = 0; i < 30; i++)
    press(&state, '-');
  assert_true((float)state.settings.values.strength == 0);
}

static void set_text(struct live_state *state, enum parameter id, const char *text) {
  assert_int_equal(parameters_set_text(&state->settings.values, id, 0, text, NULL), 0);
}

static double lora_weight(const struct live_state *state, int index) {
  return parameters_number(&state->settings.values, PARAMETER_LORA_WEIGHT, index);
}

/* The keys change the weight of the LoRA that was chosen last, and say which that is. */
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

/* c chooses the control, e which of its values ( and ) change; what suits the map is where they begin. */
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

/* d goes from the picture to the chosen control's map, to both, and back. */
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
  press(&state, 'c'); /* what is shown follows */
  assert_int_equal(values->show_control, 2);
  press(&state, 'd');
  assert_int_equal(values->show, SHOW_BESIDE);
  assert_int_equal(values->show_control, 2);
  press(&state, 'd');
  assert_int_equal(values->show, SHOW_PICTURE);
}

/* Another file comes into the place of the LoRA chosen, the first of them again behind the last one; none is there
 * twice, and weights stay. */
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

/* Another file becomes the first style; what another place has is left out. */
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
}

static const char *text_of(const struct live_state *state, enum parameter id) {
  return parameters_text(&state->settings.values, id, 0);
}

/* One that was refused, after which the one before it is in use again, is left behind by the next press. */
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
  /* The VAE that was given, and the model's own. */
  set_text(&state, PARAMETER_VAE, "tiny");
  press(&state, 'v');
  assert_string_equal(text_of(&state, PARAMETER_VAE), "own");
  press(&state, 'v');
  assert_string_equal(text_of(&state, PARAMETER_VAE), "tiny");
  /* One for each model. */
  vaes = (struct parameter_choices){{"tiny", "own"}, 2};
  press(&state, 'm');
  assert_string_equal(text_of(&state, PARAMETER_MODEL), "a/two");
  assert_string_equal(text_of(&state, PARAMETER_VAE), "own");
  press(&state, 'm');
  assert_string_equal(text_of(&state, PARAMETER_VAE), "tiny");
}

static void step_keys(void **unused) {
  (void)unused;
  struct live_state state = fresh_state();
  press(&state, ']');
  assert_int_equal(state.settings.values.steps, 5);
  for (int i = 0; i < 10; i++)
    press(&state, '[');
  assert_int_equal(state.settings.values.steps, 1);
  for (int i = 0; i < 100; i++)
    press(&state, ']');
  assert_int_equal(state.settings.values.steps, STEPS_MAX);
}

static void guidance_keys(void **unused) {
  (void)unused;
  struct live_state state = fresh_state();
  double before = state.settings.values.guidance;
  press(&state, 'o');
  assert_float_equal(state.settings.values.guidance, before + 0.1, 1e-9);
  press(&state, 'i');
  assert_float_equal(state.settings.values.guidance, before, 1e-9);
  for (int i = 0; i < 2000; i++)
    press(&state, 'i');
  assert_float_equal(state.settings.values.guidance, 0, 0);
}

static void switches(void **unused) {
  (void)unused;
  struct live_state state = fresh_state();
  press(&state, ' ');
  assert_true(state.settings.values.pause);
  press(&state, ' ');
  assert_false(state.settings.values.pause);
  press(&state, 'b');
  assert_true(state.settings.values.split);
  press(&state, 'b');
  assert_false(state.settings.values.split);
  press(&state, 'f');
  assert_true(state.settings.values.fullscreen);
  press(&state, 'h');
  assert_false(state.settings.values.hud);
  press(&state, '?');
  assert_true(state.settings.values.help);
  press(&state, 's');
  press(&state, 's');
  assert_int_equal(state.snapshots_asked, 2);
}

static void press_at(struct live_state *state, int key, int ms) {
  commands_run(state, key, false, (int64_t)ms * 1000000);
}

/* q twice within a second, or Ctrl-Q; a key that is held is one. */
static void quitting_is_meant(void **unused) {
  (void)unused;
  struct live_state state = fresh_state();
  press_at(&state, 'q', 5000);
  assert_false(state.quit);
  assert_string_equal(state.notice, "press q again to quit");
  assert_int_equal(state.notice_until_ns, INT64_C(6000000000));
  assert_false(commands_run(&state, 'q', true, INT64_C(5500000000)));
  press_at(&state, 'q', 6000);
  assert_false(state.quit);
  press_at(&state, 'q', 6999);
  assert_true(state.quit);
  state.quit = false;
  state.quit_until_ns = 0;
  press_at(&state, KEY_CONTROL + 'q', 9000);
  assert_true(state.quit);
}

/* Stage keys act before the engine is open, too. */
static void stage_keys(void **unused) {
  (void)unused;
  struct live_state state = fresh_state();
  state.ready = false;
  press(&state, 'F');
  press(&state, 'U');
  press(&state, 'B');
  assert_true(state.settings.values.freeze && state.settings.values.bypass && state.settings.values.blackout);
  press(&state, 'B');
  assert_false(state.settings.values.blackout);
}

static void expect_levels(const struct cover *cover, int ms, bool moving, double held, double bypass, double blackout) {
  struct cover_levels levels;
  assert_int_equal(cover_levels(cover, (int64_t)ms * 1000000, &levels), moving);
  if (fabs((double)levels.held - held) + fabs((double)levels.bypass - bypass) +
          fabs((double)levels.blackout - blackout) >
      1e-6)
    fail_msg("%d ms: %g %g %g, not %g %g %g", ms, (double)levels.held, (double)levels.bypass, (double)levels.blackout,
             held, bypass, blackout);
}

static void follow(struct cover *cover, const struct parameters *values, bool instead, int ms) {
  cover_follow(cover, values, instead, (int64_t)ms * 1000000);
}

/* Fades take their time from wherever they are; what is frozen stands at once. */
static void covers_fade(void **unused) {
  (void)unused;
  struct cover cover = {0};
  struct parameters values;
  parameters_init(&values);
  values.fade = 2;
  follow(&cover, &values, false, 500);
  expect_levels(&cover, 1000, false, 0, 0, 0);
  values.blackout = true;
  follow(&cover, &values, false, 1000);
  expect_levels(&cover, 1000, true, 0, 0, 0);
  expect_levels(&cover, 2000, true, 0, 0, 0.5);
  follow(&cover, &values, false, 2000);
  expect_levels(&cover, 2500, true, 0, 0, 0.75);
  values.blackout = false;
  follow(&cover, &values, false, 2500);
  expect_levels(&cover, 3000, true, 0, 0, 0.5); /* as fast as it came */
  expect_levels(&cover, 4000, false, 0, 0, 0);
  values.freeze = true;
  follow(&cover, &values, true, 5000);
  expect_levels(&cover, 5000, true, 1, 0, 0);
  expect_levels(&cover, 7000, false, 1, 1, 0);
  values.freeze = false;
  follow(&cover, &values, true, 8000);
  expect_levels(&cover, 9000, true, 0.5, 1, 0);
  values.fade = 0;
  values.bypass = true;
  follow(&cover, &values, false, 9000);
  expect_levels(&cover, 9000, false, 0, 1, 0);
}

/* Esc leaves what lies over the picture, then full screen, and never ends. */
static void escape_leaves_full_screen(void **unused) {
  (void)unused;
  struct live_state state = fresh_state();
  press(&state, 'f');
  press(&state, '?');
  press(&state, KEY_ESCAPE);
  assert_false(state.settings.values.help);
  assert_true(state.settings.values.fullscreen);
  press(&state, KEY_ESCAPE);
  assert_false(state.settings.values.fullscreen);
  press(&state, KEY_ESCAPE);
  press(&state, KEY_ESCAPE);
  assert_false(state.settings.values.fullscreen || state.quit);
}

static void seeds_differ(void **unused) {
  (void)unused;
  struct live_state state = fresh_state();
  uint64_t first = (uint64_t)state.settings.values.seed;
  press(&state, 'r');
  uint64_t second = (uint64_t)state.settings.values.seed;
  press(&state, 'r');
  assert_true(first != second && second != (uint64_t)state.settings.values.seed);
}

static const struct command_entry *named(const char *name) {
  int count;
  const struct command_entry *entries = commands_table(&count);
  for (int i = 0; i < count; i++)
    if (!strcmp(entries[i].name, name))
      return &entries[i];
  fail_msg("no command %s", name);
  return NULL;
}

/* Others than keys call commands with values of their own; what is out of range changes nothing and says why. */
static void commands_take_values(void **unused) {
  (void)unused;
  struct live_state state = fresh_state();
  assert_true(commands_call(&state, named("stronger"), 0.25, 0));
  assert_true(state.settings.values.strength == 0.75);
  assert_true(commands_call(&state, named("more-steps"), 6, 0));
  assert_int_equal(state.settings.values.steps, 10);
  assert_true(commands_call(&state, named("prompt"), 3, 0));
  assert_int_equal(state.settings.values.preset, 3);
  assert_int_equal(state.slot_before, 1);
  const double wrong[] = {0, 10, -1, 2.5, 1e9, (double)NAN};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    state.notice[0] = 0;
    assert_true(commands_call(&state, named("prompt"), wrong[i], 0));
    assert_int_equal(state.settings.values.preset, 3);
    assert_int_equal(state.slot_before, 1);
    assert_true(state.notice[0]);
    state.notice[0] = 0;
    assert_true(commands_call(&state, named("blend"), wrong[i], 0));
    assert_true(weights_are(&state, SHARES(0)) && state.notice[0]);
  }
}

static void seed_walk_keys(void **unused) {
  (void)unused;
  struct live_state state = fresh_state();
  struct settings *settings = &state.settings;
  struct controls now;
  char text[HUD_TEXT_MAX];
  const struct hud_content content = {.figures = true, .running = true, .values = &settings->values};
  hud_figures_text(text, &content);
  assert_null(strstr(text, "seed"));
  press(&state, 'x');
  press(&state, 'x');
  press(&state, 'z');
  assert_true(settings->values.seed_position == 0.05);
  assert_string_equal(state.notice, "seed 1.05");
  settings_walk(settings, 5 * second_ns); /* the first moment of all: nothing has gone by */
  settings_walk(settings, 6 * second_ns);
  assert_true(settings->values.seed_position == 0.05);
  press(&state, 'w');
  assert_string_equal(state.notice, "seed walk: 0.25 a second");
  settings_walk(settings, 8 * second_ns);
  settings_controls(settings, 8 * second_ns, &now);
  assert_float_equal(now.seed_position, 0.55, 1e-12);
  hud_figures_text(text, &content);
  assert_non_null(strstr(text, "1.55"));
  press(&state, ' ');
  settings_walk(settings, 18 * second_ns);
  press(&state, ' ');
  assert_float_equal(settings->values.seed_position, 0.55, 1e-12);
  settings->values.seed_walk = -2;
  press(&state, 'w');
  assert_true(settings->values.seed_walk == 0);
  press(&state, 'w');
  assert_true(settings->values.seed_walk == -2);
  settings_walk(settings, 20 * second_ns);
  assert_float_equal(settings->values.seed_position, -3.45, 1e-12);
  press(&state, 'r');
  assert_true(settings->values.seed_position == 0 && settings->values.seed_walk == -2);
}

/* A walk by changes of its speed: each acts from its own moment on. */
static void walks_follow_their_speed(void **unused) {
  (void)unused;
  struct settings settings;
  struct parameters values, changes;
  struct error err;
  parameters_init(&values);
  settings_begin(&settings, &values);
  settings_walk(&settings, second_ns);
  const double speeds[] = {1, -0.5, 0};
  for (int i = 0; i < 3; i++) {
    parameters_init(&changes);
    assert_int_equal(parameters_set_number(&changes, PARAMETER_SEED_WALK, 0, speeds[i], &err), 0);
    settings_apply(&settings, &changes, (2 + 2 * i) * second_ns);
  }
  settings_walk(&settings, 50 * second_ns);
  assert_float_equal(settings.values.seed_position, 2 - 1, 1e-12);
  settings.values.seed_walk = 100;
  settings_walk(&settings, INT64_MAX / 2);
  assert_true(settings.values.seed_position == parameter_row(PARAMETER_SEED_POSITION)->max);
}

/* What a command changed is marked, for the engine thread to take, and nothing else is. */
static void changes_are_marked(void **unused) {
  (void)unused;
  struct live_state state = fresh_state();
  press(&state, '+');
  press(&state, '2');
  press(&state, 'r');
  for (enum parameter id = PARAMETER_NONE + 1; id < PARAMETERS; id++) {
    bool changed = id == PARAMETER_STRENGTH || id == PARAMETER_PRESET || id == PARAMETER_SEED;
    assert_int_equal(parameters_marked(&state.settings.values, id, parameter_row(id)->first), changed);
  }
}

/* Holding a key changes numbers on and on, but switches once. */
static void held_keys(void **unused) {
  (void)unused;
  struct live_state state = fresh_state();
  assert_true(commands_run(&state, '+', true, 0));
  assert_false(commands_run(&state, 'f', true, 0));
  assert_false(state.settings.values.fullscreen);
  assert_false(commands_run(&state, '0', false, 0));
  assert_false(commands_run(&state, KEY_NONE, false, 0));
}

static void before_the_engine_is_open(void **unused) {
  (void)unused;
  struct live_state state = fresh_state();
  state.ready = false;
  assert_false(commands_run(&state, '+', false, 0));
  assert_true((float)state.settings.values.strength == 0.5f);
  press(&state, '?');
  press(&state, KEY_CONTROL + 'q');
  assert_true(state.settings.values.help && state.quit);
}

static void figures_text(void **unused) {
  (void)unused;
  char text[HUD_TEXT_MAX];
  struct parameters values;
  parameters_init(&values);
  values.strength = 0.85;
  values.steps = 2;
  struct hud_content content = {.figures = true,
                                .running = true,
                                .fps = 24.83,
                                .frame_ms = 41.2,
                                .budget_ms = 40,
                                .governed = "512x512, governed to 448x448",
                                .dropped = 12,
                                .prompts = {{"oil\npainting\x02\xc2\x9b\xe2\x80\xae", 0.625f}, {"neon", 0.375f}},
                                .prompt_count = 2,
                                .values = &values};
  hud_figures_text(text, &content);
  const char late[] = {TONE_ALERT, 0};
  assert_non_null(strstr(text, "24.8"));
  assert_non_null(strstr(text, "41.2"));
  assert_non_null(strstr(text, "of 40"));
  assert_non_null(strstr(text, "512x512, governed to 448x448"));
  assert_non_null(strstr(text, late));
  assert_non_null(strstr(text, "oil?painting???")); /* no line break and no mark comes in from outside */
  assert_non_null(strstr(text, "neon"));
  assert_non_null(strstr(text, " 38% "));
  assert_non_null(strstr(text, "0.85"));
  const char shown[] = {TONE_DIM, 's', 't', 'e', 'p', 's', ' ', TONE_PLAIN, '2', ' ', 0};
  assert_non_null(strstr(text, shown));
  assert_null(strstr(text, "model"));
  content.frame_ms = 39;
  content.model = "one";
  hud_figures_text(text, &content);
  assert_null(strstr(text, late));
  assert_non_null(strstr(text, "model "));
  assert_non_null(strstr(text, "one"));
  assert_null(strstr(text, "loading"));
  content.loading = "an\nother";
  hud_figures_text(text, &content);
  assert_non_null(strstr(text, "loading "));
  assert_non_null(strstr(text, "an?other"));
  content.figures = false;
  hud_figures_text(text, &content);
  assert_string_equal(text, "");
  content = (struct hud_content){.figures = true, .state = "source lost: gone"};
  hud_figures_text(text, &content);
  assert_non_null(strstr(text, "source lost: gone"));
}

/* Words of any length fit. */
static void long_words_are_cut(void **unused) {
  (void)unused;
  static char words[5000], text[HUD_TEXT_MAX + 1];
  memset(words, 'x', sizeof words - 1);
  text[HUD_TEXT_MAX] = 77;
  struct hud_content content = {
      .figures = true, .running = true, .prompt_count = SLOT_PRESETS, .state = words, .notice = words};
  for (int i = 0; i < SLOT_PRESETS; i++)
    content.prompts[i] = (struct hud_prompt){words, 0.1f};
  hud_figures_text(text, &content);
  assert_true(strlen(text) < HUD_TEXT_MAX);
  hud_notice_text(text, &content);
  assert_true(strlen(text) < HUD_TEXT_MAX && text[HUD_TEXT_MAX] == 77);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_key_twice),
      cmocka_unit_test(help_names_every_key),
      cmocka_unit_test(sources_go_round),
      cmocka_unit_test(mirror_turns),
      cmocka_unit_test(sizes_keep_the_shape),
      cmocka_unit_test(prompts_fade),
      cmocka_unit_test(each_value_of_a_frame_is_in_its_controls),
      cmocka_unit_test(fades_begin_where_they_are),
      cmocka_unit_test(blends_fade_and_move),
      cmocka_unit_test(blend_keys),
      cmocka_unit_test(prompt_keys),
      cmocka_unit_test(strength_keys),
      cmocka_unit_test(guidance_keys),
      cmocka_unit_test(lora_keys),
      cmocka_unit_test(control_keys),
      cmocka_unit_test(show_key),
      cmocka_unit_test(lora_files),
      cmocka_unit_test(style_files),
      cmocka_unit_test(refused_choices),
      cmocka_unit_test(model_keys),
      cmocka_unit_test(step_keys),
      cmocka_unit_test(switches),
      cmocka_unit_test(quitting_is_meant),
      cmocka_unit_test(escape_leaves_full_screen),
      cmocka_unit_test(stage_keys),
      cmocka_unit_test(covers_fade),
      cmocka_unit_test(seeds_differ),
      cmocka_unit_test(seed_walk_keys),
      cmocka_unit_test(walks_follow_their_speed),
      cmocka_unit_test(commands_take_values),
      cmocka_unit_test(changes_are_marked),
      cmocka_unit_test(held_keys),
      cmocka_unit_test(before_the_engine_is_open),
      cmocka_unit_test(figures_text),
      cmocka_unit_test(long_words_are_cut),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
