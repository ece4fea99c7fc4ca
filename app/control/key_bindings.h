/* Keys that the user has bound in the file keys.conf, in place of or beside those of the table of commands. A line of
 * the file is
 *
 *   KEY COMMAND-or-PARAMETER [VALUE]     # a comment
 *
 * KEY is the character that the key types, or a name (key_find). A COMMAND is run with VALUE, or with its own value. A
 * PARAMETER gets VALUE, in the form of the command line; += or -= before a number adds it or subtracts it. Without
 * VALUE a switch changes between on and off, and a choice goes on to its next word. With "KEY ignore" the key does
 * nothing, not even what the table of commands says. Of two lines for the same key the later one is used. */
#ifndef APP_CONTROL_KEY_BINDINGS_H
#define APP_CONTROL_KEY_BINDINGS_H

#include "app/control/keys.h"

enum { KEY_BINDINGS_MAX = 256, KEY_VALUE_MAX = 200, KEY_NAME_MAX = 16 };

struct key_binding {
  int key;                             /* the key: a value of enum key, or the character that the key types */
  const struct command_entry *command; /* the command that is run; NULL: none */
  enum parameter id;                   /* the parameter that is set; PARAMETER_NONE: none */
  int index;
  double number;  /* the command's value, or what is added to the parameter; NaN: neither is given */
  bool has_value; /* true: the parameter gets the value in `words` */
  char words[KEY_VALUE_MAX];
};

/* The bindings of a file; each key has at most one. Initialise with zeros: there are no bindings. */
struct key_bindings {
  struct key_binding entry[KEY_BINDINGS_MAX];
  int count;
};

/* Reads the text of a file. For each wrong line, the function `complain` is called with the line's number (from 1) and
 * the reason; the other lines are used. */
void key_bindings_read(struct key_bindings *bindings, const char *text,
                       void (*complain)(void *opaque, int line, const char *why), void *opaque);
/* Returns the binding of a key; NULL: the file has none. bindings may be NULL. */
const struct key_binding *key_bindings_find(const struct key_bindings *bindings, int key);
/* Does what the binding says. repeat: the event is an automatic repetition of a key that is held down. Returns false if
 * nothing was done: the binding is "ignore", it does not repeat, or its command needs the engine, which is not open
 * yet. */
bool key_bindings_run(const struct key_binding *binding, struct live_state *state, bool repeat, int64_t now_ns);

/* Returns the key (enum key, or a character) of this name; KEY_NONE: there is none. The name is one character, or one
 * of SPACE, SHARP (#), ENTER, TAB, ESC, BS, DEL, UP, DOWN, LEFT, RIGHT, HOME, END, PGUP, PGDWN, F1 and F11, as in mpv's
 * input.conf, or Ctrl+ and a digit or small letter. */
int key_find(const char *name);
/* Writes a key's name to `name`, and returns `name`. */
const char *key_name(int key, char name[KEY_NAME_MAX]);
/* Writes what the binding does, for the help: the words of its line without the key. Returns `text`. */
const char *key_binding_describe(const struct key_binding *binding, char *text, size_t size);

#endif
