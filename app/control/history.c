#include "app/control/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unet/base/platform.h"

static void drop(struct history *history, int i) {
  free(history->line[i]);
  memmove(history->line + i, history->line + i + 1, (size_t)(history->count - i - 1) * sizeof *history->line);
  history->count--;
}

/* Appends a copy of the line to the list. Removes an equal line and, if the list is full, the oldest one. Returns
 * false, and changes nothing, if the line is empty or memory is short. */
static bool remember(struct history *history, const char *line) {
  char *own = *line ? strdup(line) : NULL;
  if (!own)
    return false;
  for (int i = 0; i < history->count; i++)
    if (!strcmp(history->line[i], own))
      drop(history, i--);
  if (history->count == HISTORY_MAX)
    drop(history, 0);
  history->line[history->count++] = own;
  return true;
}

/* Reads the file's lines into the list. A line is left out if it is longer than LINE_EDIT_MAX, has no newline at its
 * end, or contains control characters or bytes that are not UTF-8. */
static void read_lines(struct history *history, FILE *file) {
  char line[LINE_EDIT_MAX + 1];
  bool whole = true;
  while (fgets(line, sizeof line, file)) {
    size_t length = strcspn(line, "\n");
    bool ends = line[length] == '\n';
    line[length] = 0;
    struct line_edit clean;
    line_edit_begin(&clean, line);
    if (whole && ends && !strcmp(clean.text, line))
      remember(history, line);
    whole = ends;
  }
}

/* Writes all lines of the list, which are at most HISTORY_MAX, to a temporary file, and renames that file to the
 * history's path. If writing fails, the old file stays as it is. */
static void save(const struct history *history) {
  char *temporary = *history->path ? platform_temporary_name(history->path) : NULL;
  FILE *file = temporary ? platform_create(temporary) : NULL;
  bool good = file != NULL;
  for (int i = 0; good && i < history->count; i++)
    good = fprintf(file, "%s\n", history->line[i]) > 0;
  if (file && fclose(file))
    good = false;
  if (file && (!good || platform_replace(temporary, history->path)))
    platform_remove(temporary);
  free(temporary);
}

static void read_file(struct history *history) {
  FILE *file = *history->path ? platform_stream(history->path, "r") : NULL;
  if (!file)
    return;
  read_lines(history, file);
  fclose(file);
}

void history_open(struct history *history, const char *path) {
  *history = (struct history){.count = 0};
  snprintf(history->path, sizeof history->path, "%s", path ? path : "");
  read_file(history);
  history->at = history->count;
}

void history_close(struct history *history) {
  while (history->count)
    drop(history, history->count - 1);
}

/* Reads the file again before it adds the line, because another instance of this program may have added lines. */
void history_add(struct history *history, const char *line) {
  if (!*line)
    return;
  read_file(history);
  if (remember(history, line))
    save(history);
  history_begin(history);
}

void history_begin(struct history *history) {
  history->at = history->count;
}

void history_step(struct history *history, struct line_edit *edit, int by) {
  int to = history->at + by;
  if (to < 0 || to > history->count || by == 0)
    return;
  if (history->at == history->count)
    memcpy(history->typed, edit->text, sizeof history->typed);
  history->at = to;
  line_edit_begin(edit, to == history->count ? history->typed : history->line[to]);
}
