/* What is said: in the window's line, and on the terminal. */
#include <stdarg.h>
#include <stdio.h>

#include "app/live/live_impl.h"

enum { LINE_BYTES = 512 }; /* as an error's message */

void live_was_told(struct live *live, enum log_level level) {
  if (level == LOG_WARNING || live->options->verbose > 0)
    live->notice_told_ns = live->state.notice_until_ns;
}

void live_tell(struct live *live, enum log_level level, int64_t now_ns, const char *format, ...) {
  char line[LINE_BYTES];
  va_list args;
  va_start(args, format);
  vsnprintf(line, sizeof line, format, args);
  va_end(args);
  live_notice(&live->state, now_ns, "%s", line);
  log_line(&live->log, level, "%s", line);
  live_was_told(live, level);
}
