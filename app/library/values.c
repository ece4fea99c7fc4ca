/* Lists the parameters, and reads and sets their values by name. */
#include <stdio.h>

#include "app/library/library.h"

/* --- the list of the parameters that programs may set --- */

/* True if programs may set this parameter by its name. Parameters with NEED_READING name picture files; instead of the
 * file's name, a program passes the pixels (reverie_set_style). */
static bool is_listed(enum parameter id) {
  return parameter_row(id)->need != NEED_READING;
}

int reverie_parameter_count(void) {
  int count = 0;
  for (int id = 1; id <= FRAME_PARAMETERS; id++)
    count += is_listed((enum parameter)id);
  return count;
}

static int when(enum parameter_need need) {
  switch (need) {
  case NEED_START:
  case NEED_ENGINE:
    return REVERIE_AT_OPENING;
  case NEED_PREPARATION:
  case NEED_ROWS:
    return REVERIE_AT_PREPARATION;
  case NEED_ENCODING:
  case NEED_READING:
  case NEED_FRAME:
  case NEED_NOTHING:
  case NEEDS:
    break;
  }
  return REVERIE_AT_FRAME;
}

static struct reverie_parameter describe(enum parameter id) {
  static const int types[] = {
      [TYPE_REAL] = REVERIE_REAL,     [TYPE_WHOLE] = REVERIE_WHOLE, [TYPE_SWITCH] = REVERIE_SWITCH,
      [TYPE_CHOICE] = REVERIE_CHOICE, [TYPE_SIZE] = REVERIE_SIZE,   [TYPE_TEXT] = REVERIE_TEXT};
  const struct parameter_row *row = parameter_row(id);
  struct reverie_parameter own = {
      .name = row->name,
      .type = types[row->type],
      .when = when(row->need),
      .instances = row->count,
      .decimals = row->decimals,
      .least = row->min,
      .most = row->max,
      .standard = row->standard,
      .by_model = row->by_model,
      .unit = row->unit,
      .choices = row->choices,
      .from = row->from && *row->from ? row->from : NULL,
      .help = row->help,
  };
  parameter_span(id, &own.low, &own.high);
  if (row->type == TYPE_CHOICE || row->type == TYPE_SWITCH)
    own.least = own.low, own.most = own.high;
  return own;
}

int reverie_describe_parameter(int number, struct reverie_parameter *parameter, struct reverie_error *error) {
  int at = -1;
  struct error err;
  if (library_check_size(parameter, LIBRARY_LEAST, "reverie_parameter", &err))
    return library_tell(error, &err);
  for (int id = 1; id <= FRAME_PARAMETERS; id++) {
    at += is_listed((enum parameter)id);
    if (at != number || !is_listed((enum parameter)id))
      continue;
    struct reverie_parameter own = describe((enum parameter)id);
    library_write(parameter, &own, sizeof own);
    return library_tell(error, NULL);
  }
  return library_refuse(error, "parameter %d: there are 0 to %d", number, at);
}

/* --- setting and reading values of parameters --- */

static int find(const char *name, enum parameter *id, int *index, struct error *err) {
  if (!name)
    return error_set(err, STATUS_USAGE, "no name of a parameter was given");
  if (parameter_find(name, id, index, err))
    return -1;
  if ((int)*id > FRAME_PARAMETERS)
    return error_set(err, STATUS_USAGE, "%.40s: belongs to the program reverie, not to frames", name);
  if (!is_listed(*id))
    return error_set(err, STATUS_USAGE, "%.40s: is given as a picture, by reverie_set_style", name);
  return 0;
}

/* Finds the parameter of this name among those that programs may set (`find`). Fails also if the parameter cannot be
 * changed any more, because reverie_open has read it. */
static int find_to_set(const struct reverie *reverie, const char *name, enum parameter *id, int *index,
                       struct error *err) {
  if (find(name, id, index, err))
    return -1;
  if (reverie->engine && when(parameter_row(*id)->need) == REVERIE_AT_OPENING)
    return error_set(err, STATUS_USAGE, "%.40s: reverie_open reads it, so it is set before that", name);
  return 0;
}

int reverie_set(struct reverie *reverie, const char *name, const char *text, struct reverie_error *error) {
  enum parameter id;
  int index, status;
  struct error err;
  if (find_to_set(reverie, name, &id, &index, &err))
    return library_tell(error, &err);
  pthread_mutex_lock(&reverie->lock);
  if (text)
    status = parameters_parse(&reverie->asked.values, id, index, text, &err);
  else
    status = 0, parameters_reset(&reverie->asked.values, id, index);
  pthread_mutex_unlock(&reverie->lock);
  return library_tell(error, status ? &err : NULL);
}

int reverie_set_number(struct reverie *reverie, const char *name, double number, struct reverie_error *error) {
  enum parameter id;
  int index;
  struct error err;
  if (find_to_set(reverie, name, &id, &index, &err))
    return library_tell(error, &err);
  pthread_mutex_lock(&reverie->lock);
  int status = parameters_set_number(&reverie->asked.values, id, index, number, &err);
  pthread_mutex_unlock(&reverie->lock);
  return library_tell(error, status ? &err : NULL);
}

int reverie_get(struct reverie *reverie, const char *name, char *text, size_t size, struct reverie_error *error) {
  enum parameter id;
  int index;
  struct error err;
  char whole[PARAMETER_TEXT_MAX];
  if (find(name, &id, &index, &err))
    return library_tell(error, &err);
  pthread_mutex_lock(&reverie->lock);
  parameters_print(&reverie->asked.values, id, index, whole, sizeof whole);
  pthread_mutex_unlock(&reverie->lock);
  if (strlen(whole) >= size)
    return library_refuse(error, "%.40s: the value takes %zu bytes, and there is room for %zu", name, strlen(whole) + 1,
                          size);
  strcpy(text, whole);
  return library_tell(error, NULL);
}
