#include "app/platform/app_platform.h"

#include <dirent.h>
#include <errno.h>
#include <netdb.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <linux/close_range.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <ucontext.h>
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
  if (statvfs(path, &volume) || !volume.f_blocks) /* none: files there take no room, as those of /proc */
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

/* mkostemp finds the name, and makes a file that its user alone may read. */
static int make_new(char *path, bool usual) {
  int descriptor = mkostemp(path, O_CLOEXEC);
  if (descriptor < 0 || !usual)
    return descriptor;
  unlink(path);
  close(descriptor);
  return open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
}

/* Until it is locked another process may take it for abandoned, and remove it. */
int platform_make_locked(char *path, bool usual) {
  struct stat made;
  char *letters = path + strlen(path) - strlen("XXXXXX");
  for (;;) {
    int descriptor = make_new(path, usual);
    if (descriptor < 0)
      return -1;
    flock(descriptor, LOCK_EX); /* where there are no locks, nothing is taken for abandoned either */
    if (!fstat(descriptor, &made) && made.st_nlink == 1)
      return descriptor;
    close(descriptor);
    memcpy(letters, "XXXXXX", strlen("XXXXXX"));
  }
}

/* Between opening and locking, another process may have removed it. */
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
  (void)given; /* only root can give files away */
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

/* Only of pipes, whose other users do not share this end of it. */
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

/* Signal handlers are given nothing: what they need is here. */
static struct {
  atomic_bool *stop;
  atomic_bool held; /* by this thread, which becomes the program anew */
  pthread_t holder;
} caught;

/* The system gives it to any thread that lets it through; a library's does. */
static void on_signal(int number) {
  atomic_store(caught.stop, true);
  if (atomic_load(&caught.held))
    pthread_kill(caught.holder, number);
}

static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP};

void platform_catch_signals(atomic_bool *stop) {
  /* SA_RESETHAND: the second Ctrl-C takes its usual course. SA_RESTART: half-done reads and writes go on. */
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESETHAND | SA_RESTART};
  sigemptyset(&action.sa_mask);
  sigaddset(&action.sa_mask, SIGURG); /* of hold_signals, which is to be heard after it */
  caught.stop = stop;
  sigset_t held; /* by platform_begin_anew, in the program before this one */
  sigemptyset(&held);
  for (size_t i = 0; i < sizeof ending_signals / sizeof *ending_signals; i++) {
    struct sigaction before; /* nohup and the shell's background jobs have some of them ignored, and mean it */
    sigaddset(&held, ending_signals[i]);
    if (!sigaction(ending_signals[i], NULL, &before) && before.sa_handler != SIG_IGN)
      sigaction(ending_signals[i], &action, NULL);
  }
  pthread_sigmask(SIG_UNBLOCK, &held, NULL);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
}

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

/* --- the program anew --- */

bool platform_can_begin_anew(void) {
  return !access("/proc/self/exe", X_OK) && !access("/proc/self/cmdline", R_OK);
}

/* All of a file whose size is not known before, with a zero byte behind. */
static char *read_all(int descriptor, size_t most, size_t *size) {
  size_t room = 4096, used = 0;
  char *text = NULL;
  for (;;) {
    char *more = room <= most + 4096 ? realloc(text, room + 1) : NULL;
    if (!more)
      break;
    text = more;
    ssize_t got = read(descriptor, text + used, room - used);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      break;
    used += (size_t)got;
    if (!got) {
      text[used] = 0;
      *size = used;
      return text;
    }
    room = used == room ? room * 2 : room;
  }
  free(text);
  return NULL;
}

/* NULL: it is not known. free() the list and its first text. */
static char **command_line(void) {
  enum { BYTES_MAX = 4 << 20 };
  size_t size = 0, count = 0;
  int descriptor = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  char *text = descriptor >= 0 ? read_all(descriptor, BYTES_MAX, &size) : NULL;
  if (descriptor >= 0)
    close(descriptor);
  char **argv = text && size ? calloc(size + 1, sizeof *argv) : NULL;
  for (size_t at = 0; argv && at < size; at += strlen(text + at) + 1)
    argv[count++] = text + at;
  if (!argv)
    free(text);
  return argv;
}

static void close_behind(void *opaque, const char *name) {
  struct stat file;
  (void)opaque;
  int descriptor = atoi(name), flags = fcntl(descriptor, F_GETFD);
  if (descriptor > STDERR_FILENO && flags >= 0 && !fstat(descriptor, &file) && !S_ISREG(file.st_mode) &&
      !S_ISFIFO(file.st_mode))
    fcntl(descriptor, F_SETFD, flags | FD_CLOEXEC);
}

static void keep(const int *kept, int count) {
  for (int i = 0; i < count; i++)
    fcntl(kept[i], F_SETFD, 0);
}

/* What a thread holds when it comes back from a signal handler is what the handler leaves there. */
static void on_hold(int number, siginfo_t *info, void *context) {
  ucontext_t *thread = context;
  (void)number;
  (void)info;
  for (size_t i = 0; i < sizeof ending_signals / sizeof *ending_signals; i++)
    sigaddset(&thread->uc_sigmask, ending_signals[i]);
}

/* Whether that thread of this process lets SIGINT or its like through. One that handles one of them lets the others. */
static bool lets_through(const char *thread) {
  char path[64], line[256]; /* a part of one that is longer: a user may be in thousands of groups */
  unsigned long long blocked = 0, all = 0;
  bool found = false;
  for (size_t i = 0; i < sizeof ending_signals / sizeof *ending_signals; i++)
    all |= 1ull << (ending_signals[i] - 1);
  snprintf(path, sizeof path, "/proc/self/task/%.20s/status", thread);
  FILE *file = fopen(path, "re");
  if (!file) /* it has ended */
    return false;
  while (!found && fgets(line, sizeof line, file))
    found = sscanf(line, "SigBlk: %llx", &blocked) == 1;
  fclose(file);
  return found && (blocked & all) != all;
}

/* Tells the threads that do not hold them yet to. */
static void hold_there(void *count, const char *thread) {
  pid_t number = atoi(thread);
  if (number <= 0 || number == gettid() || !lets_through(thread))
    return;
  ++*(int *)count;
  tgkill(getpid(), number, SIGURG);
}

/* SIGINT and its like wait until the new program has its handlers (platform_catch_signals): every thread holds them. A
 * thread that the kernel does not let run for so long passes on to this one what comes to it. */
static void hold_signals(sigset_t *held, sigset_t *before) {
  enum { TRIES = 200, PAUSE_US = 1000 };
  struct sigaction action = {.sa_sigaction = on_hold, .sa_flags = SA_SIGINFO | SA_RESTART};
  sigemptyset(held);
  for (size_t i = 0; i < sizeof ending_signals / sizeof *ending_signals; i++)
    sigaddset(held, ending_signals[i]);
  pthread_sigmask(SIG_BLOCK, held, before);
  caught.holder = pthread_self();
  atomic_store(&caught.held, true);
  sigaction(SIGURG, &action, NULL);
  for (int i = 0, others = 1; others && i < TRIES; i++) {
    others = 0;
    platform_list("/proc/self/task", hold_there, &others);
    if (others)
      usleep(PAUSE_US);
  }
}

/* This program goes on, and what came meanwhile was for it; by now it would be taken for a second one. The other
 * threads go on holding such requests, which so come to this one. */
static void let_signals_go(const sigset_t *held, const sigset_t *before) {
  atomic_store(&caught.held, false);
  while (sigtimedwait(held, NULL, &(struct timespec){0}) > 0)
    atomic_store(caught.stop, true);
  pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* This process's with that variable, which is not set in it: other threads may be reading it. free() the list and its
 * first text. NULL: no memory. */
static char **environment_with(const char *variable, const char *value) {
  size_t length = strlen(variable), size = length + strlen(value) + 2, count = 0, used = 1;
  while (environ[count])
    count++;
  char **list = calloc(count + 2, sizeof *list);
  char *own = list ? malloc(size) : NULL;
  if (!own) {
    free(list);
    return NULL;
  }
  snprintf(own, size, "%s=%s", variable, value);
  list[0] = own;
  for (size_t i = 0; i < count; i++)
    if (strncmp(environ[i], own, length + 1) != 0)
      list[used++] = environ[i];
  return list;
}

static void free_texts(char **list) {
  if (list)
    free(list[0]);
  free(list);
}

/* Comes back when that fails, with errno. */
static void become_anew(char **argv, char **environment) {
  char path[PATH_MAX];
  if (platform_program_path(path, sizeof path))
    execve(path, argv, environment);
  execve("/proc/self/exe", argv, environment); /* of a program that has been replaced meanwhile */
}

void platform_begin_anew(const atomic_bool *stop, const char *variable, const char *value, const int *kept, int count) {
  sigset_t held, before;
  char **argv = command_line(), **environment = environment_with(variable, value);
  int reason = ENOMEM;
  if (argv && environment) {
    platform_list("/proc/self/fd", close_behind, NULL);
    keep(kept, count);
    hold_signals(&held, &before);
    errno = EINTR;
    if (!atomic_load(stop))
      become_anew(argv, environment);
    reason = errno;
    let_signals_go(&held, &before);
  }
  free_texts(argv);
  free_texts(environment);
  errno = reason;
}

/* In a process that has one thread, of a program that had many: only what signal handlers may call. */
static void become_beside(const char *path, char **environment, const int *kept, int count) {
  char name[] = "reverie", *argv[] = {name, NULL};
  for (size_t i = 0; i < sizeof ending_signals / sizeof *ending_signals; i++)
    signal(ending_signals[i], SIG_IGN);
  close_range(STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC);
  keep(kept, count);
  execve(path, argv, environment);
}

int platform_begin_beside(const char *variable, const char *value, const int *kept, int count) {
  char path[PATH_MAX];
  int status = -1;
  char **environment = environment_with(variable, value);
  if (!environment || !platform_program_path(path, sizeof path)) {
    free_texts(environment);
    return -1;
  }
  pid_t child = fork();
  if (!child) { /* its own child is nobody's */
    pid_t beside = fork();
    if (!beside)
      become_beside(path, environment, kept, count);
    _exit(beside < 0 || !beside);
  }
  free_texts(environment);
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  return child > 0 && WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -1;
}

int platform_connect_pair(int ends[2]) {
  return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends);
}

int platform_hear(int end, int wait_ms) {
  struct pollfd readable = {.fd = end, .events = POLLIN};
  char byte;
  if (poll(&readable, 1, wait_ms) <= 0)
    return 0;
  ssize_t got = recv(end, &byte, 1, MSG_DONTWAIT);
  return got > 0 ? 1 : got < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

void platform_say(int end) {
  (void)!send(end, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void platform_drop(int end) {
  close(end);
}

int platform_hold_text(const char *text, size_t size) {
  int descriptor = memfd_create("reverie", MFD_CLOEXEC);
  for (size_t done = 0; descriptor >= 0 && done < size;) {
    ssize_t put = write(descriptor, text + done, size - done);
    if (put < 0 && errno != EINTR) {
      close(descriptor);
      return -1;
    }
    done += put > 0 ? (size_t)put : 0;
  }
  return descriptor;
}

char *platform_take_text(int descriptor, size_t most, size_t *size) {
  struct stat file;
  if (fstat(descriptor, &file) || !S_ISREG(file.st_mode) || file.st_nlink)
    return NULL;
  char *text = lseek(descriptor, 0, SEEK_SET) ? NULL : read_all(descriptor, most, size);
  close(descriptor);
  return text;
}

/* Field 22 of /proc/self/stat; the name in field 2 may hold anything, so counting starts behind its last bracket. */
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
