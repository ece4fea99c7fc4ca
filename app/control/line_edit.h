/* A line of text that is being typed, in UTF-8. The cursor moves by graphemes, which people see as one character. This
 * is the text alone: drawing and key events are the window's. */
#ifndef APP_CONTROL_LINE_EDIT_H
#define APP_CONTROL_LINE_EDIT_H

#include <stdbool.h>
#include <stddef.h>

enum { LINE_EDIT_MAX = 2048, LINE_COMPOSED_MAX = 256 };

/* A plain value. The cursor is a byte offset, always between two characters. */
struct line_edit {
  char text[LINE_EDIT_MAX];
  size_t length, cursor;
  bool selected;                    /* all of the text is selected: inserted text replaces it */
  char composed[LINE_COMPOSED_MAX]; /* text that an input method is composing at the cursor; not yet part of the text */
};

/* Sets the text, with the cursor at its end. Bytes that are not UTF-8 are left out; line ends and other control
 * characters become spaces. That holds for line_edit_insert and line_edit_compose, too. */
void line_edit_begin(struct line_edit *edit, const char *text);
/* Selects all of the text, until a key is pressed. */
void line_edit_select(struct line_edit *edit);
/* Inserts at the cursor as many whole characters as fit. Returns true if all did. */
bool line_edit_insert(struct line_edit *edit, const char *text);
/* Sets the text that an input method is composing. "": composing has ended. */
void line_edit_compose(struct line_edit *edit, const char *text);

/* Handles a key (enum key in control/keys.h): left, right, home, end, backspace, delete, Ctrl with A, E, K, U or W.
 * Returns true if it is one of these. */
bool line_edit_key(struct line_edit *edit, int key);

/* Returns the first byte to show in this many columns, so that the cursor is in sight. Columns are a terminal's: wide
 * characters take 2. */
size_t line_edit_scroll(const struct line_edit *edit, int columns);
/* Returns the number of columns that so many bytes of text take. */
int line_edit_columns(const char *text, size_t length);

#endif
