#include "unet/base/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "unet/base/address.h"
#include "unet/base/text.h"

enum { LINE_MAX_BYTES = 1024 };

void log_line(const struct log *log, enum log_level level, const char *format, ...) {
  if (!log || !log->line)
    return;
  char text[4 * LINE_MAX_BYTES];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  address_conceal(text, LINE_MAX_BYTES);
  text[LINE_MAX_BYTES - 1] = 0;
  log->line(log->opaque, level, text_clean(text));
}

void log_verbatim(const struct log *log, enum log_level level, const char *format, ...) {
  if (!log || !log->line)
    return;
  char text[LINE_MAX_BYTES];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  log->line(log->opaque, level, text_clean(text));
}
