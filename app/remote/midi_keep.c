#include "app/remote/midi_keep.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/platform/app_platform.h"
#include "app/platform/whole_text.h"

enum { TEXT_MAX = 1 << 20 };

/* Returns the text of the file at `path`, which the caller frees; NULL: the file cannot be read, is no regular file or
 * is larger than TEXT_MAX, or memory is short. */
static char *read_text(const char *path) {
  struct platform_file file;
  char *text = NULL;
  if (platform_open(&file, path))
    return NULL;
  if (file.regular && file.size <= TEXT_MAX)
    text = malloc((size_t)file.size + 1);
  int64_t got = text ? platform_read(&file, 0, text, (size_t)file.size) : -1;
  platform_close(&file);
  if (got < 0) {
    free(text);
    return NULL;
  }
  text[got] = 0;
  return text;
}

void knobs_load(struct knobs *knobs, const char *path, const struct log *log) {
  char aside[4200];
  struct knobs_unknown unknown;
  struct error err;
  *knobs = (struct knobs){0};
  if (!platform_exists(path))
    return;
  char *text = read_text(path);
  if (!text) {
    log_line(log, LOG_WARNING, "%s: cannot be read: %s", path, strerror(errno));
    return;
  }
  if (knobs_read(knobs, text, &unknown, &err)) {
    snprintf(aside, sizeof aside, "%s.damaged", path);
    bool kept = !platform_replace(path, aside);
    log_line(log, LOG_WARNING, "%s: %s; it %s, and new bindings begin", path, err.message,
             kept ? "is kept as midi.json.damaged beside it" : "cannot be kept aside");
  } else if (unknown.count) {
    log_line(log, LOG_WARNING, "%s: %d of its bindings say nothing to this version and are left alone%s%s", path,
             unknown.count, *unknown.sets ? ", as the one that sets " : "", unknown.sets);
  }
  free(text);
}

int knobs_save(const struct knobs *knobs, const char *path, struct error *err) {
  char *before = read_text(path), *text = knobs_write(knobs, before);
  int status = text ? whole_text_write(path, text, "the bindings of MIDI", err)
                    : error_set(err, STATUS_FAILED, "%s: no memory to keep the bindings of MIDI", path);
  free(before);
  free(text);
  return status;
}
