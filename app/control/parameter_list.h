/* The list of parameters in the window, which users change with keys and the mouse. These functions determine the
 * list's rows, how much of a row's bar is filled, and which value a position on the bar means. Only the main thread
 * uses the list; the window draws it. */
#ifndef APP_CONTROL_PARAMETER_LIST_H
#define APP_CONTROL_PARAMETER_LIST_H

#include "app/control/keys.h"
#include "app/control/refusals.h"

enum { LIST_ROWS_MAX = 256, LIST_TYPED_MAX = 32, LIST_FILTER_MAX = 32 };

/* A row of the list: a parameter and its instance, counted from 1 (0: the parameter has no instances). `id`
 * PARAMETER_NONE: the heading of a group; `index` is then the group (enum parameter_group). Headings cannot be
 * chosen. */
struct list_row {
  enum parameter id;
  int index;
};

/* The rows of the list, and what the user is doing with them. Initialise with zeros. */
struct parameter_list {
  struct list_row row[LIST_ROWS_MAX];
  int count;
  int chosen;   /* index of the chosen row */
  int first;    /* index of the first row that is visible */
  int seen;     /* number of rows that fit into the window */
  bool grabbed; /* true: the mouse button was pressed on a bar, and movements of the mouse change the value */
  /* the digits that the user has typed for the chosen row, with a decimal point even if a comma was typed; "": none */
  char typed[LIST_TYPED_MAX];
  /* only rows whose names or labels contain this text are listed, without headings; "": all rows are listed */
  char filter[LIST_FILTER_MAX];
};

/* Builds the list's rows: all parameters that can change while frames run, by group, in the order of parameter_order.h.
 * A parameter with instances has a row for each instance in use and for the next free one. The chosen parameter stays
 * chosen if its row still exists. seen: number of rows that fit into the window; if it has changed, the list scrolls to
 * the chosen row. */
void parameter_list_update(struct parameter_list *list, const struct parameters *values, int seen);
/* Returns the chosen row, or NULL if the list is empty. */
const struct list_row *parameter_list_chosen(const struct parameter_list *list);
/* Stores the list rows of the most important parameters (by their rank in the table of parameters), at most `most`,
 * the most important first. Parameters without a bar and those that the model refuses are left out. refusals NULL:
 * nothing is refused. Returns the number of rows. */
int parameter_list_leading(const struct parameters *values, const struct refusals *refusals, struct list_row *row,
                           int most);
void parameter_list_choose(struct parameter_list *list, int row);
/* Scrolls by this many rows (mouse wheel; negative: up). The chosen row remains the same. */
void parameter_list_scroll(struct parameter_list *list, int rows);

/* Returns how much of the row's bar is filled, from 0 to 1; negative: the row has no bar. */
double parameter_list_share(const struct parameters *values, struct list_row row);
/* Returns where on the row's bar this number is, from 0 to 1; negative: the row has no bar. */
double parameter_list_place(struct list_row row, double number);
/* Returns the value for a position on the bar, from 0 (left end) to 1 (right end). The bar has the range of
 * parameter_span or, for a size, of 64 to 4096 pixels. Its scale is logarithmic if the high end is at least 32 times
 * the low end, and linear otherwise. The value is rounded to the parameter's decimals, a size to a multiple of 64. */
double parameter_list_number(struct list_row row, double share);
/* Writes to `out` the row's value as it is shown to the right of the bar, and returns `out`. If the value belongs to a
 * control (map that steers the frame) and is not set, the text shows the value that is used instead. */
const char *parameter_list_value(const struct parameters *values, struct list_row row, char *out, size_t size);

/* Changes the row's value by `by` steps, as the left and right keys do. */
void parameter_list_step(struct live_state *state, struct list_row row, int by, int64_t now_ns);

/* The caller's task after a key or a mouse press. LIST_NOT_MINE: use the input otherwise, because the list did not;
 * LIST_DONE: nothing; LIST_EDIT: open a line of text for the row's value; LIST_LEAVE: close the list. */
enum list_wish { LIST_NOT_MINE, LIST_DONE, LIST_EDIT, LIST_LEAVE };
/* Handles a key while the list is open. While the user types a number, the list uses every key except Ctrl-Q. */
enum list_wish parameter_list_key(struct parameter_list *list, struct live_state *state, int key, int64_t now_ns);

/* Where the window draws the list, in pixels of the window; needed to find what the mouse points at. */
struct list_box {
  float left, top, right;    /* left and right edge of the rows, and top edge of the first row */
  float line;                /* height of each row */
  float bar_left, bar_right; /* left and right end of the rows' bars */
};
/* parameter_list_press handles a press of the left mouse button, and selects the row. On the row's bar it sets the
 * value, or turns a switch on or off. On the value of a row without a bar it returns LIST_EDIT. Until
 * parameter_list_release, parameter_list_drag makes the value follow the mouse. */
enum list_wish parameter_list_press(struct parameter_list *list, struct live_state *state, const struct list_box *box,
                                    float x, float y, int64_t now_ns);
void parameter_list_drag(struct parameter_list *list, struct live_state *state, const struct list_box *box, float x,
                         int64_t now_ns);
void parameter_list_release(struct parameter_list *list);

#endif
