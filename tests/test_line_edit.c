/* Tests the text input line: what each key does, with characters of several bytes and several code points. */
#include "tests/rigs/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/control/history.h"
#include "app/control/keys.h"
#include "app/control/line_edit.h"
#include "tests/rigs/fixture.h"

#define FAMILY "\U0001F468\u200D\U0001F469\u200D\U0001F467" /* three emoji of people, joined to one character */
#define ACCENT "e\u0301"
#define FLAG "\U0001F1E9\U0001F1EA"

static struct line_edit edit;

/* Sets the line's text; '|' stands for the cursor. */
static void begin(const char *marked) {
  const char *bar = strchr(marked, '|');
  char plain[LINE_EDIT_MAX];
  snprintf(plain, sizeof plain, "%.*s%s", (int)(bar - marked), marked, bar + 1);
  line_edit_begin(&edit, plain);
  edit.cursor = (size_t)(bar - marked);
}

static void expect(const char *marked) {
  char now[LINE_EDIT_MAX + 1];
  assert_int_equal(edit.length, strlen(edit.text));
  snprintf(now, sizeof now, "%.*s|%s", (int)edit.cursor, edit.text, edit.text + edit.cursor);
  assert_string_equal(now, marked);
}

static void keys_edit(void **state) {
  (void)state;
  static const struct {
    const char *before;
    int key;
    const char *after;
  } cases[] = {
      {"ab|c", KEY_LEFT, "a|bc"},
      {"|abc", KEY_LEFT, "|abc"},
      {"ab|c", KEY_RIGHT, "abc|"},
      {"abc|", KEY_RIGHT, "abc|"},
      {"a" FAMILY "|b", KEY_LEFT, "a|" FAMILY "b"},
      {"a|" FAMILY "b", KEY_RIGHT, "a" FAMILY "|b"},
      {"a" FLAG FLAG "|", KEY_LEFT, "a" FLAG "|" FLAG},
      {"a" FLAG FLAG "|", KEY_BACKSPACE, "a" FLAG "|"},
      {"caf" ACCENT "|", KEY_BACKSPACE, "caf|"},
      {"caf|" ACCENT "s", KEY_DELETE, "caf|s"},
      {"|", KEY_BACKSPACE, "|"},
      {"|", KEY_DELETE, "|"},
      {"ab|c", KEY_HOME, "|abc"},
      {"ab|c", KEY_CONTROL + 'a', "|abc"},
      {"ab|c", KEY_END, "abc|"},
      {"ab|c", KEY_CONTROL + 'e', "abc|"},
      {"ab|c", KEY_CONTROL + 'u', "|c"},
      {"ab|c", KEY_CONTROL + 'k', "ab|"},
      {"an oil  |painting", KEY_CONTROL + 'w', "an |painting"},
      {"\u6cb9\u7d75|", KEY_CONTROL + 'w', "|"},
      {"one|", KEY_CONTROL + 'w', "|"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    begin(cases[i].before);
    assert_true(line_edit_key(&edit, cases[i].key));
    expect(cases[i].after);
  }
  assert_false(line_edit_key(&edit, KEY_UP));
  assert_false(line_edit_key(&edit, KEY_CONTROL + 'q'));
  assert_false(line_edit_key(&edit, 'a'));
}

static void insertion(void **state) {
  (void)state;
  begin("ol|d");
  assert_true(line_edit_insert(&edit, "\u00e9\u6cb9"));
  expect("ol\u00e9\u6cb9|d");
  line_edit_begin(&edit, "");
  assert_true(line_edit_insert(&edit, "two\r\nlines\tand\u2028\x1b[31m\xc2\x85"));
  expect("two  lines and  [31m |");
  line_edit_begin(&edit, "a");
  assert_true(line_edit_insert(&edit, "\xff\xc3(\xe6\xb2"));
  expect("a(|");
}

/* A full line takes whole characters only, and never more bytes than fit. */
static void a_full_line(void **state) {
  (void)state;
  char many[LINE_EDIT_MAX * 2];
  memset(many, 0, sizeof many);
  for (size_t i = 0; i + 3 < sizeof many; i += 3)
    memcpy(many + i, "\u6cb9", 3);
  line_edit_begin(&edit, "");
  assert_false(line_edit_insert(&edit, many));
  assert_int_equal(edit.length, (LINE_EDIT_MAX - 1) / 3 * 3);
  assert_true(line_edit_insert(&edit, "a"));
  assert_false(line_edit_insert(&edit, "\u6cb9"));
  assert_int_equal(strlen(edit.text), edit.length);
  line_edit_compose(&edit, many);
  assert_int_equal(strlen(edit.composed), (LINE_COMPOSED_MAX - 1) / 3 * 3);
}

/* Random keys never leave an incomplete character. */
static void at_random(void **state) {
  (void)state;
  static const int keys[] = {KEY_LEFT,   KEY_RIGHT,         KEY_HOME,          KEY_END,           KEY_BACKSPACE,
                             KEY_DELETE, KEY_CONTROL + 'u', KEY_CONTROL + 'k', KEY_CONTROL + 'w', KEY_LEFT};
  static const char *const words[] = {"a", " ", FAMILY, ACCENT, FLAG, "\u6cb9", "\u0301", "\u200d", "lorem ipsum"};
  unsigned long long seed = 5;
  line_edit_begin(&edit, "");
  for (int i = 0; i < 20000; i++) {
    unsigned long long random = fixture_random(&seed) >> 16;
    if (random & 1)
      line_edit_insert(&edit, words[random / 2 % (sizeof words / sizeof *words)]);
    else
      line_edit_key(&edit, keys[random / 2 % (sizeof keys / sizeof *keys)]);
    struct line_edit copy;
    assert_true(edit.cursor <= edit.length && edit.length < LINE_EDIT_MAX && strlen(edit.text) == edit.length);
    assert_false(((unsigned char)edit.text[edit.cursor] & 0xc0) == 0x80);
    line_edit_begin(&copy, edit.text);
    assert_string_equal(copy.text, edit.text);
  }
}

static void scrolling(void **state) {
  (void)state;
  begin("abcdefgh|");
  assert_int_equal(line_edit_scroll(&edit, 20), 0);
  assert_int_equal(line_edit_scroll(&edit, 9), 0);
  assert_int_equal(line_edit_scroll(&edit, 8), 1);
  begin("abc|defgh");
  assert_int_equal(line_edit_scroll(&edit, 4), 0);
  assert_int_equal(line_edit_scroll(&edit, 3), 1);
  begin("\u6cb9\u7d75\u6cb9|");
  assert_int_equal(line_edit_scroll(&edit, 5), 3);
  assert_int_equal(line_edit_columns(edit.text, edit.length), 6);
  line_edit_compose(&edit, "ab");
  assert_int_equal(line_edit_scroll(&edit, 5), 6);
}

static void expect_history(struct history *history, const char *const *lines, int count) {
  assert_int_equal(history->count, count);
  for (int i = 0; i < count; i++)
    assert_string_equal(history->line[i], lines[i]);
}

static void history_steps(void **state) {
  (void)state;
  struct history history = {.count = 0};
  history_add(&history, "one");
  history_add(&history, "two");
  history_add(&history, "");
  history_add(&history, "one");
  expect_history(&history, (const char *const[]){"two", "one"}, 2);
  line_edit_begin(&edit, "half typed");
  history_step(&history, &edit, 1);
  expect("half typed|");
  history_step(&history, &edit, -1);
  expect("one|");
  history_step(&history, &edit, -1);
  history_step(&history, &edit, -1);
  expect("two|");
  history_step(&history, &edit, 1);
  history_step(&history, &edit, 1);
  expect("half typed|");
  history_close(&history);
}

static void history_in_a_file(void **state) {
  (void)state;
  char *folder = fixture_make(), *path = fixture_path(folder, "history");
  struct history history, other;
  history_open(&history, path);
  history_open(&other, path);
  for (int i = 0; i < HISTORY_MAX + 20; i++) {
    char line[32];
    snprintf(line, sizeof line, "prompt %d", i);
    history_add(&history, line);
  }
  history_add(&other, "another program's");
  history_close(&other);
  history_close(&history);
  history_open(&history, path);
  assert_int_equal(history.count, HISTORY_MAX);
  assert_string_equal(history.line[0], "prompt 21");
  assert_string_equal(history.line[HISTORY_MAX - 1], "another program's");
  history_close(&history);
  free(path);
  fixture_remove(folder);
}

/* Only complete lines of valid text are read from a history file; a line that was cut off is ignored. */
static void history_of_a_bad_file(void **state) {
  (void)state;
  char *folder = fixture_make(), *path = fixture_path(folder, "history");
  char bad[3 * LINE_EDIT_MAX];
  memset(bad, 'x', sizeof bad);
  memcpy(bad, "good\n\xff\xfe\nbell\a\n\n", 15);
  memcpy(bad + sizeof bad - 10, "\nfine\ncut", 9);
  bad[sizeof bad - 1] = 't';
  fixture_write(folder, "history", bad, sizeof bad);
  struct history history;
  history_open(&history, path);
  expect_history(&history, (const char *const[]){"good", "fine"}, 2);
  history_close(&history);
  history_open(&history, folder);
  assert_int_equal(history.count, 0);
  history_add(&history, "kept in memory alone");
  assert_int_equal(history.count, 1);
  history_close(&history);
  free(path);
  fixture_remove(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(keys_edit),         cmocka_unit_test(insertion),
      cmocka_unit_test(a_full_line),       cmocka_unit_test(at_random),
      cmocka_unit_test(scrolling),         cmocka_unit_test(history_steps),
      cmocka_unit_test(history_in_a_file), cmocka_unit_test(history_of_a_bad_file),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
