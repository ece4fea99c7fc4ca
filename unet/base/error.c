#include "unet/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "unet/base/address.h"
#include "unet/base/text.h"

/* Room for a formatted line before passwords are removed from its addresses. Only after that is the line cut to its
 * final size. If it were cut first, a cut inside a password would leave a beginning of the password that looks like a
 * host and is not removed. */
enum { LINE_MAX_BYTES = 4096 };

static void keep(struct error *err, char *line, size_t size) {
  snprintf(err->message, sizeof err->message, "%s", address_conceal(line, size));
  text_clean(err->message);
}

int error_set(struct error *err, enum status status, const char *format, ...) {
  if (!err)
    return -1;
  char text[LINE_MAX_BYTES];
  va_list args;
  va_start(args, format);
  err->status = status;
  err->lost = err->absent = false;
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  keep(err, text, sizeof text);
  return -1;
}

int error_mark_lost(struct error *err) {
  if (err)
    err->lost = true;
  return -1;
}

int error_mark_absent(struct error *err) {
  if (err)
    err->absent = true;
  return -1;
}

int error_prefix(struct error *err, const char *format, ...) {
  if (!err)
    return -1;
  char text[LINE_MAX_BYTES];
  va_list args;
  va_start(args, format);
  int used = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (used >= 0 && (size_t)used < sizeof text)
    snprintf(text + used, sizeof text - (size_t)used, "%s", err->message);
  keep(err, text, sizeof text);
  return -1;
}
