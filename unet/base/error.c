#include "unet/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "unet/base/text.h"

int error_set(struct error *err, enum status status, const char *format, ...) {
  if (!err)
    return -1;
  va_list args;
  va_start(args, format);
  err->status = status;
  err->lost = false;
  vsnprintf(err->message, sizeof err->message, format, args);
  va_end(args);
  text_clean(err->message);
  return -1;
}

int error_mark_lost(struct error *err) {
  if (err)
    err->lost = true;
  return -1;
}

int error_prefix(struct error *err, const char *format, ...) {
  if (!err)
    return -1;
  char old[sizeof err->message];
  memcpy(old, err->message, sizeof old);
  va_list args;
  va_start(args, format);
  int used = vsnprintf(err->message, sizeof err->message, format, args);
  va_end(args);
  if (used >= 0 && (size_t)used < sizeof err->message)
    snprintf(err->message + used, sizeof err->message - (size_t)used, "%s", old);
  text_clean(err->message);
  return -1;
}
