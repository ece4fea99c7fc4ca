#include "unet/base/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "unet/base/text.h"

void log_line(const struct log *log, enum log_level level, const char *format, ...) {
  if (!log || !log->line)
    return;
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  log->line(log->opaque, level, text_clean(text));
}
