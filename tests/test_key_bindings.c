/* Tests the keys that users bind to commands and values (keys.conf), and the names of keys. */
#include "tests/rigs/cmocka_all.h"

#include <string.h>

#include "app/control/key_bindings.h"
#include "app/control/keys.h"
#include "app/window/hud_text.h"
#include "tests/rigs/live_keys.h"

struct complaints {
  int lines[32], count;
  char all[2048];
};

static void note_complaint(void *opaque, int line, const char *why) {
  struct complaints *complaints = opaque;
  complaints->lines[complaints->count++] = line;
  strcat(strcat(complaints->all, why), "|");
}

static void bind(struct key_bindings *bindings, const char *text) {
  struct complaints complaints = {.count = 0};
  key_bindings_read(bindings, text, note_complaint, &complaints);
  if (complaints.count)
    fail_msg("line %d: %s", complaints.lines[0], complaints.all);
}

static void keys_may_be_bound(void **unused) {
  (void)unused;
  struct live_state state = fresh_state();
  const struct parameters *values = &state.settings.values;
  struct key_bindings bindings = {.count = 0};
  bind(&bindings, "# my keys\n"
                  "F strength 0.25   # not the freeze\r\n"
                  "\n"
                  "  SHARP\tfreeze\n"
                  "b freeze on\n"
                  "B noise\n"
                  "Ctrl+b blackout\n"
                  "F11 prompt 2\n"
                  "x strength += 0.1\n"
                  "z strength -=0.1\n"
                  "a more-guidance 0.5\n"
                  "BS prompt[3] a #1 hit\n"
                  "h ignore\n"
                  "UP seed 1\nUP seed 7\n");
  assert_int_equal(bindings.count, 12);
  state.bindings = &bindings;
  press(&state, 'F');
  assert_true(values->strength == 0.25 && !values->freeze);
  press(&state, '#');
  assert_true(values->freeze);
  press(&state, '#'); /* a switch without a value is toggled */
  assert_false(values->freeze);
  press(&state, 'b');
  press(&state, 'b'); /* a switch with a value gets that value */
  assert_true(values->freeze && !values->split);
  press(&state, 'B');
  assert_true(values->noise == 1 && !values->blackout);
  press(&state, 'B'); /* after a choice's last word comes its first */
  assert_int_equal(values->noise, 0);
  press(&state, KEY_CONTROL + 'b');
  assert_true(values->blackout);
  press(&state, KEY_F11);
  assert_true(values->shown_prompt == 2 && !values->fullscreen);
  assert_true(commands_run(&state, 'x', true, 0)); /* += is repeated while the key is held */
  assert_float_equal(values->strength, 0.35, 1e-9);
  press(&state, 'z');
  assert_float_equal(values->strength, 0.25, 1e-9);
  assert_false(commands_run(&state, 'F', true, 0)); /* = is not repeated */
  press(&state, 'a');
  assert_float_equal(values->guidance, 1.5, 1e-9);
  press(&state, KEY_BACKSPACE);
  assert_string_equal(parameters_text(values, PARAMETER_PROMPT, 3), "a");
  press(&state, KEY_UP);
  assert_int_equal(values->seed, 7);
  bool hud = values->hud;
  assert_false(commands_run(&state, 'h', false, 0));
  assert_int_equal(values->hud, hud);
  press(&state, 'U'); /* all other keys have their usual commands */
  assert_true(values->bypass);
  bind(&bindings, "n edit-negative 3\nN next-preset 1e300\n"); /* numbers that are out of range for these commands */
  press(&state, 'n');
  assert_int_equal(state.panel_asked, PANEL_NEGATIVE);
  state.presets = 5;
  press(&state, 'N');
  assert_int_equal(values->saved_preset, 5);
}

/* Each wrong line is reported with its number, and the correct lines take effect. */
static void wrong_lines_of_keys_are_told(void **unused) {
  (void)unused;
  static const char text[] = "F freeze\n"
                             "HYPER freeze\n"    /* line 2: no such key */
                             "F2x freeze\n"      /* line 3: no such key */
                             "Ctrl+B freeze\n"   /* line 4: the letter must be small */
                             "g\n"               /* line 5: the command is missing */
                             "g no-such\n"       /* line 6: no such command */
                             "g strength\n"      /* line 7: a value is needed */
                             "g strength 7\n"    /* line 8: the value is out of range */
                             "g strength += x\n" /* line 9: no number */
                             "g freeze += 1\n"   /* line 10: += is not possible for a switch */
                             "g prompt\n"        /* line 11: the prompt's number is missing */
                             "g prompt 10\n"     /* line 12: there is no prompt 10 */
                             "g new-seed x\n"    /* line 13: this command takes no value */
                             "g device cpu\n"    /* line 14: this parameter cannot be set while live runs */
                             "g ignore 1\n"      /* line 15: `ignore` takes no value */
                             "g source 2\n";
  struct key_bindings bindings = {.count = 0};
  struct complaints complaints = {.count = 0};
  key_bindings_read(&bindings, text, note_complaint, &complaints);
  assert_int_equal(complaints.count, 14);
  for (int i = 0; i < 14; i++)
    assert_int_equal(complaints.lines[i], i + 2);
  assert_non_null(strstr(complaints.all, "there is no key \"HYPER\""));
  assert_non_null(strstr(complaints.all, "there is no command or parameter \"no-such\""));
  assert_non_null(strstr(complaints.all, "strength 7: a number from 0 to 1 is needed"));
  assert_int_equal(bindings.count, 2);
}

static void the_help_has_the_keys_that_are_bound(void **unused) {
  (void)unused;
  char text[HUD_TEXT_MAX];
  struct key_bindings bindings = {.count = 0};
  bind(&bindings, "F strength -= 0.1\nCtrl+x noise carried\nU prompt 3\n");
  struct hud_content content = {.help = true, .bindings = &bindings};
  hud_help_text(text, &content);
  assert_non_null(strstr(text, "strength -= 0.1"));
  assert_non_null(strstr(text, "Ctrl+x"));
  assert_non_null(strstr(text, "noise carried"));
  assert_non_null(strstr(text, "prompt 3"));
  assert_null(strstr(text, "hold the picture shown")); /* the key F was bound to another command */
  assert_non_null(strstr(text, "fade to black"));
}

static void every_key_has_a_name(void **unused) {
  (void)unused;
  char name[KEY_NAME_MAX];
  for (int key = 1; key <= KEY_CONTROL + 'z'; key++)
    if (key != KEY_CONTROL && commands_have(key))
      assert_int_equal(key_find(key_name(key, name)), key);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(keys_may_be_bound),
      cmocka_unit_test(wrong_lines_of_keys_are_told),
      cmocka_unit_test(the_help_has_the_keys_that_are_bound),
      cmocka_unit_test(every_key_has_a_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
