/* The panel is the part of the window in which users type: the list of parameters, and a line of text that becomes a
 * parameter's value. These functions decide if a key runs a command, moves in the list or edits the line. Only the main
 * thread uses the panel; the window draws it. */
#ifndef APP_CONTROL_PANEL_H
#define APP_CONTROL_PANEL_H

#include "app/control/history.h"
#include "app/control/parameter_list.h"

/* The state of the panel, in which users type: the list of parameters and the line of text. Initialise with zeros. The
 * caller may open the field `history` with history_open, and then closes it with history_close. */
struct panel {
  bool lists;            /* true: the list of parameters is open and gets keys */
  bool types;            /* true: the line of text is open and gets all keys */
  bool filters;          /* true: the line of text filters the list; false: it becomes a parameter's value */
  struct list_row value; /* the parameter that gets the line of text as its value */
  struct line_edit line;
  struct history history; /* prompts that were typed before */
  struct parameter_list list;
};

/* Opens the part of the panel that state->panel_asked names, and clears that field. An open list is closed. */
void panel_follow(struct panel *panel, struct live_state *state);

/* panel_key handles a key, panel_text typed text, and panel_compose text that an input method is composing. They return
 * true if the panel used the input. A key that the panel did not use may run a command. */
bool panel_key(struct panel *panel, struct live_state *state, int key, int64_t now_ns);
bool panel_text(struct panel *panel, const struct live_state *state, const char *text);
bool panel_compose(struct panel *panel, const char *text);

/* Handles a press of the left mouse button at (x, y) in pixels. Returns false if that position is not on the list of
 * parameters. */
bool panel_press(struct panel *panel, struct live_state *state, const struct list_box *box, float x, float y,
                 int64_t now_ns);

/* Opens the line of text that filters the list. */
void panel_open_filter(struct panel *panel);

/* Returns the label before the line of text: the parameter's name, such as "prompt[2]", or "filter". */
const char *panel_label(const struct panel *panel, char name[PARAMETER_NAME_MAX]);

#endif
