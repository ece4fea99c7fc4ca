/* Parameters are the values that a user can set, such as the prompt, the strength or the size. The table
 * parameter_table.h describes each of them, and struct parameters holds a value for each. Command line, keys, window
 * and remote clients all use them. A new parameter needs only a row in the table.
 *
 * Numbers of every type are passed as double; whole numbers are at most 2^53 - 1, so this is exact. A parameter may
 * have several instances, such as prompt[1] to prompt[9]; the table then names it "prompt[]". The functions take no
 * locks: only one thread at a time may use a struct parameters. */
#ifndef APP_CONTROL_PARAMETERS_H
#define APP_CONTROL_PARAMETERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unet/base/controls.h"
#include "unet/base/error.h"
#include "unet/base/parameter_row.h"

enum { LFOS_MAX = 4, OUTPUT_CORNERS = 4 };
enum { PARAMETER_TEXT_MAX = 2048, PARAMETER_NAME_MAX = 48, PARAMETER_INSTANCES_MAX = 16 };
/* A value of the parameter midi-learn: the next MIDI knob that is turned is bound to the parameter that was changed
 * last. */
#define MIDI_LEARN_LAST "last"

enum parameter {
  PARAMETER_NONE,
#define PARAMETER(TYPE, ID, ...) PARAMETER_##ID,
#include "app/control/parameter_table.h"
  PARAMETERS
};

/* Number of parameters that frames and their preparation need; these are parameters 1 to FRAME_PARAMETERS. */
enum {
  FRAME_PARAMETERS = 0
#define FRAME_ROWS_ALONE
#define PARAMETER(TYPE, ID, ...) +1
#include "app/control/parameter_table.h"
};

/* A size in pixels. 0 by 0: the user has set none. */
struct parameter_size {
  int width, height;
};

/* The value of a parameter that is a text. `given` false: the parameter has no text, which differs from an empty
 * text. */
struct parameter_text {
  bool given;
  char words[PARAMETER_TEXT_MAX];
};

/* The texts, such as names of LoRA files, through which a key press steps to set a parameter. The strings are
 * borrowed. */
enum { CHOICES_MAX = 16 };
struct parameter_choices {
  const char *text[CHOICES_MAX];
  int count;
};

/* The values of all parameters: a field for each row of parameter_table.h. A plain value, which may be copied. */
struct parameters {
  /* All texts come first, so that settings_copy can copy or skip them as one block. */
#define TEXT(ID, name, need, group, label, field, ...) struct parameter_text field;
#include "app/control/parameter_table.h"
  /* Number of the version of the texts: two structs with the same number have equal texts, so that the texts need not
   * be compared. Each change of a text stores a number that was not used before in this process. 0: no text was set
   * yet. */
  uint64_t texts;
  /* Wide fields come before narrow ones, so that there is no padding between them and equal values have equal bytes. */
#define SIZE(ID, name, need, group, label, field, ...) struct parameter_size field;
#define REAL(ID, name, need, group, label, field, ...) double field;
#define WHOLE(ID, name, need, group, label, field, ...) int64_t field;
#include "app/control/parameter_table.h"
#define CHOICE(ID, name, need, group, label, field, ...) int field;
#include "app/control/parameter_table.h"
#define SWITCH(ID, name, need, group, label, field, ...) bool field;
#include "app/control/parameter_table.h"
  /* Marks: a bit for each instance of each parameter, 1 if the parameter was set since parameters_clear_marks was
   * called last. Comparisons ignore the marks. */
  uint16_t marks[PARAMETERS];
};

/* Returns the description of a parameter, which lives as long as the program. */
const struct parameter_row *parameter_row(enum parameter id);
/* Returns how many instances a parameter has (prompt[1], prompt[2], ...); 1 for a parameter without instances. */
int parameter_instances(enum parameter id);
/* Stores the range that a knob or slider for this parameter covers: from `low` to `high` of its parameter_row if these
 * are given, else from `min` to `max`. For a switch the range is 0 to 1, for a choice 0 to the last choice's index. */
void parameter_span(enum parameter id, double *low, double *high);

/* parameter_find parses a name such as "prompt[3]" into `id` and `index` (0: the parameter has no index). It returns 0,
 * or -1 with err set if there is no such parameter or instance. parameter_name writes the name of `id` and `index`, and
 * returns it. */
int parameter_find(const char *name, enum parameter *id, int *index, struct error *err);
const char *parameter_name(enum parameter id, int index, char name[PARAMETER_NAME_MAX]);
/* Returns true if `name` is an instance of `pattern`, as "prompt[3]" is of "prompt[]". *index gets the instance's
 * number, or 0 if the pattern has no []. */
bool parameter_matches(const char *pattern, const char *name, int *index);
/* Writes the name that people read, such as "Prompt 3", and returns it. index: as in parameter_name. */
const char *parameter_label(enum parameter id, int index, char label[PARAMETER_NAME_MAX]);

/* Sets all parameters to the defaults of the table, and clears all marks (that they were set). */
void parameters_init(struct parameters *values);
/* Sets one parameter to its default, and clears its mark (that it was set). */
void parameters_reset(struct parameters *values, enum parameter id, int index);

/* These functions set a parameter's value and mark the parameter as set. They return 0, or -1 with err set if the value
 * has the wrong type, is out of range, or the index does not exist; nothing is changed then. `text` NULL: removes the
 * parameter's text. */
int parameters_set_number(struct parameters *values, enum parameter id, int index, double number, struct error *err);
int parameters_set_text(struct parameters *values, enum parameter id, int index, const char *text, struct error *err);
int parameters_set_size(struct parameters *values, enum parameter id, int index, int width, int height,
                        struct error *err);
/* Parses `text` and sets the parameter's value. The text is a number, a choice's word, "on" or "off", WIDTHxHEIGHT, or
 * for a text parameter the text itself. Returns 0, or -1 with err set. */
int parameters_parse(struct parameters *values, enum parameter id, int index, const char *text, struct error *err);
/* Adds `by` to the parameter's number, rounds the sum to the parameter's decimals, limits it to the parameter's range,
 * and marks the parameter as set. NaN changes nothing. */
void parameters_add(struct parameters *values, enum parameter id, int index, double by);

/* Returns a parameter's value as a number: 0 or 1 for a switch, the index for a choice, NaN for a size or text. */
double parameters_number(const struct parameters *values, enum parameter id, int index);
/* Returns the text of a parameter, valid until that text changes. NULL: the parameter has no text, or its type is not
 * TYPE_TEXT. */
const char *parameters_text(const struct parameters *values, enum parameter id, int index);
/* Writes a parameter's value so that parameters_parse reads exactly the same value back. A text or size that is not
 * given becomes "". Returns `out`. */
const char *parameters_print(const struct parameters *values, enum parameter id, int index, char *out, size_t size);
/* Writes a parameter's value for people to read: real numbers are rounded to the parameter's decimals. Returns
 * `out`. */
const char *parameters_show(const struct parameters *values, enum parameter id, int index, char *out, size_t size);

/* Parses "WIDTHxHEIGHT" or a name such as "hd720". Both sides must be between `min` and `max`. Returns false if the
 * text is neither. */
bool parameters_read_size(const char *text, double min, double max, int *width, int *height);

/* Returns true if the value was set since parameters_clear_marks was called last. */
bool parameters_marked(const struct parameters *values, enum parameter id, int index);
bool parameters_any_marked(const struct parameters *values);
/* Mark a value as set, or clear its mark; the value stays as it is. */
void parameters_mark(struct parameters *values, enum parameter id, int index);
void parameters_unmark(struct parameters *values, enum parameter id, int index);
void parameters_clear_marks(struct parameters *values);

/* Copies the values that are marked (as set by the user) in `from` to `to`, and marks these values in `to`. Other
 * values of `to` are not changed. */
void parameters_apply(struct parameters *to, const struct parameters *from);
/* Copies the value of one parameter without marking it as set by the user. */
void parameters_take(struct parameters *to, const struct parameters *from, enum parameter id, int index);
/* Copies the values of all parameters whose need (what must be done before a change has an effect) is in the set
 * `needs`, with a bit 1 << enum parameter_need for each. Does not mark them as set. */
void parameters_copy(struct parameters *to, const struct parameters *from, unsigned needs);
/* Resets to its default each parameter for which models recommend a value (by_model in its parameter_row), unless the
 * user has set it (its mark). Called before a model is opened, which then recommends its own values. */
void parameters_leave_to_model(struct parameters *values);
/* Copies the values that the model recommends from `from`, the values that an engine reports, to `to`. These are the
 * parameters with by_model in their parameter_row. Values that the user has set (marked in `to`) stay. */
void parameters_follow_model(struct parameters *to, const struct parameters *from);
/* returns true if both structs have the same value of this parameter */
bool parameters_same(const struct parameters *a, const struct parameters *b, enum parameter id, int index);
/* Returns true if `a` and `b` have the same values of all parameters whose need (what must be done before a change has
 * an effect) is in the set `needs`, with a bit 1 << enum parameter_need for each. */
bool parameters_equal(const struct parameters *a, const struct parameters *b, unsigned needs);

#endif
