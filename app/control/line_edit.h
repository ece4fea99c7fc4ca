/* A line of UTF-8 text that the user edits. The cursor moves by grapheme clusters, which people see as one character.
 * This file handles only the text; the window draws it and translates keyboard events to enum key. */
#ifndef APP_CONTROL_LINE_EDIT_H
#define APP_CONTROL_LINE_EDIT_H

#include <stdbool.h>
#include <stddef.h>

enum { LINE_EDIT_MAX = 2048, LINE_COMPOSED_MAX = 256 };

/* The text and the cursor. A plain value. `cursor` is a byte offset into text, always at the boundary of a character;
 * `length` is in bytes. */
struct line_edit {
  char text[LINE_EDIT_MAX];
  size_t length, cursor;
  bool selected; /* true: the whole text is selected, and inserted text replaces it */
  /* text that an input method is composing at the cursor; it is not part of `text` yet */
  char composed[LINE_COMPOSED_MAX];
};

/* Sets the text, and puts the cursor at its end. Like line_edit_insert and line_edit_compose, this function leaves out
 * bytes that are not UTF-8, and turns line ends and other control characters into spaces. */
void line_edit_begin(struct line_edit *edit, const char *text);
/* Selects the whole text. The next key ends the selection. */
void line_edit_select(struct line_edit *edit);
/* Inserts at the cursor as many whole characters as there is room for. Returns true if all of them fitted. */
bool line_edit_insert(struct line_edit *edit, const char *text);
/* Sets the text that an input method is composing. "": the user has finished composing. */
void line_edit_compose(struct line_edit *edit, const char *text);

/* Handles a key (enum key in control/keys.h). Returns true if the key edits the line: left, right, home, end,
 * backspace, delete, or Ctrl with A, E, K, U or W. */
bool line_edit_key(struct line_edit *edit, int key);

/* Returns the byte offset of the first character to draw in a field of this many columns, so that the cursor is
 * visible. Columns are counted as in a terminal: wide characters take 2. */
size_t line_edit_scroll(const struct line_edit *edit, int columns);
/* Returns how many columns the first `length` bytes of text take. */
int line_edit_columns(const char *text, size_t length);

#endif
