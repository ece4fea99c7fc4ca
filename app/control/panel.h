/* Where what is typed goes: to commands, to the list of parameters, or into a line of text for one of them. The main
 * thread's, as struct live_state is; knows no window. */
#ifndef APP_CONTROL_PANEL_H
#define APP_CONTROL_PANEL_H

#include "app/control/history.h"
#include "app/control/parameter_list.h"

/* Zero-initialise to start; history may be opened, and is closed by its owner. */
struct panel {
  bool lists;            /* keys go through the list */
  bool types;            /* a line is open: all keys are its */
  bool filters;          /* it is the list's filter, not a value */
  struct list_row value; /* that the line becomes */
  struct line_edit line;
  struct history history; /* of prompts */
  struct parameter_list list;
};

/* Opens what a command asked for. */
void panel_follow(struct panel *panel, struct live_state *state);

/* What is typed. False: it is for commands. */
bool panel_key(struct panel *panel, struct live_state *state, int key, int64_t now_ns);
bool panel_text(struct panel *panel, const struct live_state *state, const char *text);
bool panel_compose(struct panel *panel, const char *text);

/* The left button and the wheel on the list. False: it is not there. */
bool panel_press(struct panel *panel, struct live_state *state, const struct list_box *box, float x, float y,
                 int64_t now_ns);

/* The name of what is typed: "prompt[2]", "filter". */
const char *panel_label(const struct panel *panel, char name[PARAMETER_NAME_MAX]);

#endif
