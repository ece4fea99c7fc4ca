#include "app/control/modulation.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double smoothing_most = 60, amount_most = 1e9;
/* If a smoothed value differs from its target by less than this, it is set to the target. Otherwise changes too small
 * to be seen would make the engine compute a new picture of the same frame again and again. */
static const double near_enough = 1e-4;

static int refuse(const char *text, struct error *err) {
  return error_set(err, STATUS_USAGE,
                   "--modulate %.80s: PARAMETER=VALUE*AMOUNT or PARAMETER=VALUE*AMOUNT~SECONDS is needed, as in "
                   "strength=bass*0.3~0.2",
                   text);
}

/* Reads a number between -most and most from the beginning of text. Returns the rest of the text, or NULL if text does
 * not begin with such a number. */
static const char *read_number(const char *text, double most, double *number) {
  char *end;
  if (isspace((unsigned char)*text))
    return NULL;
  *number = strtod(text, &end);
  return end == text || !(fabs(*number) <= most) ? NULL : end;
}

static int read_word(const char *text, size_t length) {
  const char *word = SOUND_WORDS;
  for (int i = 0; i < SOUND_VALUES; i++) {
    size_t size = strcspn(word, "|");
    if (size == length && !strncmp(word, text, length))
      return i;
    word += size + 1;
  }
  return -1;
}

bool modulation_can_move(enum parameter id) {
  const struct parameter_row *row = parameter_row(id);
  return (row->type == TYPE_REAL || row->type == TYPE_WHOLE) && row->need == NEED_FRAME;
}

int modulation_find(const char *name, enum parameter *id, int *index, struct error *err) {
  if (parameter_find(name, id, index, err))
    return -1;
  const struct parameter_row *row = parameter_row(*id);
  if (row->type != TYPE_REAL && row->type != TYPE_WHOLE)
    return error_set(err, STATUS_USAGE, "%.40s is no number", name);
  if (!modulation_can_move(*id))
    return error_set(err, STATUS_USAGE, "%.40s cannot change from frame to frame", name);
  return 0;
}

static int read_parameter(struct modulation *modulation, const char *text, size_t length, struct error *err) {
  char name[PARAMETER_NAME_MAX] = "";
  struct error why;
  if (length >= sizeof name)
    return refuse(text, err);
  memcpy(name, text, length);
  if (modulation_find(name, &modulation->id, &modulation->index, &why))
    return error_set(err, STATUS_USAGE, "--modulate %.80s: %s", text, why.message);
  return 0;
}

int modulation_read(struct modulation *modulation, const char *text, struct error *err) {
  const char *sign = strchr(text, '='), *star = sign ? strchr(sign, '*') : NULL;
  *modulation = (struct modulation){0};
  if (!star)
    return refuse(text, err);
  if (read_parameter(modulation, text, (size_t)(sign - text), err))
    return -1;
  int by = read_word(sign + 1, (size_t)(star - sign - 1));
  if (by < 0)
    return error_set(err, STATUS_USAGE, "--modulate %.80s: behind = one of %s is needed", text, SOUND_WORDS);
  modulation->by = (enum sound_value)by;
  const char *rest = read_number(star + 1, amount_most, &modulation->amount);
  if (rest && *rest == '~')
    rest = read_number(rest + 1, smoothing_most, &modulation->smoothing);
  return rest && !*rest && modulation->smoothing >= 0 ? 0 : refuse(text, err);
}

void modulations_follow(struct modulations *modulations, const double values[SOUND_VALUES], int64_t now_ns) {
  double step_s = modulations->at_ns ? (double)(now_ns - modulations->at_ns) * 1e-9 : 0;
  modulations->at_ns = now_ns;
  for (int i = 0; i < modulations->count; i++) {
    struct modulation *moved = &modulations->entry[i];
    double more = values[moved->by] - moved->smooth;
    bool there = moved->smoothing <= 0 || fabs(more) < near_enough;
    moved->smooth += there ? more : more * (1 - exp(-step_s / moved->smoothing));
  }
}

/* Adds `by` to a parameter's value, limited to its range. The mark that somebody has set the value does not change,
 * except for the parameter detail: if detail were not marked, the engine would use its own value. */
static void add(struct parameters *values, enum parameter id, int index, double by) {
  const struct parameter_row *row = parameter_row(id);
  double sum = values_number(values, id, index) + by;
  uint16_t marks = values->marks[id];
  sum = fmin(row->max, fmax(row->min, sum));
  parameters_set_number(values, id, index, row->type == TYPE_WHOLE ? round(sum) : sum, NULL);
  if (id != PARAMETER_DETAIL)
    values->marks[id] = marks;
}

void modulation_add(struct settings *settings, enum parameter id, int index, double by) {
  float before[SLOT_PRESETS], after[SLOT_PRESETS];
  values_shares(&settings->values, before);
  add(&settings->values, id, index, by);
  values_shares(&settings->values, after);
  if (memcmp(before, after, sizeof after) != 0)
    fade_begin(&settings->fade, after);
}

void modulations_apply(const struct modulations *modulations, struct settings *settings) {
  for (int i = 0; i < modulations->count; i++) {
    const struct modulation *moved = &modulations->entry[i];
    if (moved->smooth > 0)
      modulation_add(settings, moved->id, moved->index, moved->amount * moved->smooth);
  }
}
