/* Opens files whose names the user gives, and which may be pipes, devices or links. */
#include "app/platform/app_platform.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* SLICE_MS: milliseconds of one wait. After TELL_SLICES waits without data, a log line says what the program waits for.
 * TEXT_MAX: largest number of bytes of a text. */
enum { SLICE_MS = 100, TELL_SLICES = 10, TEXT_MAX = 64 << 20 };

static int write_all(int descriptor, const char *bytes, size_t size) {
  for (ssize_t put; size; bytes += put, size -= (size_t)put)
    if ((put = write(descriptor, bytes, size)) < 0)
      return -1;
  return 0;
}

/* Copies data from a pipe or device until all its writers have closed it. path: its name for the log line. Returns 0,
 * or -1 with errno. */
static int copy_all(int from, int to, const char *path, const atomic_bool *stop, const struct log *log) {
  char bytes[16384];
  size_t total = 0;
  int empty = 0;
  for (int64_t got = 1; got;) {
    if (atomic_load(stop)) {
      errno = EINTR;
      return -1;
    }
    got = platform_read_pipe(from, bytes, sizeof bytes, SLICE_MS);
    if (got < 0 && errno != EAGAIN)
      return -1;
    total += got > 0 ? (size_t)got : 0;
    if (got < 0 && !total && ++empty == TELL_SLICES)
      log_line(log, LOG_WARNING, "%s: waiting for it to be written", path);
    if (total > TEXT_MAX) {
      errno = EFBIG;
      return -1;
    }
    if (got > 0 && write_all(to, bytes, (size_t)got))
      return -1;
  }
  return 0;
}

/* Reads all data of `from` into a file in memory, and returns that file's descriptor; -1: this failed. */
static int hold_all(int from, const char *path, const atomic_bool *stop, const struct log *log) {
  int held = memfd_create("text", MFD_CLOEXEC), code;
  if (held >= 0 && !copy_all(from, held, path, stop, log) && !lseek(held, 0, SEEK_SET))
    return held;
  code = errno;
  if (held >= 0)
    close(held);
  errno = code;
  return -1;
}

static FILE *make_stream(int descriptor, const char *mode) {
  FILE *file = descriptor >= 0 ? fdopen(descriptor, mode) : NULL;
  int code = errno;
  if (descriptor >= 0 && !file)
    close(descriptor);
  errno = code;
  return file;
}

FILE *platform_open_text(const char *path, const atomic_bool *stop, const struct log *log) {
  struct stat what;
  int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0 || (!fstat(descriptor, &what) && S_ISREG(what.st_mode)))
    return make_stream(descriptor, "r");
  int held = hold_all(descriptor, path, stop, log), code = errno;
  close(descriptor);
  errno = code;
  return make_stream(held, "r");
}

FILE *platform_open_to_write(const char *path) {
  int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC, 0666);
  if (descriptor >= 0)
    platform_block_again(descriptor);
  return make_stream(descriptor, "w");
}

const char *platform_why_unwritten(int code) {
  return code == ENXIO ? "nobody reads this pipe: start its reader first" : strerror(code);
}

FILE *platform_open_own(const char *path) {
  struct stat what;
  int descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
  if (descriptor >= 0 && (fstat(descriptor, &what) || !S_ISREG(what.st_mode) || what.st_nlink != 1)) {
    close(descriptor);
    errno = EEXIST;
    return NULL;
  }
  /* open failed because `path` is a link (ELOOP) or a pipe without a reader (ENXIO): callers get the same errno for all
   * that is no ordinary file */
  if (descriptor < 0 && (errno == ELOOP || errno == ENXIO))
    errno = EEXIST;
  return make_stream(descriptor, "a");
}
