/* Files, pipes, terminals, threads, and facts about this process. */
#include "app/platform/app_platform.h"

#include <dirent.h>
#include <errno.h>
#include <netdb.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* --- files --- */

static void describe(struct platform_entry *entry, const struct stat *file) {
  *entry = (struct platform_entry){
      .kind = S_ISREG(file->st_mode)    ? ENTRY_FILE
              : S_ISDIR(file->st_mode)  ? ENTRY_FOLDER
              : S_ISFIFO(file->st_mode) ? ENTRY_PIPE
                                        : ENTRY_OTHER,
      .volume = (uint64_t)file->st_dev,
      .number = (uint64_t)file->st_ino,
      .size = (int64_t)file->st_size,
  };
}

int platform_look(struct platform_entry *entry, const char *path) {
  struct stat file;
  if (stat(path, &file))
    return -1;
  describe(entry, &file);
  return 0;
}

int platform_look_at(struct platform_entry *entry, int descriptor) {
  struct stat file;
  if (fstat(descriptor, &file))
    return -1;
  describe(entry, &file);
  return 0;
}

bool platform_is_file(const char *path) {
  struct platform_entry entry;
  return !platform_look(&entry, path) && entry.kind == ENTRY_FILE;
}

bool platform_is_folder(const char *path) {
  struct platform_entry entry;
  return !platform_look(&entry, path) && entry.kind == ENTRY_FOLDER;
}

bool platform_can_read(const char *path) {
  return !access(path, R_OK);
}

bool platform_can_write(const char *path) {
  return !access(path, W_OK);
}

int platform_free_space(const char *path, uint64_t *bytes) {
  struct statvfs volume;
  if (statvfs(path, &volume) || !volume.f_blocks) /* no blocks: the volume stores nothing, like /proc */
    return -1;
  *bytes = (uint64_t)volume.f_bavail * volume.f_frsize;
  return 0;
}

int platform_save(FILE *file) {
  return fflush(file) || fsync(fileno(file)) ? -1 : 0;
}

int platform_glob(const char *pattern, int (*take)(void *opaque, const char *path), void *opaque) {
  glob_t found = {0};
  int result = 0;
  if (glob(pattern, GLOB_NOSORT, NULL, &found) == GLOB_NOSPACE) {
    errno = ENOMEM;
    result = -1;
  }
  for (size_t i = 0; i < found.gl_pathc && !result; i++)
    result = take(opaque, found.gl_pathv[i]);
  globfree(&found);
  return result;
}

void platform_list(const char *folder, void (*take)(void *opaque, const char *name), void *opaque) {
  DIR *names = opendir(folder);
  if (!names)
    return;
  for (const struct dirent *entry; (entry = readdir(names));)
    take(opaque, entry->d_name);
  closedir(names);
}

int platform_cut(const char *path, int64_t size) {
  return truncate(path, size);
}

/* Makes a file with an unused name. usual: with the permissions that new files have by default. mkostemp allows access
 * for the user alone, so that file is removed and made again under the same name. */
static int make_new(char *path, bool usual) {
  int descriptor = mkostemp(path, O_CLOEXEC);
  if (descriptor < 0 || !usual)
    return descriptor;
  unlink(path);
  close(descriptor);
  return open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
}

/* Tries again if another process took the file for an abandoned one, and removed it, before it was locked. */
int platform_make_locked(char *path, bool usual) {
  struct stat made;
  char *letters = path + strlen(path) - strlen("XXXXXX");
  for (;;) {
    int descriptor = make_new(path, usual);
    if (descriptor < 0)
      return -1;
    /* may fail on volumes without locks, where platform_remove_abandoned removes nothing either */
    flock(descriptor, LOCK_EX);
    if (!fstat(descriptor, &made) && made.st_nlink == 1)
      return descriptor;
    close(descriptor);
    memcpy(letters, "XXXXXX", strlen("XXXXXX"));
  }
}

/* Tries again if another process removed the file between opening and locking. */
int platform_open_locked(const char *path) {
  struct stat made;
  for (;;) {
    int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (descriptor < 0)
      return -1;
    if (flock(descriptor, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
      close(descriptor);
      errno = EWOULDBLOCK;
      return -1;
    }
    if (!fstat(descriptor, &made) && made.st_nlink == 1)
      return descriptor;
    close(descriptor);
  }
}

int platform_make_like(int descriptor, const char *path) {
  struct stat like;
  if (stat(path, &like))
    return -1;
  int given = fchown(descriptor, like.st_uid, like.st_gid);
  (void)given; /* only root may change the owner */
  return fchmod(descriptor, like.st_mode & 07777);
}

void platform_name_open_file(int descriptor, const char *path, char *name, size_t size) {
  (void)path;
  snprintf(name, size, "/proc/self/fd/%d", descriptor);
}

bool platform_remove_abandoned(const char *folder, const char *name) {
  struct stat file;
  char path[PATH_MAX];
  if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
    return false;
  int descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0)
    return false;
  bool removed = !fstat(descriptor, &file) && S_ISREG(file.st_mode) && file.st_uid == geteuid() &&
                 !flock(descriptor, LOCK_EX | LOCK_NB) && !unlink(path);
  close(descriptor);
  return removed;
}

/* --- pipes and terminals --- */

bool platform_may_be_host(const char *name) {
  struct addrinfo *found = NULL;
  int code = getaddrinfo(name, NULL, NULL, &found);
  if (!code)
    freeaddrinfo(found);
  return code != EAI_NONAME;
}

int platform_open_pipe(const char *path) {
  return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

bool platform_claim_pipe(int descriptor) {
  struct stat file;
  bool named = !fstat(descriptor, &file) && S_ISFIFO(file.st_mode);
  return !named || !flock(descriptor, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK;
}

int platform_open_pipe_to_write(const char *path) {
  return open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
}

int64_t platform_read_pipe(int descriptor, void *out, size_t size, int wait_ms) {
  struct pollfd readable = {.fd = descriptor, .events = POLLIN};
  int ready = poll(&readable, 1, wait_ms);
  int64_t got = ready > 0 ? read(descriptor, out, size) : -1;
  if (ready <= 0 || (got < 0 && errno == EINTR))
    errno = EAGAIN;
  return got;
}

/* Changes pipes alone: this end of a pipe is not shared with other processes, while a terminal is. */
bool platform_stop_blocking(int descriptor) {
  struct stat file;
  int flags = fcntl(descriptor, F_GETFL);
  return flags >= 0 && !(flags & O_NONBLOCK) && !fstat(descriptor, &file) && S_ISFIFO(file.st_mode) &&
         !fcntl(descriptor, F_SETFL, flags | O_NONBLOCK);
}

void platform_block_again(int descriptor) {
  fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
}

bool platform_is_terminal(int descriptor) {
  return isatty(descriptor);
}

/* --- threads --- */

bool platform_join(pthread_t thread, int wait_ms) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += wait_ms % 1000 * 1000000L;
  until.tv_sec += wait_ms / 1000 + until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  return !pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &until);
}

/* --- the process --- */

bool platform_program_path(char *path, size_t size) {
  ssize_t length = readlink("/proc/self/exe", path, size);
  if (length <= 0 || (size_t)length >= size)
    return false;
  path[length] = 0;
  return true;
}

int platform_set_variable(const char *name, const char *value) {
  return setenv(name, value, 1);
}

void platform_unset_variable(const char *name) {
  unsetenv(name);
}

void platform_become(const char *path, char **argv) {
  execv(path, argv);
}

/* Returns field 22 of /proc/self/stat. Fields are counted from the last ')', because the name in field 2 may contain
 * any character. */
static double started_after_boot_s(void) {
  char text[1024];
  unsigned long long ticks = 0;
  FILE *file = fopen("/proc/self/stat", "r");
  if (!file)
    return -1;
  size_t length = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[length] = 0;
  const char *at = strrchr(text, ')');
  if (!at ||
      sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &ticks) != 1)
    return -1;
  return (double)ticks / (double)sysconf(_SC_CLK_TCK);
}

double platform_process_age_ms(void) {
  struct timespec now;
  double started = started_after_boot_s();
  clock_gettime(CLOCK_BOOTTIME, &now);
  return started < 0 ? 0 : ((double)now.tv_sec + (double)now.tv_nsec * 1e-9 - started) * 1e3;
}

size_t platform_peak_memory(void) {
  struct rusage usage;
  return getrusage(RUSAGE_SELF, &usage) ? 0 : (size_t)usage.ru_maxrss * 1024;
}

int64_t platform_thread_cpu_ns(void) {
  struct timespec used;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

void platform_local_time(struct tm *local) {
  time_t now = time(NULL);
  localtime_r(&now, local);
}
