/* The state of the live window: all values, and what keys and clients have asked for (keys.h). Functions that set a
 * value show the window's notice with the reason if it is refused. Only the main thread uses it. */
#ifndef APP_CONTROL_LIVE_STATE_H
#define APP_CONTROL_LIVE_STATE_H

#include "app/control/settings.h"

/* A notice is shown for at least NOTICE_MS, and for at least NOTICE_BYTE_MS for each of its bytes, so that it can be
 * read. */
enum { NOTICE_MS = 2500, NOTICE_BYTE_MS = 50, NOTICE_MAX = 400 };

/* The last step of a key that goes through choices, from one to another. Numbers are from 1; 0: none. */
struct last_choice {
  int from, to;
};

/* The part of the panel (control/panel.h) that a command asks to open. */
enum panel_wish { PANEL_NOTHING, PANEL_PROMPT, PANEL_NEGATIVE, PANEL_LIST };

/* The size of the picture as keys change it. Keys keep the shape of the size that was asked for by other means, and can
 * come back to it exactly. */
struct size_steps {
  struct parameter_size asked;
  struct parameter_size now; /* the size that keys or live_put_back_size set last; any other size was asked for */
};

struct live_state {
  /* --- Values, and the memory of commands from key to key. The window sets models to styles and size_multiple. --- */

  /* the values; those that commands change are marked until the engine thread has taken them */
  struct settings settings;
  int slot_before; /* the prompt that was shown before this one */
  int share;       /* the prompt whose weight in the blend the keys change, from 1; 0: none yet */
  double walk;     /* speed of the last seed walk, in seeds a second; 0: none yet */
  const struct parameter_choices *models, *vaes, *loras, *styles; /* choices that keys step through; NULL: none */
  struct last_choice last_model, last_vae, last_lora, last_style;
  struct size_steps sizes;
  int size_multiple; /* networks make sides that are multiples of this, and cut off the rest; 0: not known yet */
  int lora;          /* the LoRA whose weight the keys change, from 1; 0: the first */
  int control;       /* the control that keys change, from 1; 0: the first */
  int control_value; /* which value of that control the keys change, as an index into the list of values_of_control */

  /* --- Set by the window for commands to read; quit, panel_asked and the ..._asked are requests to the window. --- */

  bool ready; /* the engine is open; until then commands that need it do nothing */
  bool quit;
  int sources;   /* number of sources */
  bool midi;     /* MIDI is in use, so knobs can be bound to parameters */
  bool mirrored; /* the source is one to be mirrored where the parameter mirror is "auto" */
  enum panel_wish panel_asked;
  int64_t quit_until_ns; /* until then a second press of the quit key counts; 0: it was not pressed */
  int presets;           /* number of presets in the file of --presets; -1: there is no such file */
  int presets_asked;     /* counts requests to save a preset */
  int snapshots_asked;   /* counts requests to save the picture */
  int styles_asked;      /* counts requests to take the present frame as style picture */

  /* --- The help and the notice, which the window shows. --- */

  int help_page;           /* page of the help that is shown, from 0 */
  int help_pages;          /* number of pages that the help needs where it is drawn */
  char notice[NOTICE_MAX]; /* a line that is shown for a moment */
  bool notice_is_followed; /* another notice follows when this one has come true; a terminal prints that one alone */
  int64_t notice_until_ns;
};

/* Sets a number as a user means it: another prompt is faded to, and for the size the number is its longest side.
 * Returns 0, or -1 after a notice. */
int live_set_number(struct live_state *state, enum parameter id, int index, double number, int64_t now_ns);
/* Sets a value from typed words, which are read like parameters_parse does. Returns 0, or -1 after a notice. */
int live_set_words(struct live_state *state, enum parameter id, int index, const char *words, int64_t now_ns);

/* Shows a notice, a line that goes by itself. Passwords in addresses are left out. */
PRINTF_LIKE(3, 4) void live_notice(struct live_state *state, int64_t now_ns, const char *format, ...);

/* Sets the number as it is. live_set is for parameters without an index. live_set_at returns 0, or -1 after a
 * notice. */
int live_set_at(struct live_state *state, enum parameter id, int index, double number, int64_t now_ns);
void live_set(struct live_state *state, enum parameter id, double number, int64_t now_ns);

/* Returns true if a prompt of that number is given; if not, a notice says so. Also returns true for a number out of
 * range, which is refused when it is set. */
bool live_has_prompt(struct live_state *state, double number, int64_t now_ns);
/* Shows that prompt alone and ends the blend. */
void live_choose_prompt(struct live_state *state, double number, int64_t now_ns);
/* Returns the weight of a prompt in the blend, from 0. */
double live_blend_weight(const struct live_state *state, int prompt);
/* Sets the weights of all prompts to 0, so that one prompt is shown alone. */
void live_end_blend(struct live_state *state, int64_t now_ns);
/* Sets the size whose longest side is about this, in the shape of the one that was asked for. Returns 0, or -1 if there
 * is none or it is refused. */
int live_set_longest(struct live_state *state, double longest, int64_t now_ns);
/* Goes to the next size, in steps of so many pixels of the longest side; a negative step makes it smaller. A step back
 * leads to the same size again. Nothing changes if there is no such size. */
void live_step_size(struct live_state *state, double step, int64_t now_ns);
/* Sets the size of the pictures that go on after another size was refused. This does not count as a size asked for. */
void live_put_back_size(struct live_state *state, int width, int height);

#endif
