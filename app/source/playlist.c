#include "app/source/playlist.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/source/protocols.h"
#include "app/source/spec.h"
#include "unet/base/address.h"
#include "app/platform/app_platform.h"
#include "unet/base/text.h"

int playlist_insert(struct playlist *list, int index, const char *name, bool plain, struct error *err) {
  if (list->count == PLAYLIST_MAX)
    return error_set(err, STATUS_USAGE, "%.200s: there are %d sources already, the most there can be",
                     address_shown(name).text, PLAYLIST_MAX);
  struct playlist_entry *entries = realloc(list->entries, (size_t)(list->count + 1) * sizeof *entries);
  char *copy = strdup(name);
  if (entries)
    list->entries = entries;
  if (!entries || !copy) {
    free(copy);
    return error_set(err, STATUS_FAILED, "no memory for a list of sources");
  }
  memmove(entries + index + 1, entries + index, (size_t)(list->count - index) * sizeof *entries);
  entries[index] = (struct playlist_entry){.name = copy, .plain = plain};
  list->count++;
  return 0;
}

int playlist_insert_copy(struct playlist *list, int index, const struct playlist_entry *entry, struct error *err) {
  if (playlist_insert(list, index, entry->name, entry->plain, err))
    return -1;
  list->entries[index].in_s = entry->in_s;
  list->entries[index].out_s = entry->out_s;
  return 0;
}

void playlist_remove(struct playlist *list, int index) {
  struct playlist_entry *entry = &list->entries[index];
  free(entry->name);
  memmove(entry, entry + 1, (size_t)(--list->count - index) * sizeof *entry);
}

/* True if a name in a list is a file's path that starts from the list's folder, and not a device, a URL or a word such
 * as "camera". */
static bool is_relative(const char *name, struct error *err) {
  char resolved[SPEC_MAX];
  static const char *const words[] = {"camera", "pattern", "-"};
  if (spec_resolve(name, resolved, err) || strcmp(resolved, name) || name[0] == '/' || strchr(name, ':'))
    return false;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (!strcmp(name, words[i]))
      return false;
  return true;
}

/* Returns the name in a line, without blanks around it; NULL: there is none. */
static char *trim(char *line) {
  size_t length = strlen(line);
  while (length && isspace((unsigned char)line[length - 1]))
    line[--length] = 0;
  if (!strncmp(line, "\xEF\xBB\xBF", 3))
    line += 3;
  while (isspace((unsigned char)*line))
    line++;
  return *line && *line != '#' ? line : NULL;
}

static int add_line(struct playlist *list, const char *path, const char *name, struct error *err) {
  char joined[SPEC_MAX];
  struct error ignored;
  int folder = (int)(text_last_part(path) - path);
  if (strlen(name) + (size_t)folder >= sizeof joined)
    return error_set(err, STATUS_INPUT, "--playlist %.200s: a name in it is too long", path);
  snprintf(joined, sizeof joined, "%.*s%s", is_relative(name, &ignored) ? folder : 0, path, name);
  return playlist_insert(list, list->count, joined, false, err);
}

int playlist_read(struct playlist *list, const char *path, const atomic_bool *stop, const struct log *log,
                  struct error *err) {
  int before = list->count, failed = 0;
  char line[SPEC_MAX];
  FILE *file = platform_open_text(path, stop, log);
  if (!file && errno == EINTR)
    return error_set(err, STATUS_INTERRUPTED, "interrupted");
  if (!file)
    return error_set(err, STATUS_INPUT, "--playlist %.200s: cannot be read: %s", path, strerror(errno));
  while (!failed && fgets(line, sizeof line, file)) {
    bool whole = strchr(line, '\n') || feof(file);
    char *name = trim(line);
    failed = !whole ? error_set(err, STATUS_INPUT, "--playlist %.200s: a line in it is too long", path)
             : name ? add_line(list, path, name, err)
                    : 0;
  }
  if (!failed && ferror(file))
    failed = error_set(err, STATUS_INPUT, "--playlist %.200s: cannot be read: %s", path, strerror(errno));
  if (!failed && list->count == before)
    failed = error_set(err, STATUS_INPUT, "--playlist %.200s: names no source; one a line is needed", path);
  fclose(file);
  return failed;
}

void playlist_narrow(const struct playlist_entry *entry, struct source_options *options) {
  if (!entry->plain)
    return;
  options->input_format = options->input_options = NULL;
  options->width = options->height = 0;
  options->fps = options->start = 0;
}

void playlist_free(struct playlist *list) {
  for (int i = 0; i < list->count; i++)
    free(list->entries[i].name);
  free(list->entries);
  *list = (struct playlist){0};
}
