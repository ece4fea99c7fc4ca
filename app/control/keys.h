/* What the user can do in the live window: one table of commands, from which keys, help overlay and manual are made.
 * A command takes a value, edits struct live_state and nothing else; the window and the engine thread follow the
 * state. */
#ifndef APP_CONTROL_KEYS_H
#define APP_CONTROL_KEYS_H

#include "app/control/settings.h"

/* Keys are the characters they type, so that the layout of the keyboard does not matter, or one of these. KEY_CONTROL
 * is added to a digit or a small letter. */
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

enum { NOTICE_MS = 2500 };

/* The live window's state: the main thread's alone. */
/* What a key that steps through choices took last, and in place of which: numbers from 1; 0: none. */
struct last_choice {
  int from, to;
};

/* What a command asks the panel (control/panel.h) to open. */
enum panel_wish { PANEL_NOTHING, PANEL_PROMPT, PANEL_NEGATIVE, PANEL_LIST };

struct live_state {
  struct settings settings; /* what commands change is marked in its values until the engine thread has it */
  int slot_before;          /* the prompt before this one */
  int share;                /* the prompt whose weight in a blend the keys change, from 1; 0: none yet */
  double walk;              /* seeds a second of the last walk; 0: none yet */
  const struct parameter_choices *models, *vaes, *loras, *styles; /* that keys step through; NULL: none */
  struct last_choice last_model, last_vae, last_lora, last_style;
  double shape;      /* width over height that sizes of the picture keep to */
  int lora;          /* the LoRA whose weight the keys change, from 1; 0: the first */
  int control;       /* the control that keys change, from 1; 0: the first */
  int control_value; /* which of its values (values_of_control) */
  bool ready;        /* the engine is open: until then commands that it must follow do nothing */
  bool quit;
  int sources;   /* how many there are; 0: none */
  bool midi;     /* there is MIDI, so that knobs may be learnt */
  bool mirrored; /* the source is, where the parameter leaves it to that */
  enum panel_wish panel_asked;
  int64_t quit_until_ns; /* asked for once, the second time counts until then */
  int presets;           /* in the file of --presets; -1: there is no such file */
  int presets_asked;     /* to be saved; grows by one for each */
  int snapshots_asked;   /* grows by one for each */
  int help_page;         /* from 0, of those that the help needs where it is shown: */
  int help_pages;
  int styles_asked; /* likewise: frames to be taken as style */
  char notice[200]; /* a line shown for a moment */
  int64_t notice_until_ns;
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

/* Runs the command of a key, if there is one that may run now. repeat: the key is being held. */
bool commands_run(struct live_state *state, int key, bool repeat, int64_t now_ns);

/* Whether it may be run from outside, with this value (NaN: its own). */
int commands_check(const struct command_entry *entry, double value, struct error *err);
/* Runs a command with a value of the caller's, if it may run now. */
bool commands_call(struct live_state *state, const struct command_entry *entry, double value, int64_t now_ns);

/* Sets a number as a command does, and says why where it is refused: another prompt is faded to, and of a size the
 * number is the longest side. Returns 0 or -1. */
int live_set_number(struct live_state *state, enum parameter id, int index, double number, int64_t now_ns);
/* Likewise, what was typed: as parameters_parse reads it. */
int live_set_words(struct live_state *state, enum parameter id, int index, const char *words, int64_t now_ns);

/* The line shown for a moment. */
PRINTF_LIKE(3, 4) void live_notice(struct live_state *state, int64_t now_ns, const char *format, ...);

#endif
