/* A line of text that is being typed: UTF-8, moved through by what people see as one character. Knows no window. */
#ifndef APP_CONTROL_LINE_EDIT_H
#define APP_CONTROL_LINE_EDIT_H

#include <stdbool.h>
#include <stddef.h>

enum { LINE_EDIT_MAX = 2048, LINE_COMPOSED_MAX = 256 };

/* A plain value. The cursor is a byte's place, always between two characters. */
struct line_edit {
  char text[LINE_EDIT_MAX];
  size_t length, cursor;
  bool selected;                    /* all of it: what is inserted takes its place */
  char composed[LINE_COMPOSED_MAX]; /* by an input method, at the cursor; not yet part of the text */
};

/* Of what is no UTF-8 nothing is taken; line ends and other control characters become spaces. */
void line_edit_begin(struct line_edit *edit, const char *text); /* the cursor is behind it */
/* All of the text, until a key is pressed. */
void line_edit_select(struct line_edit *edit);
/* At the cursor, as many whole characters as fit. Returns whether all did. */
bool line_edit_insert(struct line_edit *edit, const char *text);
void line_edit_compose(struct line_edit *edit, const char *text); /* "": it is over */

/* A key (enum key in control/keys.h): left, right, home, end, backspace, delete, Ctrl-A, E, K, U, W. Returns whether it
 * edits lines. */
bool line_edit_key(struct line_edit *edit, int key);

/* What is seen where no more than so many columns are there: from which byte on, with the cursor within. columns are
 * those of a terminal: 2 for wide characters. */
size_t line_edit_scroll(const struct line_edit *edit, int columns);
/* Columns of so many bytes. */
int line_edit_columns(const char *text, size_t length);

#endif
