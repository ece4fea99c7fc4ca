/* The panel decides where typed keys go: to commands, to the list of parameters, or into a line of text that becomes a
 * parameter's value. Like struct live_state it belongs to the main thread. Drawing is the window's. */
#ifndef APP_CONTROL_PANEL_H
#define APP_CONTROL_PANEL_H

#include "app/control/history.h"
#include "app/control/parameter_list.h"

/* Initialise with zeros. The owner may open the history, and closes it. */
struct panel {
  bool lists;            /* the list is open and takes keys */
  bool types;            /* a line of text is open and takes all keys */
  bool filters;          /* the line is the list's filter, not a value */
  struct list_row value; /* the parameter whose value the line becomes */
  struct line_edit line;
  struct history history; /* prompts that were typed before */
  struct parameter_list list;
};

/* Opens the part of the panel that a command has asked for. */
void panel_follow(struct panel *panel, struct live_state *state);

/* Pass a key, typed text, or text that an input method is composing. They return false if the panel does not take it: a
 * key is then for commands. */
bool panel_key(struct panel *panel, struct live_state *state, int key, int64_t now_ns);
bool panel_text(struct panel *panel, const struct live_state *state, const char *text);
bool panel_compose(struct panel *panel, const char *text);

/* Passes a press of the left button. Returns false if it is not on the list. */
bool panel_press(struct panel *panel, struct live_state *state, const struct list_box *box, float x, float y,
                 int64_t now_ns);

/* Returns the name of what is being typed: "prompt[2]", "filter". */
const char *panel_label(const struct panel *panel, char name[PARAMETER_NAME_MAX]);

#endif
