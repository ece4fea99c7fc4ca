/* Every value a user may set: one table that says what each is, and one struct that holds them all. Command line, keys
 * and overlay bind to it; so does whatever else is to set values. To add a parameter, add a row to parameter_table.h.
 *
 * Numbers of every type travel as a double, which holds each of them exactly, as JSON does: whole ones end at 2^53 - 1.
 * A parameter may exist several times (prompt[1] to prompt[9]); a name's [] stands for the index. */
#ifndef APP_CONTROL_PARAMETERS_H
#define APP_CONTROL_PARAMETERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unet/base/controls.h"
#include "unet/base/error.h"

enum { PARAMETER_TEXT_MAX = 2048, PARAMETER_NAME_MAX = 48, PARAMETER_INSTANCES_MAX = 16 };
/* Used where no prompt is given: its effect is easy to see. */
#define PARAMETER_PROMPT_DEFAULT "neon"
/* Names of what there is without a name, where no file or folder is called so: the model that comes with the program,
 * and a model's own autoencoder. */
#define PARAMETER_MODEL_BUILT_IN "mini"
#define PARAMETER_VAE_OWN "own"
#define MIDI_LEARN_LAST "last" /* the parameter changed last */
/* What makes maps of depth where nobody names another network. */
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
  TYPE_CHOICE, /* int: 0, 1, ... in the order of choices */
  TYPE_SIZE,   /* struct parameter_size */
  TYPE_TEXT,   /* struct parameter_text */
};

/* What a change needs until it is seen. All but the first are live. */
enum parameter_need {
  NEED_START,       /* the engine is opened with it */
  NEED_ENGINE,      /* another engine is opened with it, beside the frames of the one in use */
  NEED_PREPARATION, /* the engine prepares anew, beside the frames */
  NEED_ENCODING,    /* the engine encodes the text before the next frame that uses it */
  NEED_READING,     /* a file is read beside the frames, and the next frame takes it */
  NEED_FRAME,       /* the next frame takes it */
  NEED_ROWS,    /* likewise, with guidance rows: where guidance comes to be other than 1, or to be 1 again, the engine
                   prepares anew, unless it embeds guidance */
  NEED_NOTHING, /* no picture depends on it, but for what it moves */
  NEEDS
};

struct parameter_row {
  const char *name;
  enum parameter_type type;
  enum parameter_need need;
  int first, count;    /* indices first .. first + count - 1; count 0: not indexed */
  size_t offset, size; /* of the first instance in struct parameters, from one to the next */
  double min, max;     /* numbers; of a size each side */
  double low, high;    /* what a knob or slider spans; both 0: from min to max */
  double standard;     /* the default: numbers */
  bool by_model;       /* where nobody set it, what suits the model takes the default's place */
  int decimals;        /* reals: shown and stepped through with so many */
  const char *unit;    /* NULL: a plain number, or none */
  const char *choices; /* "a|b|c" */
  const char *text;    /* the default: texts; NULL: none */
  const char *from;    /* the default in words, where they say more than its value */
  const char *help;
};

/* 0 by 0: not set. */
struct parameter_size {
  int width, height;
};

/* given false: there is none, which is not the same as an empty one. */
struct parameter_text {
  bool given;
  char words[PARAMETER_TEXT_MAX];
};

/* Texts of one parameter that a key steps through. */
enum { CHOICES_MAX = 16 };
struct parameter_choices {
  const char *text[CHOICES_MAX];
  int count;
};

/* A plain value: a field for each row of parameter_table.h. */
struct parameters {
  /* Texts come first; settings_copy goes by that. */
#define TEXT(ID, name, need, field, ...) struct parameter_text field;
#include "app/control/parameter_table.h"
  /* Values with the same number have the same texts, which are most of the bytes: 0 before any was written, then one
   * that nothing else in this process has had. */
  uint64_t texts;
  /* Wide fields come before narrow ones, so that no padding lies between them and equal values are equal bytes. */
#define SIZE(ID, name, need, field, ...) struct parameter_size field;
#define REAL(ID, name, need, field, ...) double field;
#define WHOLE(ID, name, need, field, ...) int64_t field;
#include "app/control/parameter_table.h"
#define CHOICE(ID, name, need, field, ...) int field;
#include "app/control/parameter_table.h"
#define SWITCH(ID, name, need, field, ...) bool field;
#include "app/control/parameter_table.h"
  /* One bit for each instance: set since the marks were last cleared. Marks are no value, and equality ignores them. */
  uint16_t marks[PARAMETERS];
};

const struct parameter_row *parameter_row(enum parameter id);
int parameter_instances(enum parameter id); /* at least 1 */
/* What a knob or slider spans: of a number the part of its range that is of use, of a switch or choice all it has. */
void parameter_span(enum parameter id, double *low, double *high);

/* From a name, as in prompt[3], to id and index (0 where there is none), and back. */
int parameter_find(const char *name, enum parameter *id, int *index, struct error *err);
const char *parameter_name(enum parameter id, int index, char name[PARAMETER_NAME_MAX]);
/* Whether name is an instance of pattern, whose [] stands for an index. */
bool parameter_matches(const char *pattern, const char *name, int *index);

/* Every value as the table has it; no marks. */
void parameters_init(struct parameters *values);

/* Setting checks, marks, and refuses with one line what is out of range, of another type or without such an index;
 * values are then as they were. Text NULL: none. */
int parameters_set_number(struct parameters *values, enum parameter id, int index, double number, struct error *err);
int parameters_set_text(struct parameters *values, enum parameter id, int index, const char *text, struct error *err);
int parameters_set_size(struct parameters *values, enum parameter id, int index, int width, int height,
                        struct error *err);
/* As text has it: a number, a choice's name, on or off, WIDTHxHEIGHT, or the text itself. */
int parameters_parse(struct parameters *values, enum parameter id, int index, const char *text, struct error *err);
/* Numbers: so much more, rounded to its decimals; stops at the ends of the range. Adding NaN does nothing. */
void parameters_add(struct parameters *values, enum parameter id, int index, double by);

double parameters_number(const struct parameters *values, enum parameter id, int index);
const char *parameters_text(const struct parameters *values, enum parameter id, int index); /* NULL: none */
/* What parameters_parse takes back to the bit. Texts and sizes that were not given are "". Returns out. */
const char *parameters_print(const struct parameters *values, enum parameter id, int index, char *out, size_t size);
/* As people read it: reals with their decimals. */
const char *parameters_show(const struct parameters *values, enum parameter id, int index, char *out, size_t size);

/* Reads "WIDTHxHEIGHT" or a name as in "hd720", each side from min to max. */
bool parameters_read_size(const char *text, double min, double max, int *width, int *height);

bool parameters_marked(const struct parameters *values, enum parameter id, int index);
bool parameters_any_marked(const struct parameters *values);
void parameters_clear_marks(struct parameters *values);

/* Copies what is marked in from; it is then marked in to as well. */
void parameters_apply(struct parameters *to, const struct parameters *from);
/* Copies one value, without a mark. */
void parameters_take(struct parameters *to, const struct parameters *from, enum parameter id, int index);
/* Copies the values of those parameters that have one of these needs (bits 1 << enum parameter_need), without marks. */
void parameters_copy(struct parameters *to, const struct parameters *from, unsigned needs);
/* What is by_model and has no mark is as the table has it: for a model that has not said yet what suits it. */
void parameters_leave_to_model(struct parameters *values);
/* Copies what is by_model and has no mark in to. */
void parameters_follow_model(struct parameters *to, const struct parameters *from);
/* Whether both have the same value there. */
bool parameters_same(const struct parameters *a, const struct parameters *b, enum parameter id, int index);
/* Compares the values of those parameters that have one of these needs. */
bool parameters_equal(const struct parameters *a, const struct parameters *b, unsigned needs);

#endif
