/* The state of the live window: the values of all parameters, and the requests of keys and remote clients. The
 * commands (keys.h) change it. If a value is refused, the functions show the reason as a notice. Only the main
 * thread uses it. */
#ifndef APP_CONTROL_LIVE_STATE_H
#define APP_CONTROL_LIVE_STATE_H

#include "app/control/settings.h"

/* A notice is shown for NOTICE_MS milliseconds, or for NOTICE_BYTE_MS for each of its bytes if that is longer, so that
 * there is time to read it. */
enum { NOTICE_MS = 2500, NOTICE_BYTE_MS = 50, NOTICE_MAX = 400 };

/* The last step that a key made in a list of choices: from which choice to which one, by numbers from 1. 0: the value
 * before was none of the choices, or no step was made yet. */
struct last_choice {
  int from, to;
};

/* The part of the panel (control/panel.h) that a command asks to open. */
enum panel_wish { PANEL_NOTHING, PANEL_PROMPT, PANEL_NEGATIVE, PANEL_LIST };

/* The picture's size, where keys change it. Keys keep the aspect ratio of the size that was asked for in another way
 * (an option, a remote client), and can return to exactly that size. */
struct size_steps {
  struct parameter_size asked; /* the last size that was not set by keys */
  struct parameter_size now;   /* the size that keys or live_put_back_size set last */
};

struct live_state {
  /* --- Values, and the memory of commands from key to key. The window sets models to styles and size_multiple. --- */

  /* the values; those that commands change are marked, and the engine thread clears the marks when it has copied
   * them */
  struct settings settings;
  int slot_before; /* number of the prompt that was shown before the present one */
  int share;       /* number of the prompt whose weight in the blend the keys change, from 1; 0: none was chosen */
  double walk;     /* speed of the last walk through seeds, in seeds per second; 0: there was none */
  /* the files that keys step through; NULL: there are none */
  const struct parameter_choices *models, *vaes, *loras, *styles;
  struct last_choice last_model, last_vae, last_lora, last_style;
  struct size_steps sizes;
  int size_multiple; /* the network computes sides of multiples of this, and the surplus is cut off; 0: unknown yet */
  int lora; /* number of the LoRA whose weight the keys change, from 1; 0: none was selected, and the first is used */
  int control; /* number of the control that the keys change, from 1; 0: none was selected, and the first is used */
  /* which value of the selected control the keys change: an index into the list that values_of_control fills */
  int control_value;

  /* --- Set by the window for commands to read; quit, panel_asked and the ..._asked are requests to the window. --- */

  bool ready;    /* the engine is open; until then commands that need it do nothing */
  bool quit;     /* a command has asked to end the program */
  int sources;   /* number of sources in the playlist */
  bool midi;     /* MIDI is in use, so knobs can be bound to parameters */
  bool mirrored; /* the source is a camera, which is shown mirrored if the parameter mirror is "auto" */
  enum panel_wish panel_asked;
  /* time (platform_now_ns) until which a second press of the quit key ends the program; 0: it was not pressed */
  int64_t quit_until_ns;
  int presets;         /* number of presets in the file of --presets; -1: there is no such file */
  int presets_asked;   /* how often a command has asked to save a preset */
  int snapshots_asked; /* how often a command has asked to save the picture */
  int styles_asked;    /* how often a command has asked to use the present frame as style picture */

  /* --- The help and the notice, which the window shows. --- */

  int help_page;           /* the page of the help that is shown, from 0 */
  int help_pages;          /* number of pages into which the help is divided in the present window */
  char notice[NOTICE_MAX]; /* the text of the notice, one line */
  bool notice_is_followed; /* another notice will report the result; on a terminal only that one is printed */
  int64_t notice_until_ns; /* time at which the notice disappears, on the clock of platform_now_ns */
};

/* Sets a number. If the parameter is shown-prompt, a fade to that prompt begins; if it is the size, the number is the
 * picture's longest side in pixels. index: from 1, or 0 for a parameter without instances. Returns 0, or -1 after a
 * notice. */
int live_set_number(struct live_state *state, enum parameter id, int index, double number, int64_t now_ns);
/* Sets a value from typed text, in the form that parameters_parse reads. Returns 0, or -1 after a notice. */
int live_set_words(struct live_state *state, enum parameter id, int index, const char *words, int64_t now_ns);

/* Shows a notice: a line over the picture that disappears after some seconds. Passwords in URLs are not shown. */
PRINTF_LIKE(3, 4) void live_notice(struct live_state *state, int64_t now_ns, const char *format, ...);

/* live_set_at sets a number without the special cases of live_set_number, and returns 0, or -1 after a notice. live_set
 * does the same for a parameter without instances. */
int live_set_at(struct live_state *state, enum parameter id, int index, double number, int64_t now_ns);
void live_set(struct live_state *state, enum parameter id, double number, int64_t now_ns);

/* True if the prompt of this number exists; otherwise a notice says that it does not. True also for a number out of
 * range, because live_choose_prompt refuses that with a message of its own. */
bool live_has_prompt(struct live_state *state, double number, int64_t now_ns);
/* Ends the blend and shows the prompt of this number alone. */
void live_choose_prompt(struct live_state *state, double number, int64_t now_ns);
/* Returns the weight of a prompt (number from 1) in the blend; 0: it is not part of the blend. */
double live_blend_weight(const struct live_state *state, int prompt);
/* Sets the weights of all prompts to 0, so that one prompt is shown alone. */
void live_end_blend(struct live_state *state, int64_t now_ns);
/* Sets the size whose longest side is nearest to `longest` pixels, with the aspect ratio of the size that was asked for
 * last in another way than by keys. Returns 0, or -1 if there is no such size or it is refused. */
int live_set_longest(struct live_state *state, double longest, int64_t now_ns);
/* Changes the longest side by about `step` pixels (negative: makes it smaller). A step back leads to the same size
 * again. Nothing changes if there is no further size. */
void live_step_size(struct live_state *state, double step, int64_t now_ns);
/* Sets the size again that the engine still uses, after it refused another one. This does not count as a size that was
 * asked for, whose aspect ratio the keys keep. */
void live_put_back_size(struct live_state *state, int width, int height);

#endif
