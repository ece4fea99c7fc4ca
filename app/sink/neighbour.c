#include "app/sink/neighbour.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "app/platform/app_platform.h"

static const char prefix[] = ".reverie-settling-";
enum { RANDOM_LETTERS = 6 };

/* Returns the length of path's folder, with its slash; 0 for the current folder. */
static int folder_length(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? (int)(slash + 1 - path) : 0;
}

int neighbour_make(struct neighbour *neighbour, const char *path) {
  int length = snprintf(neighbour->path, sizeof neighbour->path, "%.*s%sXXXXXX", folder_length(path), path, prefix);
  if (length >= (int)sizeof neighbour->path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  bool replaces = platform_is_file(path);
  neighbour->descriptor = platform_make_locked(neighbour->path, !replaces);
  if (neighbour->descriptor < 0)
    return -1;
  platform_name_open_file(neighbour->descriptor, neighbour->path, neighbour->url, sizeof neighbour->url);
  if (!replaces || !platform_make_like(neighbour->descriptor, path))
    return 0;
  int reason = errno;
  neighbour_drop(neighbour);
  errno = reason;
  return -1;
}

int neighbour_take_over(struct neighbour *neighbour, const char *path) {
  if (platform_replace(neighbour->path, path))
    return -1;
  platform_close_descriptor(neighbour->descriptor);
  return 0;
}

void neighbour_drop(struct neighbour *neighbour) {
  platform_remove(neighbour->path);
  platform_close_descriptor(neighbour->descriptor);
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

void neighbour_clean(const char *path, const struct log *log) {
  char folder[PATH_MAX];
  int length = folder_length(path);
  snprintf(folder, sizeof folder, "%.*s", length ? length : 1, length ? path : ".");
  platform_list(folder, clean_one, &(struct cleaning){folder, log});
}
