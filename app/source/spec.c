#include "app/source/spec.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unet/base/address.h"
#include "unet/base/platform.h"

static const char digits[] = "0123456789";

/* If the text at *at begins with the word, moves *at past the word and returns true. */
static bool skip(const char **at, const char *word) {
  size_t length = strlen(word);
  bool begins = !strncmp(*at, word, length);
  *at += begins ? length : 0;
  return begins;
}

static bool skip_digits(const char **at) {
  size_t count = strspn(*at, digits);
  *at += count;
  return count > 0;
}

/* True if `spec` names an X display, with or without a screen's number and an offset in pixels: ":91", ":91.0",
 * ":91.0+100,100". */
static bool is_x_display(const char *spec) {
  bool fits = skip(&spec, ":") && skip_digits(&spec);
  if (fits && skip(&spec, "."))
    fits = skip_digits(&spec);
  if (fits && skip(&spec, "+"))
    fits = skip_digits(&spec) && skip(&spec, ",") && skip_digits(&spec);
  return fits && !*spec;
}

static bool is_whole_screen(const char *spec) {
  return (!strcmp(spec, "desktop") || !strcmp(spec, "screen")) && !platform_exists(spec);
}

int spec_resolve(const char *spec, char *out, struct error *err) {
  static const char grab[] = "x11grab:";
  const char *rest = spec;
  skip(&rest, "av://");
  if (skip(&rest, "tv://") && !*rest)
    rest = "camera";
  const char *device = strncmp(rest, "v4l2:", 5) ? NULL : strstr(rest, "/dev/");
  rest = device ? device : rest;
  bool whole = is_whole_screen(rest), screen = whole || is_x_display(rest);
  if (whole)
    rest = getenv("DISPLAY");
  if (!rest || !*rest)
    return error_set(err, STATUS_INPUT, "%s: there is no X display here: DISPLAY is not set", spec);
  if (strlen(rest) + sizeof grab > SPEC_MAX)
    return error_set(err, STATUS_INPUT, "%.60s...: a source's name has at most %d characters", address_shown(spec).text,
                     SPEC_MAX - (int)sizeof grab);
  snprintf(out, SPEC_MAX, "%s%s", screen ? grab : "", rest);
  return 0;
}
