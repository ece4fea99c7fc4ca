#include "unet/base/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reads length bytes; fewer when the file shrank meanwhile. */
static ssize_t read_all(int fd, char *buffer, size_t length) {
  size_t done = 0;
  while (done < length) {
    ssize_t got = read(fd, buffer + done, length - done);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return -1;
    if (!got)
      break;
    done += (size_t)got;
  }
  return (ssize_t)done;
}

int text_read(const char *path, size_t limit, char **text, size_t *length, struct error *err) {
  char *buffer = NULL;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* not to wait for a pipe's other end */
  struct stat st;
  if (fd < 0 || fstat(fd, &st)) {
    error_set(err, STATUS_MODEL, "%s: cannot be read: %s", path, strerror(errno));
    goto fail;
  }
  if (!S_ISREG(st.st_mode)) {
    error_set(err, STATUS_MODEL, "%s: is not a regular file", path);
    goto fail;
  }
  if ((unsigned long long)st.st_size > limit) {
    error_set(err, STATUS_MODEL, "%s: %lld bytes are more than the %zu that such a file may have", path,
              (long long)st.st_size, limit);
    goto fail;
  }
  buffer = malloc((size_t)st.st_size + 1);
  if (!buffer) {
    error_set(err, STATUS_FAILED, "%s: out of memory", path);
    goto fail;
  }
  ssize_t got = read_all(fd, buffer, (size_t)st.st_size);
  if (got < 0) {
    error_set(err, STATUS_MODEL, "%s: cannot be read: %s", path, strerror(errno));
    goto fail;
  }
  close(fd);
  buffer[got] = 0;
  *text = buffer;
  if (length)
    *length = (size_t)got;
  return 0;

fail:
  free(buffer);
  if (fd >= 0)
    close(fd);
  return -1;
}

char *text_path(const char *dir, const char *name) {
  char *path;
  return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}
