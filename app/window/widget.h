/* The five widgets of the operator's window: button, bar, list, meter and graph. A widget has a sheet of its own, which
 * is drawn again only when what the widget shows has changed. Only the main thread calls these functions;
 * widget_update, widget_show and widget_close need a current OpenGL context. */
#ifndef APP_WINDOW_WIDGET_H
#define APP_WINDOW_WIDGET_H

#include "app/window/hud_place.h"
#include "app/window/sheet.h"

enum widget_kind { WIDGET_BUTTON, WIDGET_BAR, WIDGET_LIST, WIDGET_METER, WIDGET_GRAPH };

enum { WIDGET_LABEL_MAX = 64, WIDGET_VALUE_MAX = 96, WIDGET_ROWS_MAX = 64, WIDGET_COLUMNS_MAX = 512, METER_LEVELS = 4 };

/* How a button looks. BUTTON_OFF, BUTTON_ON: its function is off or on; BUTTON_WARNS: it is on, so the audience does
 * not see the unchanged picture; BUTTON_RECORDS: it is on, and a recording is made; BUTTON_RESCUES: the panic button;
 * BUTTON_NEXT: its saved preset is cued, that is, chosen to be applied next. */
enum button_look { BUTTON_OFF, BUTTON_ON, BUTTON_WARNS, BUTTON_RECORDS, BUTTON_RESCUES, BUTTON_NEXT };
struct button_state {
  enum button_look look;
  /* true: the button shows if a state, such as blackout, is on: its label is large, and its key is in a corner; false:
   * the key stands before the label */
  bool state;
  float share;  /* how much of the button is filled, from 0 to 1 */
  char key[12]; /* the key on the keyboard, or its digit, that does the same as the button; "": none */
  char label[WIDGET_LABEL_MAX];
};

struct bar_state {
  /* The bar is filled from position `zero` to position `share`; 0 is its left end, 1 its right end. `share` negative:
   * the value is not known, and nothing is filled. */
  float share, zero;
  /* how far the bar is filled with the value that sound or LFOs have changed; negative: they do not change it */
  float moved;
  char label[WIDGET_LABEL_MAX], value[WIDGET_VALUE_MAX];
};

/* A list has a heading and rows. ROW_HEADING: the name of a group of rows; ROW_TYPED: the chosen row while the user
 * types its value; ROW_GREY: the model refuses the row's parameter, and the text in place of the value is the
 * reason. */
enum row_look { ROW_PLAIN, ROW_HEADING, ROW_CHOSEN, ROW_TYPED, ROW_GREY };
struct row_state {
  enum row_look look;
  /* the bar of the row is filled from `zero` to `share`, both from 0 (left end) to 1; `share` negative: the row has no
   * bar */
  float share, zero;
  char label[WIDGET_LABEL_MAX], value[WIDGET_VALUE_MAX];
};
struct list_state {
  int label_wide, bar_wide; /* widths in pixels of the columns of labels and bars */
  int line;                 /* height of a row in pixels */
  bool small;               /* true: rows are written in small letters */
  float from, to;           /* the visible part of the list's rows, from 0 (first row) to 1 (end of the last row);
                             * `from` 0 and `to` 1: all rows are visible */
  int count;
  char head[WIDGET_VALUE_MAX]; /* the heading; "": there is none */
  struct row_state row[WIDGET_ROWS_MAX];
};

struct meter_state {
  float level[METER_LEVELS]; /* levels that the meter shows, each from 0 to 1 */
  bool onset;
  char label[METER_LEVELS][12];
};

/* A graph over time, made of columns. Each column has a height, and a mark at a height of its own; both in pixels. */
struct graph_state {
  int columns, wide; /* number of columns, and the width of each in pixels */
  int limit;         /* height in pixels, from the graph's bottom, of a horizontal line across the graph; 0: there is no
                      * line */
  char head[WIDGET_VALUE_MAX];
  /* high: height in pixels of each column of the graph; mark: height in pixels of the column's mark, negative if the
   * column has none */
  short high[WIDGET_COLUMNS_MAX], mark[WIDGET_COLUMNS_MAX];
  bool missed[WIDGET_COLUMNS_MAX];
};

/* A widget of the operator's window. Zero-initialise to start. */
struct widget {
  enum widget_kind kind;
  struct hud_area area;
  struct sheet sheet;
  union widget_state {
    struct button_state button;
    struct bar_state bar;
    struct list_state list;
    struct meter_state meter;
    struct graph_state graph;
  } state;
};

/* Returns the size in bytes of the state of a widget of this kind. */
size_t widget_bytes(enum widget_kind kind);
/* Takes a new state, whose bytes that are not used are zeros, and a new area. Draws the sheet if anything has changed
 * or `anyway` is true, and returns true then. Of lists, meters, bars and graphs only the part that
 * differs is copied to the texture. An area of width 0 hides the widget. */
bool widget_update(struct widget *widget, const struct typeface *face, enum widget_kind kind,
                   const struct hud_area *area, const union widget_state *state, bool anyway);
/* Shows the widget in the current window. Called between sheets_begin and sheets_end. */
void widget_show(const struct widget *widget, const struct typeface *face);
void widget_close(struct widget *widget);

/* Returns how high the bars of a graph can be in an area of this height, in pixels. */
int graph_height(const struct typeface *face, int height);

#endif
