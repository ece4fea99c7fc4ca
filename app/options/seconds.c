#include "app/options/seconds.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Parses a number with or without a unit: "2", "2.5s", "500ms", "250us". Returns false for other text. */
static bool read_with_unit(const char *text, double *seconds) {
  static const struct {
    const char *unit;
    double seconds;
  } units[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}};
  char *end;
  double number = strtod(text, &end);
  for (size_t i = 0; end != text && i < sizeof units / sizeof *units; i++)
    if (!strcmp(end, units[i].unit)) {
      *seconds = number * units[i].seconds;
      return true;
    }
  return false;
}

/* Reads digits, with a fraction after a point if `fraction` is true. *end points to the first character after the
 * digits. Returns false if there are none. */
static bool read_digits(const char *text, bool fraction, double *number, const char **end) {
  size_t length = strspn(text, "0123456789");
  *end = text + length;
  if (fraction && **end == '.')
    *end += 1 + strspn(*end + 1, "0123456789");
  *number = strtod(text, NULL);
  return length > 0;
}

/* Parses a duration in minutes or hours with colons: "0:02", "1:02:03.5". Returns false for other text. */
static bool read_clock(const char *text, double *seconds) {
  double sum = 0;
  for (int colons = 0; colons < 3; colons++) {
    double number;
    const char *end;
    bool digits = read_digits(text, !strchr(text, ':'), &number, &end);
    if (!digits || (colons && number >= 60) || (*end && *end != ':'))
      return false;
    sum = sum * 60 + number;
    if (!*end) {
      *seconds = sum;
      return true;
    }
    text = end + 1;
  }
  return false;
}

bool seconds_read(const char *text, double *seconds) {
  double read;
  if (isspace((unsigned char)*text) || !(strchr(text, ':') ? read_clock(text, &read) : read_with_unit(text, &read)) ||
      !isfinite(read))
    return false;
  *seconds = read;
  return true;
}
