/* A line of UTF-8 text that the user edits. The cursor moves by grapheme clusters, which people see as one character.
 * This file handles only the text; the window draws it and translates keyboard events to enum key. */
#ifndef APP_CONTROL_LINE_EDIT_H
#define APP_CONTROL_LINE_EDIT_H

#include <stdbool.h>
#include <stddef.h>

enum { LINE_EDIT_MAX = 2048, LINE_COMPOSED_MAX = 256 };

/* A plain value. The cursor is a byte offset into text, always at the boundary of a character; length is in bytes. */
struct line_edit {
  char text[LINE_EDIT_MAX];
  size_t length, cursor;
  bool selected;                    /* the whole text is selected, and inserted text replaces it */
  char composed[LINE_COMPOSED_MAX]; /* text that an input method is composing at the cursor; not yet part of the text */
};

/* Sets the text, and puts the cursor at its end. Like line_edit_insert and line_edit_compose, it leaves out bytes that
 * are not UTF-8, and turns line ends and other control characters into spaces. */
void line_edit_begin(struct line_edit *edit, const char *text);
/* Selects the whole text. The next key ends the selection. */
void line_edit_select(struct line_edit *edit);
/* Inserts at the cursor as many whole characters as there is room for. Returns true if all of them fitted. */
bool line_edit_insert(struct line_edit *edit, const char *text);
/* Sets the text that an input method is composing. "": composing has ended. */
void line_edit_compose(struct line_edit *edit, const char *text);

/* Handles a key (enum key in control/keys.h): left, right, home, end, backspace, delete, Ctrl with A, E, K, U or W.
 * Returns true if it is one of these. */
bool line_edit_key(struct line_edit *edit, int key);

/* Returns the byte offset of the first character to draw, so that the cursor is visible in a field of this many
 * columns. Columns are counted as a terminal does: wide characters take 2. */
size_t line_edit_scroll(const struct line_edit *edit, int columns);
/* Returns how many columns the first `length` bytes of text take. */
int line_edit_columns(const char *text, size_t length);

#endif
