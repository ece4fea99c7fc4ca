/* The commands of the live window. One table lists them with their keys; key handling, help overlay, manual and remote
 * clients all use it. A command only changes struct live_state, which the window and the engine's thread then follow.
 * Only the main thread runs commands. */
#ifndef APP_CONTROL_KEYS_H
#define APP_CONTROL_KEYS_H

#include "app/control/live_state.h"

/* A key is the character that it types, or one of these numbers. Some keyboard layouts cannot type the commands'
 * characters (other scripts, digits only with Shift); there the window passes a character chosen by the key's position.
 * With Ctrl, KEY_CONTROL is added to a digit or small letter. */
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

/* The arguments with which a command is run: its entry in the table, a value, and the time (platform_now_ns). */
struct command_call {
  const struct command_entry *entry;
  double value;
  int64_t now_ns;
};

struct command_entry {
  const char *name;
  const char *keys; /* the characters that run the command, all in one string; "": there are none */
  int special; /* another key (enum key) that runs the command; KEY_CONTROL: the characters run it while Ctrl is held */
  /* names of the keys in the help overlay; NULL: the help has no line for this entry, because these keys are shown in
   * the line of the entry before */
  const char *label;
  const char *help;  /* text of the help overlay and the manual */
  bool repeats;      /* true: the command runs repeatedly while the key is held down */
  bool needs_engine; /* true: the command does nothing until the engine is open */
  void (*run)(struct live_state *state, const struct command_call *call);
  enum parameter parameter; /* the parameter that the command changes; PARAMETER_NONE: it changes none */
  /* value that call->value gets when the command's key is pressed; NaN: the number of the digit key */
  double value;
  bool here; /* true: only keys at the window run the command; remote clients cannot */
  /* true: call->now_ns is the time at which a remote client asked for the command; false: the time at which it is
   * run */
  bool timed;
};

/* Returns the table of all commands, in the order of the help, and their number. They live as long as the program. */
const struct command_entry *commands_table(int *count);
/* Returns the command of this name, or NULL. The name has `length` bytes and needs no terminating NUL. */
const struct command_entry *commands_find(const char *name, size_t length);

/* Returns true if there is a command that this key runs. */
bool commands_have(int key);
/* Runs the command of a key. repeat: the event is an automatic repetition of a key that is held down. Returns false if
 * the key has no command, or if the command cannot run now (it does not repeat, or the engine is not open yet). */
bool commands_run(struct live_state *state, int key, bool repeat, int64_t now_ns);

/* Checks that a remote client may run the command with this value; NaN stands for the value in the command's row of
 * the table. Returns 0, or -1 with err set. */
int commands_check(const struct command_entry *entry, double value, struct error *err);
/* Runs a command with a value (NaN: the value in the command's entry). Returns false if the command needs the engine
 * and the engine is not open yet. */
bool commands_call(struct live_state *state, const struct command_entry *entry, double value, int64_t now_ns);

#endif
