#include "app/control/parameters_impl.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct parameter_row *parameter_row(enum parameter id) {
  return &parameter_table[id];
}

int parameter_instances(enum parameter id) {
  return parameter_table[id].count ? parameter_table[id].count : 1;
}

static int choice_count(const struct parameter_row *row) {
  int count = 1;
  for (const char *at = row->choices; *at; at++)
    count += *at == '|';
  return count;
}

void parameter_span(enum parameter id, double *low, double *high) {
  const struct parameter_row *row = &parameter_table[id];
  bool chosen = row->low < row->high;
  *low = chosen ? row->low : row->min;
  *high = row->type == TYPE_SWITCH   ? 1
          : row->type == TYPE_CHOICE ? choice_count(row) - 1
          : chosen                   ? row->high
                                     : row->max;
}

/* In a parameter's name, an index that is at least this number is read as this number, so that a long index cannot
 * overflow. No parameter has so many instances. */
enum { INDEX_BEYOND = 1000 };

bool parameter_matches(const char *pattern, const char *name, int *index) {
  size_t head = strcspn(pattern, "[");
  *index = 0;
  if (!pattern[head])
    return !strcmp(pattern, name);
  if (strncmp(pattern, name, head) || name[head] != '[' || !isdigit((unsigned char)name[head + 1]))
    return false;
  char *end;
  long number = strtol(name + head + 1, &end, 10);
  *index = number < INDEX_BEYOND ? (int)number : INDEX_BEYOND;
  return !strcmp(end, pattern + head + 1);
}

const char *parameter_name(enum parameter id, int index, char name[PARAMETER_NAME_MAX]) {
  const char *pattern = parameter_table[id].name;
  int head = (int)strcspn(pattern, "[");
  if (pattern[head])
    snprintf(name, PARAMETER_NAME_MAX, "%.*s[%d%s", head, pattern, index, pattern + head + 1);
  else
    snprintf(name, PARAMETER_NAME_MAX, "%s", pattern);
  return name;
}

const char *parameter_label(enum parameter id, int index, char label[PARAMETER_NAME_MAX]) {
  const char *pattern = parameter_table[id].label, *number = strstr(pattern, "[]");
  if (number)
    snprintf(label, PARAMETER_NAME_MAX, "%.*s%d%s", (int)(number - pattern), pattern, index, number + 2);
  else
    snprintf(label, PARAMETER_NAME_MAX, "%s", pattern);
  return label;
}

/* Checks that the parameter has the instance `index`. name: the parameter's name for the error message. Returns 0, or
 * -1 with err. */
static int check_instance(enum parameter id, int index, const char *name, struct error *err) {
  const struct parameter_row *row = &parameter_table[id];
  if (index >= row->first && index < row->first + parameter_instances(id))
    return 0;
  return error_set(err, STATUS_USAGE, "%.40s: there are %d to %d", name, row->first,
                   row->first + parameter_instances(id) - 1);
}

int parameter_check_index(enum parameter id, int index, struct error *err) {
  char name[PARAMETER_NAME_MAX];
  return check_instance(id, index, parameter_name(id, index, name), err);
}

int parameter_find(const char *name, enum parameter *id, int *index, struct error *err) {
  for (int i = PARAMETER_NONE + 1; i < PARAMETERS; i++)
    if (parameter_matches(parameter_table[i].name, name, index)) {
      *id = (enum parameter)i;
      return check_instance(*id, *index, name, err);
    }
  return error_set(err, STATUS_USAGE, "%.40s: there is no parameter of that name", name);
}

static void *field(struct parameters *values, enum parameter id, int index) {
  const struct parameter_row *row = &parameter_table[id];
  return (char *)values + row->offset + row->size * (size_t)(index - row->first);
}

static const void *const_field(const struct parameters *values, enum parameter id, int index) {
  return field((struct parameters *)(uintptr_t)values, id, index);
}

void parameters_mark(struct parameters *values, enum parameter id, int index) {
  values->marks[id] |= (uint16_t)(1u << (index - parameter_table[id].first));
}

void parameters_unmark(struct parameters *values, enum parameter id, int index) {
  values->marks[id] &= (uint16_t) ~(1u << (index - parameter_table[id].first));
}

static void store(struct parameters *values, enum parameter id, int index, double number) {
  void *at = field(values, id, index);
  switch (parameter_table[id].type) {
  case TYPE_REAL:
    *(double *)at = number;
    break;
  case TYPE_WHOLE:
    *(int64_t *)at = (int64_t)number;
    break;
  case TYPE_SWITCH:
    *(bool *)at = number > 0;
    break;
  case TYPE_CHOICE:
    *(int *)at = (int)number;
    break;
  case TYPE_SIZE:
  case TYPE_TEXT:
    break;
  }
}

double parameters_number(const struct parameters *values, enum parameter id, int index) {
  const void *at = const_field(values, id, index);
  switch (parameter_table[id].type) {
  case TYPE_REAL:
    return *(const double *)at;
  case TYPE_WHOLE:
    return (double)*(const int64_t *)at;
  case TYPE_SWITCH:
    return *(const bool *)at;
  case TYPE_CHOICE:
    return *(const int *)at;
  case TYPE_SIZE:
  case TYPE_TEXT:
    break;
  }
  return NAN;
}

const char *parameters_text(const struct parameters *values, enum parameter id, int index) {
  const struct parameter_text *text = const_field(values, id, index);
  return parameter_table[id].type == TYPE_TEXT && text->given ? text->words : NULL;
}

const struct parameter_size *parameters_size(const struct parameters *values, enum parameter id, int index) {
  return const_field(values, id, index);
}

static void renew_texts(struct parameters *values) {
  static atomic_uint_fast64_t last;
  values->texts = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

static void store_text(struct parameters *values, enum parameter id, int index, const char *words) {
  struct parameter_text *text = field(values, id, index);
  memset(text, 0, sizeof *text);
  text->given = words != NULL;
  if (words)
    snprintf(text->words, sizeof text->words, "%s", words);
  renew_texts(values);
}

void parameters_reset(struct parameters *values, enum parameter id, int index) {
  const struct parameter_row *row = &parameter_table[id];
  if (row->type == TYPE_TEXT)
    store_text(values, id, index, row->text);
  else if (row->type == TYPE_SIZE)
    *(struct parameter_size *)field(values, id, index) = (struct parameter_size){0};
  else
    store(values, id, index, row->standard);
  parameters_unmark(values, id, index);
}

void parameters_init(struct parameters *values) {
  *values = (struct parameters){0};
  for (enum parameter id = PARAMETER_NONE + 1; id < PARAMETERS; id++)
    for (int i = 0; i < parameter_instances(id); i++)
      parameters_reset(values, id, parameter_table[id].first + i);
}

int parameter_refuse(enum parameter id, int index, const char *given, struct error *err) {
  const struct parameter_row *row = &parameter_table[id];
  char name[PARAMETER_NAME_MAX];
  parameter_name(id, index, name);
  switch (row->type) {
  case TYPE_REAL:
    return error_set(err, STATUS_USAGE, "%s %.40s: a number from %g to %g is needed", name, given, row->min, row->max);
  case TYPE_WHOLE:
    return error_set(err, STATUS_USAGE, "%s %.40s: a whole number from %.0f to %.0f is needed", name, given, row->min,
                     row->max);
  case TYPE_SWITCH:
    return error_set(err, STATUS_USAGE, "%s %.40s: on or off is needed", name, given);
  case TYPE_CHOICE:
    return error_set(err, STATUS_USAGE, "%s %.40s: one of %s is needed", name, given, row->choices);
  case TYPE_SIZE:
    return error_set(err, STATUS_USAGE, "%s %.40s: WIDTHxHEIGHT is needed, each from %.0f to %.0f, as in 512x288", name,
                     given, row->min, row->max);
  case TYPE_TEXT:
    break;
  }
  return error_set(err, STATUS_USAGE, "%s %.40s: a text of at most %d bytes is needed", name, given,
                   PARAMETER_TEXT_MAX - 1);
}

bool parameter_is_valid(const struct parameter_row *row, double number) {
  switch (row->type) {
  case TYPE_REAL:
    return number >= row->min && number <= row->max;
  case TYPE_WHOLE:
    return number >= row->min && number <= row->max && trunc(number) == number;
  case TYPE_SWITCH:
    return number == 0 || number == 1;
  case TYPE_CHOICE:
    return number >= 0 && number < choice_count(row) && trunc(number) == number;
  case TYPE_SIZE:
  case TYPE_TEXT:
    break;
  }
  return false;
}

int parameters_set_number(struct parameters *values, enum parameter id, int index, double number, struct error *err) {
  char given[32];
  if (parameter_check_index(id, index, err))
    return -1;
  if (!parameter_is_valid(&parameter_table[id], number)) {
    snprintf(given, sizeof given, "%.17g", number);
    return parameter_refuse(id, index, given, err);
  }
  store(values, id, index, number);
  parameters_mark(values, id, index);
  return 0;
}

int parameters_set_text(struct parameters *values, enum parameter id, int index, const char *text, struct error *err) {
  if (parameter_check_index(id, index, err))
    return -1;
  if (parameter_table[id].type != TYPE_TEXT || (text && strlen(text) >= PARAMETER_TEXT_MAX))
    return parameter_refuse(id, index, text ? text : "", err);
  store_text(values, id, index, text);
  parameters_mark(values, id, index);
  return 0;
}

int parameters_set_size(struct parameters *values, enum parameter id, int index, int width, int height,
                        struct error *err) {
  const struct parameter_row *row = &parameter_table[id];
  char given[32];
  if (parameter_check_index(id, index, err))
    return -1;
  if (row->type != TYPE_SIZE || fmin(width, height) < row->min || fmax(width, height) > row->max) {
    snprintf(given, sizeof given, "%dx%d", width, height);
    return parameter_refuse(id, index, given, err);
  }
  *(struct parameter_size *)field(values, id, index) = (struct parameter_size){width, height};
  parameters_mark(values, id, index);
  return 0;
}

void parameters_add(struct parameters *values, enum parameter id, int index, double by) {
  const struct parameter_row *row = &parameter_table[id];
  double grid = pow(10, row->decimals), sum = parameters_number(values, id, index) + by;
  if (isnan(sum))
    return;
  store(values, id, index, fmin(row->max, fmax(row->min, round(sum * grid) / grid)));
  parameters_mark(values, id, index);
}

bool parameters_marked(const struct parameters *values, enum parameter id, int index) {
  return values->marks[id] >> (index - parameter_table[id].first) & 1;
}

bool parameters_any_marked(const struct parameters *values) {
  for (int id = 0; id < PARAMETERS; id++)
    if (values->marks[id])
      return true;
  return false;
}

void parameters_clear_marks(struct parameters *values) {
  memset(values->marks, 0, sizeof values->marks);
}

void parameters_take(struct parameters *to, const struct parameters *from, enum parameter id, int index) {
  bool text = parameter_table[id].type == TYPE_TEXT;
  if (text && parameters_same(to, from, id, index))
    return;
  if (text)
    renew_texts(to);
  memcpy(field(to, id, index), const_field(from, id, index), parameter_table[id].size);
}

void parameters_apply(struct parameters *to, const struct parameters *from) {
  for (enum parameter id = PARAMETER_NONE + 1; id < PARAMETERS; id++) {
    int first = parameter_table[id].first;
    for (int i = first; from->marks[id] && i < first + parameter_instances(id); i++)
      if (parameters_marked(from, id, i)) {
        parameters_take(to, from, id, i);
        parameters_mark(to, id, i);
      }
  }
}

void parameters_copy(struct parameters *to, const struct parameters *from, unsigned needs) {
  for (enum parameter id = PARAMETER_NONE + 1; id < PARAMETERS; id++)
    for (int i = 0; needs >> parameter_table[id].need & 1 && i < parameter_instances(id); i++)
      parameters_take(to, from, id, parameter_table[id].first + i);
}

void parameters_follow_model(struct parameters *to, const struct parameters *from) {
  for (enum parameter id = PARAMETER_NONE + 1; id < PARAMETERS; id++)
    if (parameter_table[id].by_model && !parameters_marked(to, id, parameter_table[id].first))
      parameters_take(to, from, id, parameter_table[id].first);
}

void parameters_leave_to_model(struct parameters *values) {
  struct parameters standard;
  parameters_init(&standard);
  parameters_follow_model(values, &standard);
}

bool parameters_same(const struct parameters *a, const struct parameters *b, enum parameter id, int index) {
  const struct parameter_row *row = &parameter_table[id];
  if (row->type != TYPE_TEXT && !memcmp(const_field(a, id, index), const_field(b, id, index), row->size))
    return true;
  if (row->type != TYPE_TEXT)
    return row->type != TYPE_SIZE && parameters_number(a, id, index) == parameters_number(b, id, index);
  const char *first = parameters_text(a, id, index), *second = parameters_text(b, id, index);
  return first && second ? !strcmp(first, second) : first == second;
}

/* Returns true if a and b have the same version of the texts and equal bytes in all other values. This is a quick test
 * before single values are compared: if it is false, the values may still be equal, because equal texts may have
 * different versions. */
static bool are_copies(const struct parameters *a, const struct parameters *b) {
  enum { LENGTH = offsetof(struct parameters, marks) - offsetof(struct parameters, texts) };
  return !memcmp(&a->texts, &b->texts, LENGTH);
}

bool parameters_equal(const struct parameters *a, const struct parameters *b, unsigned needs) {
  if (are_copies(a, b))
    return true;
  for (enum parameter id = PARAMETER_NONE + 1; id < PARAMETERS; id++) {
    const struct parameter_row *row = &parameter_table[id];
    bool looked_at = needs >> row->need & 1 && (row->type != TYPE_TEXT || a->texts != b->texts);
    for (int i = 0; looked_at && i < parameter_instances(id); i++)
      if (!parameters_same(a, b, id, row->first + i))
        return false;
  }
  return true;
}
