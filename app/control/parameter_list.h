/* The list of parameters that keys and the mouse go through: which rows it has, how much of a row's bar is filled, and
 * which value a place on a bar stands for. Only the main thread uses it. Drawing is the window's. */
#ifndef APP_CONTROL_PARAMETER_LIST_H
#define APP_CONTROL_PARAMETER_LIST_H

#include "app/control/keys.h"

enum { LIST_ROWS_MAX = 256, LIST_TYPED_MAX = 32, LIST_FILTER_MAX = 32 };

struct list_row {
  enum parameter id;
  int index;
};

/* Initialise with zeros. */
struct parameter_list {
  struct list_row row[LIST_ROWS_MAX];
  int count;
  int chosen; /* index of the chosen row */
  int first;  /* index of the first row in sight */
  int seen;   /* number of rows that are in sight at once */
  bool grabbed;
  char typed[LIST_TYPED_MAX];   /* the number that is being typed, with a decimal point even if a comma was typed */
  char filter[LIST_FILTER_MAX]; /* only rows with this in their names are listed; "": all are */
};

/* Makes the rows that fit the values: all that can be set while frames run. Of parameters with several instances the
 * list has those in use and the next free one. seen: number of rows in sight at once. The chosen row stays chosen, and
 * in sight. */
void parameter_list_update(struct parameter_list *list, const struct parameters *values, int seen);
/* Returns the chosen row, or NULL if the list is empty. */
const struct list_row *parameter_list_chosen(const struct parameter_list *list);
void parameter_list_choose(struct parameter_list *list, int row);
/* Scrolls by the wheel. The chosen row stays chosen. */
void parameter_list_scroll(struct parameter_list *list, int rows);

/* Returns the part of the row's bar that is filled, 0 to 1, or a negative number if the row has no bar. */
double parameter_list_share(const struct parameters *values, struct list_row row);
/* Returns the value at a place on the bar, 0 to 1, over the parameter's span. The scale is logarithmic if the span's
 * high end is at least 32 times its low end, else linear. The value is rounded to the parameter's decimals. */
double parameter_list_number(struct list_row row, double share);
/* Returns the value as it is written behind the bar. For a control it is the value in effect. */
const char *parameter_list_value(const struct parameters *values, struct list_row row, char *out, size_t size);

/* The list's answer to a key or a press. LIST_EDIT: the caller opens a line in which the row's value is typed. */
enum list_wish { LIST_NOT_MINE, LIST_DONE, LIST_EDIT, LIST_LEAVE };
/* Handles a key. While a number is being typed, every key but Ctrl-Q belongs to the list. */
enum list_wish parameter_list_key(struct parameter_list *list, struct live_state *state, int key, int64_t now_ns);

/* Where rows and bars are drawn, in pixels. */
struct list_box {
  float left, top, right; /* edges of the first row */
  float line;             /* height of a row */
  float bar_left, bar_right;
};
/* parameter_list_press handles a press of the left button: it chooses the row and sets its value by its bar.
 * parameter_list_drag handles movement until parameter_list_release. */
enum list_wish parameter_list_press(struct parameter_list *list, struct live_state *state, const struct list_box *box,
                                    float x, float y, int64_t now_ns);
void parameter_list_drag(struct parameter_list *list, struct live_state *state, const struct list_box *box, float x,
                         int64_t now_ns);
void parameter_list_release(struct parameter_list *list);

#endif
