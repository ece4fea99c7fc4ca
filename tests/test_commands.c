/* Tests the live window's commands: each changes what it is for and nothing else. */
#include "tests/rigs/cmocka_all.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "app/control/keys.h"
#include "app/source/mirror.h"
#include "app/window/hud_text.h"
#include "tests/rigs/live_keys.h"

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

/* In a window of 640x400 the help is divided into pages: each line is complete and on exactly one page. */
static void small_windows_have_pages_of_help(void **unused) {
  (void)unused;
  enum { WIDTH = 76, LINES = 18 };
  int count, pages = 1, seen = 0, lines, columns;
  const struct command_entry *entries = commands_table(&count);
  char text[HUD_TEXT_MAX], whole[HUD_TEXT_MAX];
  struct hud_content content = {.help = true};
  hud_help_text(whole, &content);
  for (int page = 0; page < pages; page++) {
    hud_help_text(text, &content);
    pages = hud_text_page(text, page, WIDTH, LINES);
    hud_text_measure(text, &lines, &columns);
    assert_true(lines <= LINES && columns <= WIDTH);
    assert_non_null(strstr(text, "? turns"));
    for (int i = 0; i < count; i++)
      seen += entries[i].label && strstr(text, entries[i].help);
  }
  for (int i = 0; i < count; i++)
    seen -= entries[i].label != NULL;
  assert_int_equal(seen, 0);
  assert_in_range(pages, 2, 9);
  hud_help_text(text, &content);
  assert_int_equal(hud_text_page(text, 0, 400, LINES), 1);
  assert_string_equal(text, whole);
  text[0] = 0;
  assert_int_equal(hud_text_page(text, 0, WIDTH, LINES), 0);
}

/* Seeks by keys, in seconds, are added up until the window carries them out. */
static void seeks_add_up(void **unused) {
  (void)unused;
  struct live_state state = fresh_state();
  press(&state, '\'');
  press(&state, '\'');
  press(&state, ';');
  assert_true(state.seek_by_s == 5 && state.seeks_asked == 3);
  press(&state, KEY_HOME);
  assert_true(parameters_marked(&state.settings.values, PARAMETER_CLIP_POSITION, 0));
}

static void the_help_is_turned_then_left(void **unused) {
  (void)unused;
  struct live_state state = fresh_state();
  const bool *help = &state.settings.values.help;
  press(&state, '?');
  state.help_pages = 2;
  assert_true(*help && state.help_page == 0);
  press(&state, '?');
  assert_true(*help && state.help_page == 1);
  press(&state, '?');
  assert_true(!*help && state.help_page == 0);
  press(&state, '?');
  press(&state, KEY_TAB); /* the list of parameters would be hidden below the help */
  assert_true(!*help && state.panel_asked == PANEL_LIST);
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

static void sources_are_cued(void **unused) {
  (void)unused;
  struct live_state state = fresh_state();
  const struct parameters *values = &state.settings.values;
  press(&state, KEY_CONTROL + 'n');
  assert_non_null(strstr(state.notice, "no other source"));
  state.sources = 3;
  press(&state, KEY_CONTROL + 'k');
  assert_non_null(strstr(state.notice, "no source is cued"));
  press(&state, KEY_CONTROL + 'n');
  assert_true(values->cued_source == 2 && values->source == 1);
  press(&state, KEY_CONTROL + 'n');
  press(&state, KEY_CONTROL + 'n');
  assert_int_equal(values->cued_source, 1); /* after the last one the first */
  press(&state, KEY_CONTROL + 'n');
  press(&state, KEY_CONTROL + 'k');
  assert_true(values->cued_source == 0 && values->source == 2);
}

static void clips_are_marked(void **unused) {
  (void)unused;
  struct live_state state = fresh_state();
  const struct parameters *values = &state.settings.values;
  press(&state, ':');
  assert_int_equal(state.clip_marks, CLIP_MARK_IN);
  press(&state, '"');
  assert_int_equal(state.clip_marks, CLIP_MARK_IN | CLIP_MARK_OUT);
  state.settings.values.clip_in = 3;
  state.settings.values.clip_out = 4;
  press(&state, '\\');
  assert_true(values->clip_in == 0 && values->clip_out == 0);
  static const char *const words[] = {"it begins again", "its last picture stays", "the list goes on"};
  for (int i = 0; i < 3; i++) {
    press(&state, 'H');
    assert_int_equal(values->clip_loop, (i + 1) % 3);
    assert_non_null(strstr(state.notice, words[i]));
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
  /* A camera is mirrored already, because `auto` does that. */
  assert_int_equal(parameters_set_number(&state.settings.values, PARAMETER_MIRROR, 0, MIRROR_AUTO, NULL), 0);
  state.mirrored = true;
  press(&state, 'M');
  assert_int_equal(*mirror, MIRROR_OFF);
  assert_false(commands_run(&state, 'M', true, 0));
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
  press(&state, KEY_CONTROL + '1'); /* prompt 1 is shown alone already, so nothing changes */
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
  press(&state, 'j'); /* the first LoRA that remains */
  assert_true(weights_are(&state, SHARES(90, 0, 50)));
  for (int i = 0; i < 20; i++)
    press(&state, 'j');
  assert_true(weights_are(&state, SHARES(10, 0, 50)));
  press(&state, KEY_CONTROL + '1');
  assert_true(weights_are(&state, SHARES(0)));
  assert_int_equal(state.settings.values.shown_prompt, 3);
  press(&state, KEY_CONTROL + '2');
  press(&state, '3'); /* prompt 3 alone, although it was part of a blend before */
  assert_true(weights_are(&state, SHARES(0)));
  assert_int_equal(state.settings.values.shown_prompt, 3);
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
  press(&state, 'p'); /* slots 6 to 9 are empty */
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

/* Quitting takes the key q twice within a second, or Ctrl-Q; a key that is held counts as one press. */
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

/* Stage keys (blackout, freeze and so on) also act before the engine is open. */
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

/* The panic key shows the source at once, at any time, and no other value hides it. */
static void panic_shows_the_source(void **unused) {
  (void)unused;
  struct live_state state = fresh_state();
  struct parameters *values = &state.settings.values;
  state.ready = false;
  values->freeze = values->blackout = values->pause = true;
  values->seed_walk = 2;
  press(&state, 'P');
  assert_true(values->bypass && state.cover_at_once);
  assert_false(values->freeze || values->blackout || values->pause || values->modulation);
  assert_true(values->seed_walk == 0 && parameters_marked(values, PARAMETER_BYPASS, 0));
  press(&state, 'P'); /* a second press changes nothing */
  assert_true(values->bypass && !values->modulation);
  press(&state, 'W');
  press(&state, 'U');
  assert_true(values->modulation && !values->bypass);
}

static void presets_are_cued(void **unused) {
  (void)unused;
  struct live_state state = fresh_state();
  const struct parameters *values = &state.settings.values;
  state.presets = 3;
  press(&state, 'K');
  assert_non_null(strstr(state.notice, "no preset is cued"));
  press(&state, 'E');
  assert_non_null(strstr(state.notice, "no preset has been taken"));
  press(&state, 'N');
  assert_true(values->cued_preset == 1 && values->saved_preset == 0);
  press(&state, 'N');
  press(&state, 'K');
  assert_true(values->cued_preset == 0 && values->saved_preset == 2);
  press(&state, 'N');
  press(&state, 'N');
  assert_int_equal(values->cued_preset, 1); /* after the last one the first */
  parameters_clear_marks(&state.settings.values);
  press(&state, 'E');
  assert_true(values->saved_preset == 2 && parameters_marked(values, PARAMETER_SAVED_PRESET, 0));
  press(&state, 'Z');
  assert_int_equal(state.undos_asked, 1);
}

/* Esc ends what covers the picture first, then full screen, and never the program. */
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

/* Commands can be called with values, not only by keys; a value out of range changes nothing and gives a message. */
static void commands_take_values(void **unused) {
  (void)unused;
  struct live_state state = fresh_state();
  assert_true(commands_call(&state, named("stronger"), 0.25, 0));
  assert_true(state.settings.values.strength == 0.75);
  assert_true(commands_call(&state, named("more-steps"), 6, 0));
  assert_int_equal(state.settings.values.steps, 10);
  assert_true(commands_call(&state, named("prompt"), 3, 0));
  assert_int_equal(state.settings.values.shown_prompt, 3);
  assert_int_equal(state.slot_before, 1);
  const double wrong[] = {0, 10, -1, 2.5, 1e9, (double)NAN};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    state.notice[0] = 0;
    assert_true(commands_call(&state, named("prompt"), wrong[i], 0));
    assert_int_equal(state.settings.values.shown_prompt, 3);
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
  settings_walk(settings, 5 * second_ns); /* at the first call no time has passed */
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

static void taps_set_the_tempo(void **unused) {
  (void)unused;
  struct live_state state = fresh_state();
  for (int i = 0; i < 4; i++)
    assert_true(commands_run(&state, 'T', false, second_ns + i * second_ns / 2));
  assert_float_equal(state.beats.tempo, 120, 1e-6);
  assert_string_equal(state.notice, "tempo 120.0");
  assert_false(commands_run(&state, 'T', true, 4 * second_ns)); /* a held key counts as one tap */
}

/* A command marks the values that it changed, for the engine's thread, and no others. */
static void changes_are_marked(void **unused) {
  (void)unused;
  struct live_state state = fresh_state();
  press(&state, '+');
  press(&state, '2');
  press(&state, 'r');
  for (enum parameter id = PARAMETER_NONE + 1; id < PARAMETERS; id++) {
    bool changed = id == PARAMETER_STRENGTH || id == PARAMETER_SHOWN_PROMPT || id == PARAMETER_SEED;
    assert_int_equal(parameters_marked(&state.settings.values, id, parameter_row(id)->first), changed);
  }
}

/* Holding a key repeats changes of numbers, but toggles a switch only once. */
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

/* The commands that show the web page's address and open it do so only if there is a web page. */
static void the_page_is_opened(void **unused) {
  (void)unused;
  struct live_state state = {.ready = true, .slot_before = 1};
  struct hud_content content = {0};
  char text[HUD_TEXT_MAX];
  parameters_init(&state.settings.values);
  press(&state, 'Q');
  press(&state, '@');
  assert_non_null(strstr(state.notice, "--web"));
  assert_true(!state.settings.values.page_code && !state.pages_asked);
  state.page = true;
  press(&state, 'Q');
  press(&state, '@');
  assert_true(state.settings.values.page_code && state.pages_asked == 1);
  press(&state, 'Q');
  assert_false(state.settings.values.page_code);
  hud_code_text(text, &content);
  assert_string_equal(text, "");
  content.address = "http://127.0.0.1:8080/";
  hud_code_text(text, &content);
  assert_string_equal(text, content.address);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_key_twice),
      cmocka_unit_test(help_names_every_key),
      cmocka_unit_test(small_windows_have_pages_of_help),
      cmocka_unit_test(seeks_add_up),
      cmocka_unit_test(the_help_is_turned_then_left),
      cmocka_unit_test(sources_go_round),
      cmocka_unit_test(sources_are_cued),
      cmocka_unit_test(clips_are_marked),
      cmocka_unit_test(mirror_turns),
      cmocka_unit_test(blend_keys),
      cmocka_unit_test(prompt_keys),
      cmocka_unit_test(strength_keys),
      cmocka_unit_test(guidance_keys),
      cmocka_unit_test(step_keys),
      cmocka_unit_test(switches),
      cmocka_unit_test(quitting_is_meant),
      cmocka_unit_test(escape_leaves_full_screen),
      cmocka_unit_test(presets_are_cued),
      cmocka_unit_test(stage_keys),
      cmocka_unit_test(panic_shows_the_source),
      cmocka_unit_test(seeds_differ),
      cmocka_unit_test(seed_walk_keys),
      cmocka_unit_test(commands_take_values),
      cmocka_unit_test(taps_set_the_tempo),
      cmocka_unit_test(changes_are_marked),
      cmocka_unit_test(held_keys),
      cmocka_unit_test(before_the_engine_is_open),
      cmocka_unit_test(the_page_is_opened),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
