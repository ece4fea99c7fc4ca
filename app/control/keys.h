/* What the user can do in the live window: one table of commands, from which keys, help overlay and manual are made.
 * A command takes a value, edits struct live_state and nothing else; the window and the engine thread follow the
 * state. */
#ifndef APP_CONTROL_KEYS_H
#define APP_CONTROL_KEYS_H

#include "app/control/live_state.h"

/* Keys are the characters they type, or count as where a layout lacks them (window/layout.h), or one of these.
 * KEY_CONTROL is added to a digit or a small letter. */
enum key {
  KEY_NONE = 0,
  KEY_ESCAPE = 256,
  KEY_UP,
  KEY_DOWN,
  KEY_LEFT,
  KEY_RIGHT,
  KEY_HOME,
  KEY_END,
  KEY_PAGE_UP,
  KEY_PAGE_DOWN,
  KEY_ENTER,
  KEY_TAB,
  KEY_BACKSPACE,
  KEY_DELETE,
  KEY_F11,
  KEY_F1,
  KEY_CONTROL = 512
};

struct command_entry;

/* One use of a command. */
struct command_call {
  const struct command_entry *entry;
  double value;
  int64_t now_ns;
};

struct command_entry {
  const char *name;
  const char *keys;  /* characters, each of which runs it; "" none */
  int special;       /* enum key: another key, or KEY_CONTROL: Ctrl is held with its characters */
  const char *label; /* the keys as the help overlay shows them; NULL: shown with the entry before */
  const char *help;
  bool repeats;      /* runs again while the key is held */
  bool needs_engine; /* does nothing until the engine is open */
  void (*run)(struct live_state *state, const struct command_call *call);
  enum parameter parameter; /* that it changes; PARAMETER_NONE: none */
  double value;             /* that its keys give it; NaN: their digit */
  bool here;                /* a hand at the window alone runs it, nothing from outside */
};

const struct command_entry *commands_table(int *count);
/* NULL: there is none of that name, which need not end with a NUL. */
const struct command_entry *commands_find(const char *name, size_t length);

/* Whether a key runs a command. */
bool commands_have(int key);
/* Runs the command of a key, if there is one that may run now. repeat: the key is being held. */
bool commands_run(struct live_state *state, int key, bool repeat, int64_t now_ns);

/* Whether it may be run from outside, with this value (NaN: its own). */
int commands_check(const struct command_entry *entry, double value, struct error *err);
/* Runs a command with a value of the caller's, if it may run now. */
bool commands_call(struct live_state *state, const struct command_entry *entry, double value, int64_t now_ns);

#endif
