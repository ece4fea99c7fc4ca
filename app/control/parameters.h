/* Parameters: every value that a user may set. A table says what each one is, and struct parameters holds the values of
 * all. The command line, keys, the window and all remote controls use them. To add a parameter, add a row to
 * parameter_table.h.
 *
 * Numbers of every type are passed as double, which holds each of them exactly: whole numbers end at 2^53 - 1. A
 * parameter may have several instances (prompt[1] to prompt[9]); [] in its name stands for the index. A struct
 * parameters may be used by one thread at a time. */
#ifndef APP_CONTROL_PARAMETERS_H
#define APP_CONTROL_PARAMETERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unet/base/controls.h"
#include "unet/base/error.h"

enum { PARAMETER_TEXT_MAX = 2048, PARAMETER_NAME_MAX = 48, PARAMETER_INSTANCES_MAX = 16 };
/* Prompt that is used if none is given. Its effect is easy to see. */
#define PARAMETER_PROMPT_DEFAULT "neon"
/* Names for things without a file, which count if no file or folder has that name: the model that is built into the
 * program, and the autoencoder that belongs to a model. */
#define PARAMETER_MODEL_BUILT_IN "mini"
#define PARAMETER_VAE_OWN "own"
#define MIDI_LEARN_LAST "last" /* stands for the parameter that was changed last */
/* Network that makes maps of depth if the user names no other. */
#define PARAMETER_DEPTH_USUAL "depth-anything/Depth-Anything-V2-Small-hf"
#define PARAMETER_WHOLE_MAX 9007199254740991.0 /* 2^53 - 1 */

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

/* What has to happen before a change is seen. Parameters with NEED_START cannot change while frames run; all others
 * can. */
enum parameter_need {
  NEED_START,       /* the engine is opened with the value at the start */
  NEED_ENGINE,      /* another engine is opened in the background, while frames go on with the one in use */
  NEED_PREPARATION, /* the engine prepares another handle in the background */
  NEED_ENCODING,    /* the engine encodes the text before the next frame that uses it */
  NEED_READING,     /* a file is read in the background, and the frame after that uses it */
  NEED_FRAME,       /* the next frame uses the value */
  /* the next frame uses the value. If guidance becomes 1 or stops being 1, the number of guidance rows changes, and the
   * engine prepares another handle, unless it embeds guidance */
  NEED_ROWS,
  NEED_NOTHING, /* pictures do not depend on it, except through other parameters that it moves */
  NEEDS
};

struct parameter_row {
  const char *name;
  enum parameter_type type;
  enum parameter_need need;
  int first, count;    /* indices are first to first + count - 1; count 0: the parameter has no index */
  size_t offset, size; /* place of the first instance in struct parameters, and bytes from one instance to the next */
  double min, max;     /* range of a number, or of each side of a size */
  double low, high;    /* range of a knob or slider; both 0: from min to max */
  double standard;     /* default of a number */
  bool by_model;       /* if nobody has set it, a value that suits the model replaces the default */
  int decimals;        /* number of decimals with which a real is shown and stepped */
  const char *unit;    /* NULL: there is no unit */
  const char *choices; /* words of a choice: "a|b|c" */
  const char *text;    /* default of a text; NULL: none */
  const char *from;    /* the default in words, if these say more than its value */
  const char *help;
};

/* A size in pixels. 0 by 0: it is not set. */
struct parameter_size {
  int width, height;
};

/* A text. given false: there is no text, which is not the same as an empty text. */
struct parameter_text {
  bool given;
  char words[PARAMETER_TEXT_MAX];
};

/* Texts that a key steps through. */
enum { CHOICES_MAX = 16 };
struct parameter_choices {
  const char *text[CHOICES_MAX];
  int count;
};

/* The values of all parameters: a field for each row of parameter_table.h. A plain value. */
struct parameters {
  /* All texts come first; settings_copy relies on that. */
#define TEXT(ID, name, need, field, ...) struct parameter_text field;
#include "app/control/parameter_table.h"
  /* Version of the texts. Values with the same version have the same texts, so that most of the bytes need not be
   * compared. 0: no text was set yet; each change gives a number that is new in this process. */
  uint64_t texts;
  /* Wide fields come before narrow ones, so that there is no padding between them and equal values are equal bytes. */
#define SIZE(ID, name, need, field, ...) struct parameter_size field;
#define REAL(ID, name, need, field, ...) double field;
#define WHOLE(ID, name, need, field, ...) int64_t field;
#include "app/control/parameter_table.h"
#define CHOICE(ID, name, need, field, ...) int field;
#include "app/control/parameter_table.h"
#define SWITCH(ID, name, need, field, ...) bool field;
#include "app/control/parameter_table.h"
  /* One bit for each instance: it was set since the marks were last cleared. Marks are not values, and comparisons
   * ignore them. */
  uint16_t marks[PARAMETERS];
};

/* Returns the row of the table, which lives as long as the program. */
const struct parameter_row *parameter_row(enum parameter id);
/* Returns the number of instances, at least 1. */
int parameter_instances(enum parameter id);
/* Gets the range of a knob or slider: the useful part of a number's range, or all values of a switch or choice. */
void parameter_span(enum parameter id, double *low, double *high);

/* parameter_find finds the id and index of a name such as prompt[3]; the index is 0 if the parameter has none. It
 * returns -1 with err set if there is no such parameter or instance. parameter_name prints the name and returns it. */
int parameter_find(const char *name, enum parameter *id, int *index, struct error *err);
const char *parameter_name(enum parameter id, int index, char name[PARAMETER_NAME_MAX]);
/* Returns true if name is an instance of pattern, in which [] stands for an index. */
bool parameter_matches(const char *pattern, const char *name, int *index);

/* Sets all values to the defaults of the table, without marks. */
void parameters_init(struct parameters *values);

/* Set a value and mark it. A value of the wrong type or out of range, or an index that does not exist, is refused: -1
 * is returned with err set, and the values stay as they are. text NULL: there is no text. */
int parameters_set_number(struct parameters *values, enum parameter id, int index, double number, struct error *err);
int parameters_set_text(struct parameters *values, enum parameter id, int index, const char *text, struct error *err);
int parameters_set_size(struct parameters *values, enum parameter id, int index, int width, int height,
                        struct error *err);
/* Sets a value from words: a number, a choice's word, on or off, WIDTHxHEIGHT, or the text itself. */
int parameters_parse(struct parameters *values, enum parameter id, int index, const char *text, struct error *err);
/* Adds to a number, rounds it to its decimals, stops at the ends of its range, and marks it. Adding NaN does
 * nothing. */
void parameters_add(struct parameters *values, enum parameter id, int index, double by);

/* Returns a number; a size or text gives NaN. */
double parameters_number(const struct parameters *values, enum parameter id, int index);
/* Returns a text, which lives until it is changed, or NULL if there is none or the parameter is not a text. */
const char *parameters_text(const struct parameters *values, enum parameter id, int index);
/* Prints a value so that parameters_parse reads exactly the same value back. Texts and sizes that are not given are "".
 * Returns out. */
const char *parameters_print(const struct parameters *values, enum parameter id, int index, char *out, size_t size);
/* Prints a value for people: reals with their decimals. Returns out. */
const char *parameters_show(const struct parameters *values, enum parameter id, int index, char *out, size_t size);

/* Reads "WIDTHxHEIGHT" or a name such as "hd720", with each side from min to max. Returns false if the text is
 * neither. */
bool parameters_read_size(const char *text, double min, double max, int *width, int *height);

/* Marks show which values were set since they were cleared. */
bool parameters_marked(const struct parameters *values, enum parameter id, int index);
bool parameters_any_marked(const struct parameters *values);
void parameters_clear_marks(struct parameters *values);

/* Copies the values that are marked in from, and marks them in to. */
void parameters_apply(struct parameters *to, const struct parameters *from);
/* Copies one value without marking it. */
void parameters_take(struct parameters *to, const struct parameters *from, enum parameter id, int index);
/* Copies the values of parameters that have one of these needs (bits 1 << enum parameter_need), without marking
 * them. */
void parameters_copy(struct parameters *to, const struct parameters *from, unsigned needs);
/* Sets all values with by_model and without a mark to their defaults, until the model says which values suit it. */
void parameters_leave_to_model(struct parameters *values);
/* Copies to *to the values that suit the model, from an engine's values: all with by_model that are not marked in
 * to. */
void parameters_follow_model(struct parameters *to, const struct parameters *from);
/* Returns true if both have the same value of this parameter. */
bool parameters_same(const struct parameters *a, const struct parameters *b, enum parameter id, int index);
/* Returns true if all parameters that have one of these needs (bits) have the same values. */
bool parameters_equal(const struct parameters *a, const struct parameters *b, unsigned needs);

#endif
