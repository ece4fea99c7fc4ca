/* The live window's state: what is set, and what keys and clients have asked for (keys.h). Whatever sets a value here
 * does it as a command does, and says in the window's line why where it is refused. */
#ifndef APP_CONTROL_LIVE_STATE_H
#define APP_CONTROL_LIVE_STATE_H

#include "app/control/settings.h"

/* A notice is shown for at least NOTICE_MS, and for NOTICE_BYTE_MS for each of its bytes, so that it can be read. */
enum { NOTICE_MS = 2500, NOTICE_BYTE_MS = 50, NOTICE_MAX = 400 };

/* What a key that steps through choices took last, and in place of which: numbers from 1; 0: none. */
struct last_choice {
  int from, to;
};

/* What a command asks the panel (control/panel.h) to open. */
enum panel_wish { PANEL_NOTHING, PANEL_PROMPT, PANEL_NEGATIVE, PANEL_LIST };

/* The size of the picture as keys change it. They keep the shape of the size that was asked for otherwise, and come
 * back to it. */
struct size_steps {
  struct parameter_size asked;
  struct parameter_size now; /* as set by keys last, or put back; any other one was asked for */
};

/* The main thread's alone. */
struct live_state {
  struct settings settings; /* what commands change is marked in its values until the engine thread has it */
  int slot_before;          /* the prompt before this one */
  int share;                /* the prompt whose weight in a blend the keys change, from 1; 0: none yet */
  double walk;              /* seeds a second of the last walk; 0: none yet */
  const struct parameter_choices *models, *vaes, *loras, *styles; /* that keys step through; NULL: none */
  struct last_choice last_model, last_vae, last_lora, last_style;
  struct size_steps sizes;
  int size_multiple; /* the engine's: of the sides of sizes that its networks make whole; 0: not known */
  int lora;          /* the LoRA whose weight the keys change, from 1; 0: the first */
  int control;       /* the control that keys change, from 1; 0: the first */
  int control_value; /* which of its values (values_of_control) */
  bool ready;        /* the engine is open: until then commands that it must follow do nothing */
  bool quit;
  int sources;   /* how many there are; 0: none */
  bool midi;     /* there is MIDI, so that knobs may be learnt */
  bool mirrored; /* the source is, where the parameter leaves it to that */
  enum panel_wish panel_asked;
  int64_t quit_until_ns;   /* asked for once, the second time counts until then */
  int presets;             /* in the file of --presets; -1: there is no such file */
  int presets_asked;       /* to be saved; grows by one for each */
  int snapshots_asked;     /* likewise */
  int styles_asked;        /* likewise: frames to be taken as style */
  int help_page;           /* from 0 */
  int help_pages;          /* that the help needs where it is shown */
  char notice[NOTICE_MAX]; /* a line shown for a moment */
  bool notice_is_followed; /* another line follows once it has come true, so that a terminal needs this one not */
  int64_t notice_until_ns;
};

/* Another prompt is faded to, and of a size the number is the longest side. Returns 0 or -1. */
int live_set_number(struct live_state *state, enum parameter id, int index, double number, int64_t now_ns);
/* Likewise, what was typed: as parameters_parse reads it. */
int live_set_words(struct live_state *state, enum parameter id, int index, const char *words, int64_t now_ns);

/* The line shown for a moment. */
PRINTF_LIKE(3, 4) void live_notice(struct live_state *state, int64_t now_ns, const char *format, ...);

/* The number as it is. */
int live_set_at(struct live_state *state, enum parameter id, int index, double number, int64_t now_ns);
void live_set(struct live_state *state, enum parameter id, double number, int64_t now_ns);

/* Whether there is a prompt of that number; one that is out of range is for those who set it to refuse. */
bool live_has_prompt(struct live_state *state, double number, int64_t now_ns);
/* That prompt alone. */
void live_choose_prompt(struct live_state *state, double number, int64_t now_ns);
double live_blend_weight(const struct live_state *state, int prompt);
void live_end_blend(struct live_state *state, int64_t now_ns);
/* Sets a size whose longest side is about that, in the shape of the one that was asked for. Returns 0 or -1. */
int live_set_longest(struct live_state *state, double longest, int64_t now_ns);
/* Goes to the next size, in steps of that many pixels of the longest side; negative: smaller. One step undoes another.
 * Nothing changes where there is no such size. */
void live_step_size(struct live_state *state, double step, int64_t now_ns);
/* Sets the size that pictures go on with after another one was refused: nobody has asked for it. */
void live_put_back_size(struct live_state *state, int width, int height);

#endif
