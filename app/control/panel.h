/* The panel is the part of the window in which users type: the list of parameters, and a line of text that becomes a
 * parameter's value. It decides if a key runs a command, moves in the list or edits the line. Only the main thread uses
 * it; the window draws it. */
#ifndef APP_CONTROL_PANEL_H
#define APP_CONTROL_PANEL_H

#include "app/control/history.h"
#include "app/control/parameter_list.h"

/* Initialise with zeros. The caller may open `history` with history_open, and then closes it. */
struct panel {
  bool lists;            /* the list of parameters is open and gets keys */
  bool types;            /* the line of text is open and gets all keys */
  bool filters;          /* the line is the filter of the list; otherwise it is a parameter's value */
  struct list_row value; /* the parameter that the line of text sets */
  struct line_edit line;
  struct history history; /* prompts that were typed before */
  struct parameter_list list;
};

/* Opens the part of the panel that state->panel_asked names, and clears that field. An open list is closed. */
void panel_follow(struct panel *panel, struct live_state *state);

/* Handle a key, typed text, or text that an input method is composing. Return true if the panel used it. A key that it
 * did not use may run a command. */
bool panel_key(struct panel *panel, struct live_state *state, int key, int64_t now_ns);
bool panel_text(struct panel *panel, const struct live_state *state, const char *text);
bool panel_compose(struct panel *panel, const char *text);

/* Handles a press of the left mouse button at (x, y) in pixels. Returns false if that is not on the list. */
bool panel_press(struct panel *panel, struct live_state *state, const struct list_box *box, float x, float y,
                 int64_t now_ns);

/* Returns the label before the line of text: the parameter's name, such as "prompt[2]", or "filter". */
const char *panel_label(const struct panel *panel, char name[PARAMETER_NAME_MAX]);

#endif
