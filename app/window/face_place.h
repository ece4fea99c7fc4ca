/* Computes the positions of all that the operator's window shows, in pixels of the drawable from the top left corner,
 * and finds what lies at a position. These functions have no state. */
#ifndef APP_WINDOW_FACE_PLACE_H
#define APP_WINDOW_FACE_PLACE_H

#include <stdbool.h>

#include "app/control/parameter_list.h"
#include "app/window/hud_place.h"

enum { FACE_STATES = 5, FACE_BARS = 6, FACE_SCENES = 9, FACE_PROMPTS = 9 };

/* How many things of each kind the operator's window has to show; from this their positions are computed. */
struct face_wish {
  int alert_lines; /* lines of text that alerts take */
  int bars;        /* number of bars of parameters, at most FACE_BARS */
  int scenes;      /* number of saved presets; at most FACE_SCENES of them are shown at a time */
  int prompts;     /* number of prompts, at most FACE_PROMPTS */
  bool clip;       /* true: the source is a clip, whose time is shown */
  bool sound;      /* true: there is sound, whose levels are shown */
};

/* Positions of all that the operator's window shows. An area with width 0: there is no room for it, or it has nothing
 * to show. */
struct face_places {
  int size; /* size of the font in pixels, from which all lengths follow */
  int line; /* distance in pixels from line to line */
  struct hud_area alerts, picture, clip, meter, graph, figures, list, typed;
  struct hud_area states[FACE_STATES], bars[FACE_BARS], scenes[FACE_SCENES], prompts[FACE_PROMPTS];
  struct hud_area scenes_head, prompts_head; /* headings above scenes and prompts */
  struct list_box box;                       /* position and size of the rows in the list of parameters */
  int list_rows;                             /* number of rows for which the list has room */
};

/* Returns the size in pixels of the font in a window of this size. */
int face_type_size(int width, int height);
/* Stores how many characters of a monospaced font of this width (advance, in pixels) a line of alerts may have, and how
 * many such lines leave enough room for all else. */
void face_alert_room(int width, int height, int advance, int *columns, int *lines);
/* Computes the positions in a window of this size in pixels. When alerts appear, the picture becomes smaller, and
 * nothing else moves. */
void face_place(struct face_places *places, int width, int height, const struct face_wish *wish);

/* The widget of the operator's window that lies at a position. number: which of the widgets of this kind, from 0. */
enum face_part {
  FACE_NOTHING,
  FACE_PICTURE,
  FACE_STATE,
  FACE_BAR,
  FACE_SCENE,
  FACE_PROMPT,
  FACE_CLIP,
  FACE_LIST,
  FACE_LINE
};
struct face_hit {
  enum face_part part;
  int number;
};
struct face_hit face_find(const struct face_places *places, float x, float y);
/* Returns the position of `x` in the area, from 0 (left side) to 1 (right side). */
double face_share(const struct hud_area *area, float x);

#endif
