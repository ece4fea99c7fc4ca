/* Log lines of the library for the user. The program provides the function that prints them; the library has no global
 * state. */
#ifndef UNET_BASE_LOG_H
#define UNET_BASE_LOG_H

#include "unet/base/printf.h"

enum log_level { LOG_WARNING, LOG_INFO, LOG_DEBUG };

struct log {
  /* prints one line, without a newline at its end; NULL: lines are dropped */
  void (*line)(void *opaque, enum log_level level, const char *text);
  void *opaque;
};

/* Formats a line and passes it on, after unsafe characters and secrets were removed from it (text_clean,
 * address_conceal). If log is NULL the line is dropped. */
PRINTF_LIKE(3, 4) void log_line(const struct log *log, enum log_level level, const char *format, ...);

/* Logs a line as log_line does, but leaves passwords and keys in its addresses, for an address that the user must be
 * able to open. */
PRINTF_LIKE(3, 4) void log_verbatim(const struct log *log, enum log_level level, const char *format, ...);

#endif
