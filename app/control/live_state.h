/* The state of the live window: the values of all parameters, and the requests of keys and remote clients. The commands
 * (keys.h) change this state. If a value is refused, the functions below show the reason as a notice. Only the main
 * thread uses it. */
#ifndef APP_CONTROL_LIVE_STATE_H
#define APP_CONTROL_LIVE_STATE_H

#include "app/control/beats.h"
#include "app/control/settings.h"

/* A notice is shown for NOTICE_MS milliseconds, or for NOTICE_BYTE_MS for each of its bytes if that is longer, so that
 * there is time to read it. */
enum { NOTICE_MS = 2500, NOTICE_BYTE_MS = 50, NOTICE_MAX = 400 };

/* The last selection that a key made in a list of choices. from: number, from 1, of the former choice; 0: the former
 * value was not in the list. to: number of the selected choice; 0: no key has selected one. */
struct last_choice {
  int from, to;
};

/* The part of the panel (control/panel.h) that a command asks to open. */
enum panel_wish { PANEL_NOTHING, PANEL_PROMPT, PANEL_NEGATIVE, PANEL_LIST };

/* The points of a clip that a command asks to set: its in point, where the clip begins, and its out point. */
enum clip_mark { CLIP_MARK_IN = 1, CLIP_MARK_OUT = 2 };

/* Picture sizes that are remembered for the keys that change the size. These keys keep the aspect ratio of the size
 * last set by an option or a remote client, and can return to exactly that size. */
struct size_steps {
  struct parameter_size asked; /* the size that the user last set by other means than keys */
  struct parameter_size now;   /* the size that was last set by keys, or by live_put_back_size */
};

struct key_bindings;

struct live_state {
  /* --- Values of parameters, and what commands remember from one key to the next. The window sets the lists models,
   * vaes, loras and styles, own_adapter and size_multiple. --- */

  /* the values of all parameters; values that commands change are marked as set, and the engine thread clears these
   * marks when it has copied the values */
  struct settings settings;
  int slot_before; /* number, from 1, of the prompt that was shown before the present one; the key for the previous
                    * prompt shows it again */
  int share;       /* number of the prompt whose weight in the blend the keys change, from 1; 0: none was chosen */
  /* the last speed other than 0 at which the seed was changing (parameter seed-walk), in seeds per second; 0: there was
   * none */
  double walk;
  /* lists of the files among which keys select; NULL: there are none */
  const struct parameter_choices *models, *vaes, *loras, *styles;
  struct last_choice last_model, last_vae, last_lora, last_style;
  struct size_steps sizes;
  bool own_adapter; /* true: the model has an IP-Adapter of its own */
  /* Width and height at which the network computes are multiples of this number of pixels; what exceeds the requested
   * size is cropped from the picture. 0: not known yet. */
  int size_multiple;
  /* The clock of beats (tempo and present beat), and the taps and onsets of sound that set it. live_beats.h says how it
   * and the parameters tempo, beat and bar-phase are kept equal. */
  struct beats beats;
  struct taps taps;
  struct onsets onsets;
  double tempo_told; /* value of the parameter tempo that live_show_beats or the user has set last */
  double beat_told;  /* value of the parameter beat that live_show_beats has set last */
  /* time at which a client has set the parameter beat or bar-phase, on the clock of platform_now_ns; 0: no client did
   * so since live_take_beats was called last */
  int64_t beat_set_ns;
  int lora; /* number of the LoRA whose weight the keys change, from 1; 0: none was selected, and the first is used */
  int control; /* number of the control that the keys change, from 1; 0: none was selected, and the first is used */
  /* which value of the selected control the keys change: an index into the list that values_of_control makes */
  int control_value;

  /* --- Facts that the window sets and commands read, from `ready` to `presets`; quit, panel_asked and the fields
   * ..._asked are requests of commands to the window. --- */

  const struct key_bindings *bindings; /* keys that the user has bound in keys.conf; NULL: none */
  bool ready;                          /* true: the engine is open; until then commands that need it do nothing */
  bool quit;                           /* true: a command has asked to end the program */
  bool page;                           /* true: there is a web page (--web) */
  int sources;                         /* number of sources in the playlist */
  bool midi;                           /* true: MIDI is in use, so knobs can be bound to parameters */
  bool mirrored; /* true: the source is a camera, which is shown mirrored if the parameter mirror is "auto" */
  enum panel_wish panel_asked;
  /* time (platform_now_ns) until which another press of the quit key ends the program; 0: the key was not pressed */
  int64_t quit_until_ns;
  /* true: a command wants the layers over the picture (source, frozen picture, black; control/cover.h) to appear and
   * disappear at once, without a fade */
  bool cover_at_once;
  /* seek_by_s: seconds by which commands have asked to seek in the clip (negative: back), added up; seeks_asked: number
   * of these commands. The window sets both to 0 when it reads them. */
  double seek_by_s;
  int seeks_asked;
  /* points of the clip (enum clip_mark, as bits) that commands have asked to set to the present position; the window
   * sets this to 0 when it reads them */
  unsigned clip_marks;
  int undos_asked; /* number of times that a command has asked to undo the last preset */
  int presets;     /* number of presets in the file of --presets; -1: the user named no file */
  bool has_show;   /* true: the user named a show file */
  int shows_asked; /* number of times that a command has asked to write the show file */
  /* number of times that a command has asked to restore the values that were set before the program crashed */
  int recoveries_asked;
  int presets_asked;   /* number of times that a command has asked to save a preset */
  int pages_asked;     /* number of times that a command has asked to open the web page in a browser */
  int snapshots_asked; /* number of times that a command has asked to save the picture */
  int styles_asked;    /* number of times that a command has asked to use the present frame as style picture */

  /* --- The help and the notice, which the window shows. --- */

  int help_page;           /* the page of the help that is shown, from 0 */
  int help_pages;          /* number of pages into which the help is divided in the present window */
  char notice[NOTICE_MAX]; /* the text of the notice, one line */
  bool notice_is_followed; /* true: a later notice will tell the result; a terminal gets only the later one */
  int64_t notice_until_ns; /* time at which the notice disappears, on the clock of platform_now_ns */
};

/* Sets a parameter to a number. For shown-prompt it starts a fade to that prompt; for the size, the number is the
 * longest side in pixels. index: instance from 1, or 0 for a parameter without instances. Returns 0, or -1 after a
 * notice to the user. Also returns -1, without a notice, if no size was set before or no allowed size is near. */
int live_set_number(struct live_state *state, enum parameter id, int index, double number, int64_t now_ns);
/* Sets a parameter's value from typed text, in the form that parameters_parse reads. Returns 0, or -1 after a
 * notice. */
int live_set_words(struct live_state *state, enum parameter id, int index, const char *words, int64_t now_ns);

/* Shows a notice: a line over the picture that disappears after some seconds. Passwords in URLs are not shown. */
PRINTF_LIKE(3, 4) void live_notice(struct live_state *state, int64_t now_ns, const char *format, ...);

/* live_set_at only sets instance `index` of a parameter to a number, whereas live_set_number also searches an allowed
 * size or starts a fade of prompts. live_set is for parameters without instances. Both return 0, or -1 after a
 * notice. */
int live_set_at(struct live_state *state, enum parameter id, int index, double number, int64_t now_ns);
void live_set(struct live_state *state, enum parameter id, double number, int64_t now_ns);

/* Returns false after a notice if there is no prompt of this number. For a number out of range it returns true, because
 * live_choose_prompt refuses that number with its own message. */
bool live_has_prompt(struct live_state *state, double number, int64_t now_ns);
/* Ends the blend (mixture of several prompts) and shows the prompt of this number alone. */
void live_choose_prompt(struct live_state *state, double number, int64_t now_ns);
/* Returns the weight of a prompt (number from 1) in the blend, the mixture of several prompts; 0: the prompt is not
 * part of the blend. */
double live_blend_weight(const struct live_state *state, int prompt);
/* Sets the weights of all prompts in the blend to 0, so that one prompt is shown alone. */
void live_end_blend(struct live_state *state, int64_t now_ns);
/* Sets the picture size whose longest side is nearest to `longest` pixels. The aspect ratio is that of the size that
 * the user last asked for by other means than keys. Returns 0, or -1 if there is no such size or it is refused. */
int live_set_longest(struct live_state *state, double longest, int64_t now_ns);
/* Changes the picture's longest side by about `step` pixels (negative: makes the picture smaller). A step up and then
 * a step down give the first size again. Nothing changes if there is no larger or smaller size. */
void live_step_size(struct live_state *state, double step, int64_t now_ns);
/* Called after the engine refused a new size: sets the size parameter to the size that the engine still uses. Keys that
 * change the size still keep the aspect ratio of the size that the user asked for. */
void live_put_back_size(struct live_state *state, int width, int height);

#endif
