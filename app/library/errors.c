/* Passes errors and log lines to the program that uses the library. */
#include <stdarg.h>
#include <stdio.h>

#include "app/library/library.h"

_Static_assert((int)REVERIE_FAILED == STATUS_FAILED && (int)REVERIE_USAGE == STATUS_USAGE &&
                   (int)REVERIE_INPUT == STATUS_INPUT && (int)REVERIE_MODEL == STATUS_MODEL &&
                   (int)REVERIE_DEVICE == STATUS_DEVICE && (int)REVERIE_HELD == STATUS_HELD,
               "the library's statuses are those of errors");

int library_tell(struct reverie_error *to, const struct error *from) {
  struct reverie_error own = {.status = from ? (int)from->status : REVERIE_OK};
  if (from)
    snprintf(own.message, sizeof own.message, "%s", from->message);
  if (to)
    library_write(to, &own, sizeof own);
  return own.status;
}

int library_refuse(struct reverie_error *to, const char *format, ...) {
  struct error err = {.status = STATUS_USAGE};
  char text[sizeof err.message];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  error_set(&err, STATUS_USAGE, "%s", text);
  return library_tell(to, &err);
}

int library_check_size(const void *given, size_t least, const char *name, struct error *err) {
  size_t size;
  memcpy(&size, given, sizeof size);
  if (size >= least)
    return 0;
  return error_set(err, STATUS_USAGE, "struct %s: its size is %zu, and has to be sizeof(struct %s)", name, size, name);
}

const char *reverie_version(void) {
  return REVERIE_VERSION;
}
