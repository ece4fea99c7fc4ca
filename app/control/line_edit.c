#include "app/control/line_edit.h"

#include <string.h>
#include <utf8proc.h>

#include "app/control/keys.h"

/* Decodes the UTF-8 character at the beginning of `text`. Returns its number of bytes, or 0 if `length` is 0 or the
 * `text` is not UTF-8. */
static size_t read_character(const char *text, size_t length, utf8proc_int32_t *character) {
  utf8proc_ssize_t bytes =
      length ? utf8proc_iterate((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)length, character) : 0;
  return bytes > 0 ? (size_t)bytes : 0;
}

/* Returns the byte offset after the grapheme cluster (what people see as one character) that begins at offset `at`. */
static size_t grapheme_end(const char *text, size_t length, size_t at) {
  utf8proc_int32_t before = 0, character = 0, state = 0;
  size_t end = at + read_character(text + at, length - at, &before);
  for (size_t bytes; (bytes = read_character(text + end, length - end, &character)); end += bytes) {
    if (utf8proc_grapheme_break_stateful(before, character, &state))
      break;
    before = character;
  }
  return end;
}

static size_t step_right(const struct line_edit *edit) {
  return grapheme_end(edit->text, edit->length, edit->cursor);
}

static size_t step_left(const struct line_edit *edit) {
  size_t at = 0, before = 0;
  while (at < edit->cursor) {
    before = at;
    at = grapheme_end(edit->text, edit->length, at);
  }
  return before;
}

/* Returns the byte offset at which the word before the cursor begins. The search goes back over spaces, and then over
 * other characters up to a space. */
static size_t word_left(const struct line_edit *edit) {
  size_t at = edit->cursor;
  while (at && edit->text[at - 1] == ' ')
    at--;
  while (at && edit->text[at - 1] != ' ')
    at--;
  return at;
}

static void remove_between(struct line_edit *edit, size_t from, size_t to) {
  memmove(edit->text + from, edit->text + to, edit->length - to + 1);
  edit->length -= to - from;
  edit->cursor = from;
}

void line_edit_begin(struct line_edit *edit, const char *text) {
  *edit = (struct line_edit){.length = 0};
  line_edit_insert(edit, text);
}

/* Copies the character at the beginning of `text` to `out`; a control character or line end becomes a space. Returns
 * the number of bytes that the character has in `text`. */
static size_t clean_character(const char *text, char out[4]) {
  utf8proc_int32_t character;
  size_t bytes = read_character(text, strnlen(text, 4), &character);
  memcpy(out, text, bytes);
  utf8proc_category_t category = bytes ? utf8proc_category(character) : UTF8PROC_CATEGORY_CN;
  if (category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_ZL || category == UTF8PROC_CATEGORY_ZP) {
    out[0] = ' ';
    return bytes ? 1 : 0;
  }
  return bytes;
}

static size_t character_bytes(const char *text) {
  utf8proc_int32_t character;
  size_t bytes = read_character(text, strnlen(text, 4), &character);
  return bytes ? bytes : 1;
}

void line_edit_select(struct line_edit *edit) {
  edit->selected = edit->length > 0;
}

static void remove_selected(struct line_edit *edit) {
  if (edit->selected)
    remove_between(edit, 0, edit->length);
  edit->selected = false;
}

bool line_edit_insert(struct line_edit *edit, const char *text) {
  if (*text)
    remove_selected(edit);
  for (; *text; text += character_bytes(text)) {
    char clean[4];
    size_t bytes = clean_character(text, clean);
    if (edit->length + bytes >= LINE_EDIT_MAX)
      return false;
    memmove(edit->text + edit->cursor + bytes, edit->text + edit->cursor, edit->length - edit->cursor + 1);
    memcpy(edit->text + edit->cursor, clean, bytes);
    edit->length += bytes;
    edit->cursor += bytes;
  }
  return true;
}

void line_edit_compose(struct line_edit *edit, const char *text) {
  size_t used = 0;
  for (; *text; text += character_bytes(text)) {
    char clean[4];
    size_t bytes = clean_character(text, clean);
    if (used + bytes >= sizeof edit->composed)
      break;
    memcpy(edit->composed + used, clean, bytes);
    used += bytes;
  }
  edit->composed[used] = 0;
}

bool line_edit_key(struct line_edit *edit, int key) {
  if (edit->selected && (key == KEY_BACKSPACE || key == KEY_DELETE)) {
    remove_selected(edit);
    return true;
  }
  edit->selected = false;
  switch (key) {
  case KEY_LEFT:
    edit->cursor = step_left(edit);
    return true;
  case KEY_RIGHT:
    edit->cursor = step_right(edit);
    return true;
  case KEY_HOME:
  case KEY_CONTROL + 'a':
    edit->cursor = 0;
    return true;
  case KEY_END:
  case KEY_CONTROL + 'e':
    edit->cursor = edit->length;
    return true;
  case KEY_BACKSPACE:
    remove_between(edit, step_left(edit), edit->cursor);
    return true;
  case KEY_DELETE:
    remove_between(edit, edit->cursor, step_right(edit));
    return true;
  case KEY_CONTROL + 'u':
    remove_between(edit, 0, edit->cursor);
    return true;
  case KEY_CONTROL + 'k':
    remove_between(edit, edit->cursor, edit->length);
    return true;
  case KEY_CONTROL + 'w':
    remove_between(edit, word_left(edit), edit->cursor);
    return true;
  default:
    return false;
  }
}

int line_edit_columns(const char *text, size_t length) {
  utf8proc_int32_t character;
  int columns = 0;
  for (size_t at = 0, bytes; (bytes = read_character(text + at, length - at, &character)); at += bytes)
    columns += utf8proc_charwidth(character);
  return columns;
}

size_t line_edit_scroll(const struct line_edit *edit, int columns) {
  size_t from = 0;
  /* one column is kept free for the cursor */
  int room = columns - 1 - line_edit_columns(edit->composed, strlen(edit->composed));
  while (from < edit->cursor && line_edit_columns(edit->text + from, edit->cursor - from) > room)
    from = grapheme_end(edit->text, edit->length, from);
  return from;
}
