/* Tests which commands the keys of common keyboard layouts run, on an X server (Xvfb). */
#include "tests/rigs/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/control/keys.h"
#include "app/window/window.h"
#include "tests/rigs/clips.h"
#include "tests/rigs/program.h"
#include "tests/rigs/screen.h"

/* Keys by their X11 key codes, which stand for positions: 10 to 19 is the row of digits, 24 is where a US keyboard has
 * q. */
#define ALTGR "ISO_Level3_Shift+"

struct stroke {
  const char *key;
  int counts_as; /* the command key that it counts as; 0: none */
};

static const struct layout {
  const char *name;
  struct stroke strokes[20];
} layouts[] = {
    {"us",
     {{"10", '1'}, {"shift+18", '('}, {"24", 'q'}, {"ctrl+24", KEY_CONTROL + 'q'}, {"34", '['}, {"shift+41", 'F'}}},
    {"us -variant intl", {{"10", '1'}, {"61", '/'}, {"shift+61", '?'}, {"24", 'q'}}},
    {"fr",
     {{"10", '1'},
      {"11", '2'},
      {"14", '5'},
      {"15", '6'},
      {"18", '9'},
      {"19", '0'},
      {"shift+10", '1'},
      {"shift+14", '('},
      {"shift+15", '-'},
      {ALTGR "14", '['},
      {"20", ')'},
      {"38", 'q'},
      {"ctrl+38", KEY_CONTROL + 'q'},
      {"ctrl+12", KEY_CONTROL + '3'},
      {"82", '-'},
      {"shift+58", '?'}}},
    {"be", {{"10", '1'}, {"13", '4'}, {"shift+14", '('}, {"20", ')'}}},
    {"cz", {{"10", '1'}, {"11", '2'}, {"18", '9'}, {"shift+10", '+'}, {"shift+12", '3'}, {"24", 'q'}}},
    {"de", {{"10", '1'}, {"29", 'z'}, {"52", 'y'}, {"35", '+'}, {"61", '-'}, {ALTGR "17", '['}, {"34", 0}}},
    {"tr", {{"10", '1'}, {"31", 0}, {"48", 'i'}, {"24", 'q'}}},
    {"us -variant dvorak", {{"10", '1'}, {"53", 'q'}, {"ctrl+53", KEY_CONTROL + 'q'}, {"34", '/'}, {"24", '\''}}},
    {"ara -variant digits", {{"10", '1'}, {"18", '9'}, {"24", 'q'}, {"ctrl+24", KEY_CONTROL + 'q'}, {"61", '/'}}},
    {"jp -variant kana", {{"10", '1'}, {"24", 'q'}, {"ctrl+24", KEY_CONTROL + 'q'}, {"61", '/'}, {"shift+41", 'F'}}},
    {"in -variant hin-kagapa", {{"10", '1'}, {"24", 'q'}, {"ctrl+24", KEY_CONTROL + 'q'}}},
    {"jp", {{"10", '1'}, {"24", 'q'}, {"61", '/'}}},
    {"ru",
     {{"10", '1'},
      {"24", 'q'},
      {"ctrl+24", KEY_CONTROL + 'q'},
      {"ctrl+10", KEY_CONTROL + '1'},
      {"shift+41", 'F'},
      {"34", '['},
      {"shift+35", '}'},
      {"59", ','},
      {"60", '.'},
      {"61", '/'},
      {"shift+61", '?'},
      {"shift+18", '('},
      {"21", '='},
      {"82", '-'},
      {"65", ' '}}},
    {"gr", {{"24", 'q'}, {"25", 'w'}, {"ctrl+24", KEY_CONTROL + 'q'}, {"33", 'p'}, {"34", '['}, {"61", '/'}}},
    {"ua", {{"24", 'q'}, {"35", ']'}, {"39", 's'}, {"shift+56", 'B'}}},
    {"bg", {{"24", 'q'}, {"10", '1'}, {"61", '/'}}},
    {"bg -variant phonetic", {{"24", 'q'}, {"34", '['}, {"shift+41", 'F'}}},
    {"il", {{"24", 'q'}, {"25", 'w'}, {"59", ','}, {"61", '/'}, {"ctrl+24", KEY_CONTROL + 'q'}}},
    {"rs", {{"24", 'q'}, {"34", '['}, {"52", 'z'}}},
    {"ara", {{"24", 'q'}, {"56", 'b'}, {"10", '1'}}},
    {"ir", {{"24", 'q'}, {"10", '1'}, {"61", '/'}}},
    {"th", {{"24", 'q'}, {"10", '1'}, {"11", '2'}, {"34", '['}}},
    {"ge", {{"24", 'q'}, {"shift+41", 'F'}}},
    {"us,ru -option grp:menu_toggle", {{"24", 'q'}, {"135", 0}, {"24", 'q'}, {"60", '.'}}},
};

static struct window *window;

static int next_key(void) {
  struct window_event event;
  for (int waited = 0; waited < PATIENCE_MS; waited += LOOK_AGAIN_MS) {
    while (window_poll(window, &event))
      if (event.type == WINDOW_KEY)
        return event.key;
    pause_ms(LOOK_AGAIN_MS);
  }
  fail_msg("no key came");
  return 0;
}

/* Presses all keys. A key without a command makes no event, so Enter follows each. */
static void press_all(const struct layout *layout) {
  char keys[600] = "";
  for (const struct stroke *stroke = layout->strokes; stroke->key; stroke++)
    sprintf(keys + strlen(keys), "%s 36 ", stroke->key);
  shell("xdotool key --delay 4 %s", keys);
}

static void expect_stroke(const char *layout, const struct stroke *stroke) {
  int key = next_key();
  if (stroke->counts_as == 0 ? key != KEY_ENTER && key != KEY_NONE : key != stroke->counts_as)
    fail_msg("%s: %s counts as %d, not %d", layout, stroke->key, key, stroke->counts_as);
  while (key != KEY_ENTER)
    key = next_key();
}

static void each_layout(void **state) {
  (void)state;
  struct window_event event;
  for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
    shell("setxkbmap -option '' && setxkbmap %s", layouts[i].name);
    pause_ms(LOOK_AGAIN_MS);
    while (window_poll(window, &event))
      ;
    press_all(&layouts[i]);
    for (const struct stroke *stroke = layouts[i].strokes; stroke->key; stroke++)
      expect_stroke(layouts[i].name, stroke);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_layout)};
  const struct window_params params = {.title = "reverie", .width = 64, .height = 64};
  struct error err = {0};
  if (system("command -v setxkbmap >/dev/null"))
    return SCREEN_MISSING;
  int status = screen_begin();
  if (status)
    return status;
  if (window_create(&window, NULL, false, &err) || window_open(window, &params, &err)) {
    fprintf(stderr, "%s\n", err.message);
    return 1;
  }
  shell("xdotool windowfocus --sync $(xdotool search --sync --name '^reverie$')");
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  window_close(&window);
  screen_end();
  return failed;
}
