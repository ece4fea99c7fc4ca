/* Commands of the live window, in one table, from which the keys, the help overlay and the manual are made. A command
 * takes a value and edits struct live_state, and does nothing else; the window and the engine thread read the state and
 * act on it. Only the main thread uses it. */
#ifndef APP_CONTROL_KEYS_H
#define APP_CONTROL_KEYS_H

#include "app/control/live_state.h"

/* A key is the character that it types, or the one that it counts as where the keyboard's layout lacks it
 * (window/layout.h), or one of these. KEY_CONTROL is added to a digit or a small letter when Ctrl is held. */
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

/* A call of a command. */
struct command_call {
  const struct command_entry *entry;
  double value;
  int64_t now_ns;
};

struct command_entry {
  const char *name;
  const char *keys;  /* characters that run the command; "": no character does */
  int special;       /* another key (enum key) that runs it; KEY_CONTROL: the characters run it with Ctrl held */
  const char *label; /* the keys as the help overlay shows them; NULL: the entry before shows them, too */
  const char *help;
  bool repeats;      /* runs again and again while the key is held */
  bool needs_engine; /* does nothing until the engine is open */
  void (*run)(struct live_state *state, const struct command_call *call);
  enum parameter parameter; /* the parameter that it changes; PARAMETER_NONE: none */
  double value;             /* the value that its keys pass; NaN: they pass their digit */
  bool here;                /* only keys at the window run it, no client does */
};

/* Returns all commands, in the order of the help. They live as long as the program. */
const struct command_entry *commands_table(int *count);
/* Returns the entry of this name, or NULL. The name has `length` bytes and needs no terminating NUL. */
const struct command_entry *commands_find(const char *name, size_t length);

/* Returns true if a key runs a command. */
bool commands_have(int key);
/* Runs the command of a key. repeat: the key is being held down. Returns false if the key has no command, or none that
 * may run now. */
bool commands_run(struct live_state *state, int key, bool repeat, int64_t now_ns);

/* Checks that a client may run the command with this value (NaN: the entry's own). Returns 0, or -1 with err set. */
int commands_check(const struct command_entry *entry, double value, struct error *err);
/* Runs a command with a value. Returns false if it needs the engine and that is not open yet. */
bool commands_call(struct live_state *state, const struct command_entry *entry, double value, int64_t now_ns);

#endif
