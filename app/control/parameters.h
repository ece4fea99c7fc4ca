/* Parameters are all values that a user can set, such as the prompt, the strength or the size. The table
 * parameter_table.h describes each one; struct parameters holds a value for each. The command line, the keys, the
 * window and the remote controls all use them. A new parameter needs only a row in the table.
 *
 * Numbers of every type are passed as double, which represents them exactly: whole numbers are at most 2^53 - 1. A
 * parameter may have several instances, such as prompt[1] to prompt[9]; in the table its name is "prompt[]". The
 * functions do no locking: the caller makes sure that only one thread at a time uses a struct parameters. */
#ifndef APP_CONTROL_PARAMETERS_H
#define APP_CONTROL_PARAMETERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unet/base/controls.h"
#include "unet/base/error.h"

enum { PARAMETER_TEXT_MAX = 2048, PARAMETER_NAME_MAX = 48, PARAMETER_INSTANCES_MAX = 16 };
/* The prompt that is used if the user gives none. It changes the picture in a way that is easy to see. */
#define PARAMETER_PROMPT_DEFAULT "neon"
/* Values that are not files: the small model that is part of the program, and the autoencoder that is part of the
 * model. A file or folder of such a name takes precedence. */
#define PARAMETER_MODEL_BUILT_IN "mini"
#define PARAMETER_VAE_OWN "own"
#define MIDI_LEARN_LAST "last" /* value of midi-learn that means the parameter that was changed last */
/* The depth model that is used if the user names none. */
#define PARAMETER_DEPTH_USUAL "depth-anything/Depth-Anything-V2-Small-hf"
#define PARAMETER_WHOLE_MAX 9007199254740991.0 /* 2^53 - 1 */

/* The values of bank-layers: levels of self-attention, joined by +. */
#define BANK_LAYER_WORDS "auto|1/8|1/16|1/32|1/64|1/8+1/16|1/16+1/32|1/32+1/64|1/8+1/16+1/32|all"

enum parameter {
  PARAMETER_NONE,
#define PARAMETER(TYPE, ID, ...) PARAMETER_##ID,
#include "app/control/parameter_table.h"
  PARAMETERS
};

enum parameter_type {
  TYPE_REAL,   /* double */
  TYPE_WHOLE,  /* int64_t */
  TYPE_SWITCH, /* bool */
  TYPE_CHOICE, /* int: index of the choice, from 0 */
  TYPE_SIZE,   /* struct parameter_size */
  TYPE_TEXT,   /* struct parameter_text */
};

/* What the program has to do before a change of the value is visible. Parameters with NEED_START can be set only on the
 * command line, all others also while frames run. */
enum parameter_need {
  NEED_START,       /* the value is used only when the program starts */
  NEED_ENGINE,      /* a new engine is opened in the background, while the present one still makes frames */
  NEED_PREPARATION, /* the engine prepares a new handle (buffers and graphs for one shape) in the background */
  NEED_ENCODING,    /* the engine encodes the text before the next frame that uses it */
  NEED_READING,     /* a file is read in the background, and the frame after that uses it */
  NEED_FRAME,       /* the next frame uses the value */
  /* the next frame uses the value. If guidance changes to 1 or from 1, the network also has to compute another number
   * of rows per frame (classifier-free guidance needs a second one), and the engine prepares a new handle for that,
   * unless the model takes the guidance scale as an input */
  NEED_ROWS,
  NEED_NOTHING, /* the value is not an input of the engine, though it may change other parameters that are */
  NEEDS
};

struct parameter_row {
  const char *name;
  enum parameter_type type;
  enum parameter_need need;
  int first, count; /* the first and last index are first and first + count - 1; count 0: the parameter has no index */
  /* byte offset of the first instance in struct parameters, and bytes from one instance to the next */
  size_t offset, size;
  double min, max;     /* range of a number, or of each side of a size */
  double low, high;    /* the most useful part of that range, for knobs and sliders; both 0: the whole range */
  double standard;     /* default of a number */
  bool by_model;       /* if the user has not set it, the model's recommended value is used */
  int decimals;        /* number of decimals with which a TYPE_REAL is shown and rounded */
  const char *unit;    /* NULL: there is no unit */
  const char *choices; /* words of a choice: "a|b|c" */
  const char *text;    /* default of a text; NULL: none */
  /* the default in words, for the help, where a value alone would not explain it; NULL: the value is shown */
  const char *from;
  const char *help;
};

/* A size in pixels. 0 by 0: it is not set. */
struct parameter_size {
  int width, height;
};

/* A text. given false: the parameter has no text, which differs from an empty one. */
struct parameter_text {
  bool given;
  char words[PARAMETER_TEXT_MAX];
};

/* A list of texts, of which a key selects the next one. The strings are borrowed. */
enum { CHOICES_MAX = 16 };
struct parameter_choices {
  const char *text[CHOICES_MAX];
  int count;
};

/* The values of all parameters: a field for each row of parameter_table.h. A plain value, which may be copied. */
struct parameters {
  /* All texts come first, so that settings_copy can copy or skip them as one block. */
#define TEXT(ID, name, need, field, ...) struct parameter_text field;
#include "app/control/parameter_table.h"
  /* Version of the texts: two structs with the same version have equal texts, so that most of the bytes need not be
   * compared. Each change of a text stores a number that was not used before in this process. 0: no text was set
   * yet. */
  uint64_t texts;
  /* Wide fields come before narrow ones, so that there is no padding between them and equal values have equal bytes. */
#define SIZE(ID, name, need, field, ...) struct parameter_size field;
#define REAL(ID, name, need, field, ...) double field;
#define WHOLE(ID, name, need, field, ...) int64_t field;
#include "app/control/parameter_table.h"
#define CHOICE(ID, name, need, field, ...) int field;
#include "app/control/parameter_table.h"
#define SWITCH(ID, name, need, field, ...) bool field;
#include "app/control/parameter_table.h"
  /* A bit for each instance of each parameter: 1 if it was set since the marks were last cleared. Comparisons ignore
   * the marks. */
  uint16_t marks[PARAMETERS];
};

/* Returns the description of a parameter, which lives as long as the program. */
const struct parameter_row *parameter_row(enum parameter id);
/* Returns the number of instances; 1 for a parameter without an index. */
int parameter_instances(enum parameter id);
/* Stores the range that a knob or slider for this parameter covers: low to high of its parameter_row if they are given,
 * else min to max. For a switch that is 0 to 1, for a choice 0 to the last choice's index. */
void parameter_span(enum parameter id, double *low, double *high);

/* parameter_find parses a name such as "prompt[3]" into id and index (0: the parameter has no index). It returns 0, or
 * -1 with err set if there is no such parameter or instance. parameter_name writes the name of an id and index, and
 * returns it. */
int parameter_find(const char *name, enum parameter *id, int *index, struct error *err);
const char *parameter_name(enum parameter id, int index, char name[PARAMETER_NAME_MAX]);
/* True if name is an instance of pattern: "prompt[3]" of "prompt[]". *index gets the number, or 0 if the pattern has no
 * []. */
bool parameter_matches(const char *pattern, const char *name, int *index);

/* Sets all values to the defaults of the table, and clears all marks. */
void parameters_init(struct parameters *values);

/* These functions set a value and mark it. They return 0, or -1 with err set if the value has the wrong type, is out of
 * range, or the index does not exist; then nothing changes. text NULL: the parameter has no text afterwards. */
int parameters_set_number(struct parameters *values, enum parameter id, int index, double number, struct error *err);
int parameters_set_text(struct parameters *values, enum parameter id, int index, const char *text, struct error *err);
int parameters_set_size(struct parameters *values, enum parameter id, int index, int width, int height,
                        struct error *err);
/* Parses text and sets the value: a number, a choice's word, "on" or "off", WIDTHxHEIGHT, or the text itself. Returns
 * 0, or -1 with err set. */
int parameters_parse(struct parameters *values, enum parameter id, int index, const char *text, struct error *err);
/* Adds `by` to a number, rounds the sum to the parameter's decimals, limits it to the range, and marks it. NaN changes
 * nothing. */
void parameters_add(struct parameters *values, enum parameter id, int index, double by);

/* Returns a value as a number: 0 or 1 for a switch, the index for a choice, NaN for a size or text. */
double parameters_number(const struct parameters *values, enum parameter id, int index);
/* Returns the words of a text, valid until the text changes; NULL: it is not given, or the parameter is not a text. */
const char *parameters_text(const struct parameters *values, enum parameter id, int index);
/* Writes a value so that parameters_parse reads exactly the same value back. A text or size that is not given becomes
 * "". Returns out. */
const char *parameters_print(const struct parameters *values, enum parameter id, int index, char *out, size_t size);
/* Writes a value for people to read: reals are rounded to the parameter's decimals. Returns out. */
const char *parameters_show(const struct parameters *values, enum parameter id, int index, char *out, size_t size);

/* Parses "WIDTHxHEIGHT" or a name such as "hd720". Both sides must be between min and max. Returns false if the text is
 * neither. */
bool parameters_read_size(const char *text, double min, double max, int *width, int *height);

/* The marks tell which values were set since parameters_clear_marks. */
bool parameters_marked(const struct parameters *values, enum parameter id, int index);
bool parameters_any_marked(const struct parameters *values);
void parameters_clear_marks(struct parameters *values);

/* Copies the values that are marked in `from`, and marks them in `to`. Other values of `to` stay. */
void parameters_apply(struct parameters *to, const struct parameters *from);
/* Copies one value without marking it. */
void parameters_take(struct parameters *to, const struct parameters *from, enum parameter id, int index);
/* Copies the values of all parameters whose need is in the set `needs` (a bit 1 << enum parameter_need for each),
 * without marking them. */
void parameters_copy(struct parameters *to, const struct parameters *from, unsigned needs);
/* Resets to its default each value with by_model that is not marked. Called before a model is opened, which then says
 * which values suit it. */
void parameters_leave_to_model(struct parameters *values);
/* Copies the model's recommended values: `from` is what an engine reports, and each value with by_model that is not
 * marked in `to` is copied. */
void parameters_follow_model(struct parameters *to, const struct parameters *from);
/* Returns true if both have the same value of this parameter. */
bool parameters_same(const struct parameters *a, const struct parameters *b, enum parameter id, int index);
/* True if all parameters whose need is in the set `needs` (bits 1 << enum parameter_need) have the same values in
 * both. */
bool parameters_equal(const struct parameters *a, const struct parameters *b, unsigned needs);

#endif
