/* Where the library's few lines for the user go. The program owns the sink; the library keeps no global state. */
#ifndef UNET_BASE_LOG_H
#define UNET_BASE_LOG_H

#include "unet/base/printf.h"

enum log_level { LOG_WARNING, LOG_INFO, LOG_DEBUG };

struct log {
  void (*line)(void *opaque, enum log_level level, const char *text); /* one line, no newline; NULL: drop it */
  void *opaque;
};

/* log may be NULL: the line is dropped. Whatever the names in it hold, the line is fit to be shown (text_clean,
 * address_conceal). */
PRINTF_LIKE(3, 4) void log_line(const struct log *log, enum log_level level, const char *format, ...);

/* The same for a line whose address is to be used by whoever reads it: it stays whole. */
PRINTF_LIKE(3, 4) void log_verbatim(const struct log *log, enum log_level level, const char *format, ...);

#endif
