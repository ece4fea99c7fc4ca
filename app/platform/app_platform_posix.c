/* Implements the functions of app_platform.h for files, pipes, terminals and threads, and those that tell facts about
 * this process. */
#include "app/platform/app_platform.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <malloc.h>
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

/* --- files and folders --- */

enum { LINKS_MOST = 40 }; /* longest chain of links that are followed */

static void describe(struct platform_entry *entry, const struct stat *file) {
  *entry = (struct platform_entry){
      .kind = S_ISREG(file->st_mode)    ? ENTRY_FILE
              : S_ISDIR(file->st_mode)  ? ENTRY_FOLDER
              : S_ISFIFO(file->st_mode) ? ENTRY_PIPE
                                        : ENTRY_OTHER,
      .volume = (uint64_t)file->st_dev,
      .number = (uint64_t)file->st_ino,
      .size = (int64_t)file->st_size,
      .changed_s = (int64_t)file->st_mtime,
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
  /* a volume without blocks, such as /proc, stores no files, so it counts as an error */
  if (statvfs(path, &volume) || !volume.f_blocks)
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

/* Makes a file with an unused name. usual: true: with the default permissions. mkostemp gives access only to the user,
 * so its file is then removed, and made again under the same name. */
static int make_new(char *path, bool usual) {
  int descriptor = mkostemp(path, O_CLOEXEC);
  if (descriptor < 0 || !usual)
    return descriptor;
  unlink(path);
  close(descriptor);
  return open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
}

/* Makes a locked file. Another process may take the file for an abandoned one, and remove it, before it is locked; then
 * this function tries again. */
int platform_make_locked(char *path, bool usual) {
  struct stat made;
  char *letters = path + strlen(path) - strlen("XXXXXX");
  for (;;) {
    int descriptor = make_new(path, usual);
    if (descriptor < 0)
      return -1;
    /* the result of flock is ignored: some volumes have no locks, and there platform_remove_abandoned removes no
     * files */
    flock(descriptor, LOCK_EX);
    if (!fstat(descriptor, &made) && made.st_nlink == 1)
      return descriptor;
    close(descriptor);
    memcpy(letters, "XXXXXX", strlen("XXXXXX"));
  }
}

int platform_make_new_locked(const char *path) {
  int descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (descriptor >= 0)
    flock(descriptor, LOCK_EX | LOCK_NB); /* the result of flock is ignored, because some volumes have no locks */
  return descriptor;
}

FILE *platform_stream_new(const char *path) {
  int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
  FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
  if (descriptor >= 0 && !file)
    close(descriptor);
  return file;
}

/* Some file systems do not have the flag RENAME_NOREPLACE, with which renaming fails if the new name exists. For these,
 * an empty file with the new name is created first, which fails if the name exists; renaming then replaces it. */
int platform_move_new(const char *from, const char *to) {
  if (!renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE))
    return 0;
  if (errno != EINVAL && errno != ENOSYS)
    return -1;
  int descriptor = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (descriptor < 0)
    return -1;
  close(descriptor);
  return rename(from, to);
}

/* Returns the path to which a link leads, relative to the working directory; the caller frees it. NULL: `path` is no
 * link, or memory is short. */
static char *read_link(const char *path) {
  char text[PATH_MAX], *joined = NULL;
  ssize_t length = readlink(path, text, sizeof text - 1);
  const char *slash = strrchr(path, '/');
  if (length <= 0)
    return NULL;
  text[length] = 0;
  bool relative = *text != '/' && slash;
  return asprintf(&joined, "%.*s%s", relative ? (int)(slash + 1 - path) : 0, path, text) < 0 ? NULL : joined;
}

char *platform_follow_links(const char *path) {
  char *at = strdup(path), *next;
  for (int i = 0; at && i < LINKS_MOST; i++) {
    if (!(next = read_link(at)))
      return at;
    free(at);
    at = next;
  }
  errno = at ? ELOOP : ENOMEM;
  free(at);
  return NULL;
}

/* Another process may remove the file after it was opened and before it is locked; then this function tries again. */
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
  (void)given; /* fchown may fail, because only root may change the owner */
  return fchmod(descriptor, like.st_mode & 07777);
}

void platform_name_open_file(int descriptor, const char *path, char *name, size_t size) {
  (void)path;
  snprintf(name, size, "/proc/self/fd/%d", descriptor);
}

/* Opens and locks a file of this user that no process has locked. Returns a descriptor or -1. The file is opened for
 * writing, because NFS locks only files that are open for writing. */
static int lock_abandoned(const char *path) {
  struct stat file;
  int descriptor = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0 || (!fstat(descriptor, &file) && S_ISREG(file.st_mode) && file.st_uid == geteuid() &&
                         !flock(descriptor, LOCK_EX | LOCK_NB)))
    return descriptor;
  close(descriptor);
  return -1;
}

int platform_lock_abandoned(const char *path) {
  struct stat file;
  int descriptor = lock_abandoned(path);
  if (descriptor < 0 || (!fstat(descriptor, &file) && file.st_nlink == 1))
    return descriptor;
  close(descriptor);
  return -1;
}

bool platform_is_abandoned(const char *path) {
  int descriptor = platform_lock_abandoned(path);
  if (descriptor >= 0)
    close(descriptor);
  return descriptor >= 0;
}

bool platform_remove_abandoned(const char *folder, const char *name) {
  char path[PATH_MAX];
  if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
    return false;
  int descriptor = lock_abandoned(path);
  if (descriptor < 0)
    return false;
  bool removed = !unlink(path);
  close(descriptor);
  return removed;
}

/* --- named pipes and terminals --- */

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

int64_t platform_write_pipe(int descriptor, const void *bytes, size_t size) {
  int64_t written = write(descriptor, bytes, size);
  if (written < 0 && errno == EINTR)
    errno = EAGAIN;
  return written;
}

/* If the descriptor is a pipe, sets O_NONBLOCK. Other descriptors stay as they are, because a terminal, for example,
 * is shared with other processes. */
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

/* --- facts about this process, its environment, and starting another program in it --- */

bool platform_program_path(char *path, size_t size) {
  ssize_t length = readlink("/proc/self/exe", path, size);
  if (length <= 0 || (size_t)length >= size)
    return false;
  path[length] = 0;
  return true;
}

bool platform_library_path(char *path, size_t size) {
  Dl_info object;
  char program[PATH_MAX], real[PATH_MAX];
  if (!dladdr((void *)(uintptr_t)platform_library_path, &object) || !object.dli_fname ||
      !realpath(object.dli_fname, real) || strlen(real) >= size)
    return false;
  strcpy(path, real);
  return !platform_program_path(program, sizeof program) || strcmp(program, real) != 0;
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

/* Returns how many seconds after the system's start this process was started: field 22 of /proc/self/stat. Fields are
 * counted from the last ')', because the name in field 2 may contain any character. */
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

void platform_limit_arenas(int most) {
#ifdef M_ARENA_MAX
  if (!getenv("MALLOC_ARENA_MAX") && !getenv("GLIBC_TUNABLES"))
    mallopt(M_ARENA_MAX, most);
#else
  (void)most;
#endif
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
