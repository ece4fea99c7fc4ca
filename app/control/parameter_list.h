/* The list of parameters that keys and the mouse go through: which rows it has, what a bar shows, what a place on a bar
 * means. Knows no window; the main thread's, as struct live_state is. */
#ifndef APP_CONTROL_PARAMETER_LIST_H
#define APP_CONTROL_PARAMETER_LIST_H

#include "app/control/keys.h"

enum { LIST_ROWS_MAX = 256, LIST_TYPED_MAX = 32, LIST_FILTER_MAX = 32 };

struct list_row {
  enum parameter id;
  int index;
};

/* Zero-initialise to start. */
struct parameter_list {
  struct list_row row[LIST_ROWS_MAX];
  int count;
  int chosen; /* of row */
  int first;  /* that is seen */
  int seen;   /* so many are from there on */
  bool grabbed;
  char typed[LIST_TYPED_MAX];   /* a number on its way, with a point, whichever key typed it */
  char filter[LIST_FILTER_MAX]; /* names have this in them; "": all */
};

/* Takes the rows that these values have: what can be set while frames run, of those that there are several of those in
 * use and the next one to give. Of them `seen` are shown at once. What is chosen stays so, and is seen. */
void parameter_list_update(struct parameter_list *list, const struct parameters *values, int seen);
/* NULL: there is none. */
const struct list_row *parameter_list_chosen(const struct parameter_list *list);
void parameter_list_choose(struct parameter_list *list, int row);
/* By the wheel: the rows move under what is chosen. */
void parameter_list_scroll(struct parameter_list *list, int rows);

/* The part of the bar that is filled, 0 to 1; negative: this row has no bar. */
double parameter_list_share(const struct parameters *values, struct list_row row);
/* The number at a place on the bar: within what the parameter spans, linear, or logarithmic where that is 32 times its
 * low end and more, and rounded to the parameter's decimals. */
double parameter_list_number(struct list_row row, double share);
/* As it is written behind the bar: a control's value as it acts. */
const char *parameter_list_value(const struct parameters *values, struct list_row row, char *out, size_t size);

/* What a key asks for besides what the list does itself. */
enum list_wish { LIST_NOT_MINE, LIST_DONE, LIST_EDIT /* the row's value is to be typed */, LIST_LEAVE };
/* While a number is typed no key but Ctrl-Q is not the list's. */
enum list_wish parameter_list_key(struct parameter_list *list, struct live_state *state, int key, int64_t now_ns);

/* Where rows and bars are drawn, in pixels. */
struct list_box {
  float left, top, right; /* of the first row */
  float line;             /* from row to row */
  float bar_left, bar_right;
};
/* The left button went down, or moved while it was: chooses the row, and sets it by its bar. */
enum list_wish parameter_list_press(struct parameter_list *list, struct live_state *state, const struct list_box *box,
                                    float x, float y, int64_t now_ns);
void parameter_list_drag(struct parameter_list *list, struct live_state *state, const struct list_box *box, float x,
                         int64_t now_ns);
void parameter_list_release(struct parameter_list *list);

#endif
