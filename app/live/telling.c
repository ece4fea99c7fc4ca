/* Shows messages to the user as notices in the window (texts that disappear by themselves), and writes them to the
 * terminal. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "app/live/live_impl.h"
#include "unet/base/platform.h"

enum { LINE_BYTES = 512 }; /* size of the buffer in which a message is formatted, in bytes */

static void note_line(void *opaque, enum log_level level, const char *text) {
  struct live *live = opaque;
  if (live->log.line)
    live->log.line(live->log.opaque, level, text);
  if (level != LOG_WARNING)
    return;
  pthread_mutex_lock(&live->told_lock);
  snprintf(live->told_line, sizeof live->told_line, "%s", text);
  pthread_mutex_unlock(&live->told_lock);
}

void live_open_telling(struct live *live) {
  platform_lock_init(&live->told_lock);
  live->told = (struct log){note_line, live};
}

void live_close_telling(struct live *live) {
  pthread_mutex_destroy(&live->told_lock);
}

void live_follow_told(struct live *live, int64_t now_ns) {
  char line[sizeof live->told_line];
  pthread_mutex_lock(&live->told_lock);
  memcpy(line, live->told_line, sizeof line);
  *live->told_line = 0;
  pthread_mutex_unlock(&live->told_lock);
  if (!*line)
    return;
  live_notice(&live->state, now_ns, "%s", line);
  live_was_told(live, LOG_WARNING);
}

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
