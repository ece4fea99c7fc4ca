/* The list of parameters that users change with keys and the mouse. It determines the rows, how much of a row's bar is
 * filled, and which value a position on the bar means. Only the main thread uses it; the window draws it. */
#ifndef APP_CONTROL_PARAMETER_LIST_H
#define APP_CONTROL_PARAMETER_LIST_H

#include "app/control/keys.h"

enum { LIST_ROWS_MAX = 256, LIST_TYPED_MAX = 32, LIST_FILTER_MAX = 32 };

/* One row: a parameter and its instance, from 1 (0: the parameter has no instances). */
struct list_row {
  enum parameter id;
  int index;
};

/* Initialise with zeros. */
struct parameter_list {
  struct list_row row[LIST_ROWS_MAX];
  int count;
  int chosen;   /* index of the chosen row */
  int first;    /* index of the first row that is visible */
  int seen;     /* number of rows that fit into the window */
  bool grabbed; /* the mouse button was pressed on a bar, and movements of the mouse change the value */
  /* the digits that the user has typed for the chosen row, with a decimal point even if a comma was typed; "": none */
  char typed[LIST_TYPED_MAX];
  char filter[LIST_FILTER_MAX]; /* only rows whose names contain this text are listed; "": all rows are */
};

/* Builds the rows: all parameters that can change while frames run. Of a parameter with instances these are the ones in
 * use and the next free one. seen: number of rows that fit into the window. The same parameter stays chosen, and stays
 * visible. */
void parameter_list_update(struct parameter_list *list, const struct parameters *values, int seen);
/* Returns the chosen row, or NULL if the list is empty. */
const struct list_row *parameter_list_chosen(const struct parameter_list *list);
void parameter_list_choose(struct parameter_list *list, int row);
/* Scrolls by this many rows (mouse wheel; negative: up). The same row stays chosen. */
void parameter_list_scroll(struct parameter_list *list, int rows);

/* Returns how much of the row's bar is filled, from 0 to 1; negative: the row has no bar. */
double parameter_list_share(const struct parameters *values, struct list_row row);
/* Returns the value for a position on the bar, from 0 (left end) to 1 (right end). The bar has the range of
 * parameter_span. Its scale is logarithmic if the high end is at least 32 times the low end, and linear otherwise. The
 * value is rounded to the parameter's decimals. */
double parameter_list_number(struct list_row row, double share);
/* Writes the value as it is shown to the right of the bar, and returns out. If a value of a control is not set, the
 * text shows the one that is used instead. */
const char *parameter_list_value(const struct parameters *values, struct list_row row, char *out, size_t size);

/* Result of a key or mouse press. LIST_NOT_MINE: the list did not use it; LIST_DONE: the list used it; LIST_EDIT: the
 * caller opens a line of text for the row's value; LIST_LEAVE: the caller closes the list. */
enum list_wish { LIST_NOT_MINE, LIST_DONE, LIST_EDIT, LIST_LEAVE };
/* Handles a key. While the user types a number, the list uses every key except Ctrl-Q. */
enum list_wish parameter_list_key(struct parameter_list *list, struct live_state *state, int key, int64_t now_ns);

/* Where the window draws the list, in pixels of the window. */
struct list_box {
  float left, top, right;    /* left and right edge of the rows, and top edge of the first one */
  float line;                /* height of a row */
  float bar_left, bar_right; /* horizontal ends of the bars */
};
/* parameter_list_press handles a press of the left mouse button: it selects the row, and sets its value if the press
 * was on the bar. Until parameter_list_release, parameter_list_drag sets the value as the mouse moves. */
enum list_wish parameter_list_press(struct parameter_list *list, struct live_state *state, const struct list_box *box,
                                    float x, float y, int64_t now_ns);
void parameter_list_drag(struct parameter_list *list, struct live_state *state, const struct list_box *box, float x,
                         int64_t now_ns);
void parameter_list_release(struct parameter_list *list);

#endif
