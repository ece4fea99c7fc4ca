#include "app/sink/neighbour.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static const char prefix[] = ".reverie-settling-";
enum { RANDOM_LETTERS = 6 };

/* The folder's part of path, with its slash; empty for the current one. */
static int folder_length(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? (int)(slash + 1 - path) : 0;
}

/* 1: made and locked; 0: taken for a leftover and removed before it was locked; -1 with errno. */
static int try_to_make(struct neighbour *neighbour, const char *path) {
  struct stat made;
  int length = snprintf(neighbour->path, sizeof neighbour->path, "%.*s%sXXXXXX", folder_length(path), path, prefix);
  if (length >= (int)sizeof neighbour->path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  neighbour->fd = mkostemp(neighbour->path, O_CLOEXEC);
  if (neighbour->fd < 0)
    return -1;
  flock(neighbour->fd, LOCK_EX); /* where there are no locks, nothing is taken for a leftover either */
  if (!fstat(neighbour->fd, &made) && made.st_nlink == 1)
    return 1;
  close(neighbour->fd);
  return 0;
}

int neighbour_make(struct neighbour *neighbour, const char *path, const struct stat *like) {
  int made;
  do
    made = try_to_make(neighbour, path);
  while (!made);
  if (made < 0)
    return -1;
  snprintf(neighbour->url, sizeof neighbour->url, "/proc/self/fd/%d", neighbour->fd);
  int given = fchown(neighbour->fd, like->st_uid, like->st_gid);
  (void)given; /* only root can give files away */
  if (!fchmod(neighbour->fd, like->st_mode & 07777))
    return 0;
  int reason = errno;
  neighbour_drop(neighbour);
  errno = reason;
  return -1;
}

int neighbour_take_over(struct neighbour *neighbour, const char *path) {
  if (rename(neighbour->path, path))
    return -1;
  close(neighbour->fd);
  return 0;
}

void neighbour_drop(struct neighbour *neighbour) {
  unlink(neighbour->path);
  close(neighbour->fd);
}

static bool is_name(const char *name) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  size_t length = strlen(prefix);
  return !strncmp(name, prefix, length) && strlen(name) == length + RANDOM_LETTERS &&
         strspn(name + length, letters) == RANDOM_LETTERS;
}

static bool remove_leftover(int folder, const char *name) {
  struct stat file;
  int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0)
    return false;
  bool removed = !fstat(fd, &file) && S_ISREG(file.st_mode) && file.st_uid == geteuid() &&
                 !flock(fd, LOCK_EX | LOCK_NB) && !unlinkat(folder, name, 0);
  close(fd);
  return removed;
}

void neighbour_clean(const char *path, const struct log *log) {
  char folder[PATH_MAX];
  int length = folder_length(path);
  snprintf(folder, sizeof folder, "%.*s", length ? length : 1, length ? path : ".");
  DIR *names = opendir(folder);
  if (!names)
    return;
  for (const struct dirent *entry; (entry = readdir(names));)
    if (is_name(entry->d_name) && remove_leftover(dirfd(names), entry->d_name))
      log_line(log, LOG_INFO, "%s: half a file that a killed run left; removed", entry->d_name);
  closedir(names);
}
