#include "app/sink/replacement.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "app/platform/app_platform.h"

static const char prefix[] = ".reverie-settling-";
enum { RANDOM_LETTERS = 6 };

/* Returns the length in bytes of the folder in `path`, including the slash; 0: `path` has no folder. */
static int folder_length(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? (int)(slash + 1 - path) : 0;
}

int replacement_make(struct replacement *replacement, const char *path) {
  int length = snprintf(replacement->path, sizeof replacement->path, "%.*s%sXXXXXX", folder_length(path), path, prefix);
  if (length >= (int)sizeof replacement->path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  bool replaces = platform_is_file(path);
  replacement->descriptor = platform_make_locked(replacement->path, !replaces);
  if (replacement->descriptor < 0)
    return -1;
  platform_name_open_file(replacement->descriptor, replacement->path, replacement->url, sizeof replacement->url);
  if (!replaces || !platform_make_like(replacement->descriptor, path))
    return 0;
  int reason = errno;
  replacement_drop(replacement);
  errno = reason;
  return -1;
}

int replacement_take_over(struct replacement *replacement, const char *path) {
  if (platform_replace(replacement->path, path))
    return -1;
  platform_close_descriptor(replacement->descriptor);
  return 0;
}

void replacement_drop(struct replacement *replacement) {
  platform_remove(replacement->path);
  platform_close_descriptor(replacement->descriptor);
}

static bool is_name(const char *name) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  size_t length = strlen(prefix);
  return !strncmp(name, prefix, length) && strlen(name) == length + RANDOM_LETTERS &&
         strspn(name + length, letters) == RANDOM_LETTERS;
}

struct cleaning {
  const char *folder;
  const struct log *log;
};

static void clean_one(void *opaque, const char *name) {
  const struct cleaning *cleaning = opaque;
  if (is_name(name) && platform_remove_abandoned(cleaning->folder, name))
    log_line(cleaning->log, LOG_INFO, "%s: half a file that a killed run left; removed", name);
}

void replacement_clean(const char *path, const struct log *log) {
  char folder[PATH_MAX];
  int length = folder_length(path);
  snprintf(folder, sizeof folder, "%.*s", length ? length : 1, length ? path : ".");
  platform_list(folder, clean_one, &(struct cleaning){folder, log});
}
