/* Converts parameters' values from and to text: parameters_parse, parameters_print and parameters_show. */
#include "app/control/parameters_impl.h"
#include "app/control/size_names.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool parameters_read_size(const char *text, double min, double max, int *width, int *height) {
  long side[2];
  if (isalpha((unsigned char)*text))
    return size_by_name(text, width, height) && fmin(*width, *height) >= min && fmax(*width, *height) <= max;
  for (int i = 0; i < 2; i++) {
    char *end = NULL;
    errno = 0;
    side[i] = isdigit((unsigned char)*text) ? strtol(text, &end, 10) : 0;
    if (!end || errno || (double)side[i] < min || (double)side[i] > max || *end != (i ? 0 : 'x'))
      return false;
    text = end + 1;
  }
  *width = (int)side[0];
  *height = (int)side[1];
  return true;
}

static int parse_size(struct parameters *values, enum parameter id, int index, const char *text, struct error *err) {
  int width, height;
  if (!parameters_read_size(text, parameter_row(id)->min, parameter_row(id)->max, &width, &height))
    return parameter_refuse(id, index, text, err);
  return parameters_set_size(values, id, index, width, height, err);
}

/* Reads a parameter's number; returns NaN if the text is not a number. Whole numbers are parsed as integers: parsed as
 * doubles, some numbers that are too large would be rounded to the end of the range and be accepted. */
static double read_number(const struct parameter_row *row, const char *text) {
  char *end;
  if (isspace((unsigned char)*text))
    return NAN;
  errno = 0;
  double number = row->type == TYPE_WHOLE ? (double)strtoll(text, &end, 10) : strtod(text, &end);
  return end == text || *end || (errno && row->type == TYPE_WHOLE) ? NAN : number;
}

static double read_word(const char *choices, const char *text) {
  size_t length = strlen(text);
  for (int i = 0; length; i++) {
    size_t size = strcspn(choices, "|");
    if (size == length && !memcmp(choices, text, size))
      return i;
    if (!choices[size])
      break;
    choices += size + 1;
  }
  return NAN;
}

static const char switch_words[] = "off|on";

int parameters_parse(struct parameters *values, enum parameter id, int index, const char *text, struct error *err) {
  const struct parameter_row *row = parameter_row(id);
  if (row->type == TYPE_TEXT)
    return parameters_set_text(values, id, index, text, err);
  if (row->type == TYPE_SIZE)
    return parse_size(values, id, index, text, err);
  double number = row->type == TYPE_CHOICE   ? read_word(row->choices, text)
                  : row->type == TYPE_SWITCH ? read_word(switch_words, text)
                                             : read_number(row, text);
  if (parameter_check_index(id, index, err))
    return -1;
  return parameter_is_valid(row, number) ? parameters_set_number(values, id, index, number, err)
                                         : parameter_refuse(id, index, text, err);
}

static const char *print_word(const char *choices, double number, char *out, size_t size) {
  for (int i = 0; i < number && *choices; i++)
    choices += strcspn(choices, "|") + 1;
  snprintf(out, size, "%.*s", (int)strcspn(choices, "|"), choices);
  return out;
}

static const char *print_size(const struct parameter_size *size, char *out, size_t length) {
  snprintf(out, length, size->width ? "%dx%d" : "", size->width, size->height);
  return out;
}

static const char *print(const struct parameters *values, enum parameter id, int index, const char *real, char *out,
                         size_t size) {
  const struct parameter_row *row = parameter_row(id);
  double number = parameters_number(values, id, index);
  const char *text = parameters_text(values, id, index);
  if (row->type == TYPE_CHOICE || row->type == TYPE_SWITCH)
    return print_word(row->type == TYPE_CHOICE ? row->choices : switch_words, number, out, size);
  if (row->type == TYPE_SIZE)
    return print_size(parameters_size(values, id, index), out, size);
  if (row->type == TYPE_TEXT)
    snprintf(out, size, "%s", text ? text : "");
  else if (row->type == TYPE_WHOLE)
    snprintf(out, size, "%.0f", number);
  else
    snprintf(out, size, "%s", real);
  return out;
}

const char *parameters_print(const struct parameters *values, enum parameter id, int index, char *out, size_t size) {
  char real[32];
  double number = parameters_number(values, id, index);
  /* the text gets as few digits as suffice to read it back as the same number */
  for (int digits = 1; digits <= 17; digits++) {
    snprintf(real, sizeof real, "%.*g", digits, number);
    if (strtod(real, NULL) == number)
      break;
  }
  return print(values, id, index, real, out, size);
}

const char *parameters_show(const struct parameters *values, enum parameter id, int index, char *out, size_t size) {
  char real[64];
  snprintf(real, sizeof real, "%.*f", parameter_row(id)->decimals, parameters_number(values, id, index));
  return print(values, id, index, real, out, size);
}
