/* Handles the signals that end the program, and starts the program again: in place of this process, or as a second
 * process. */
#include "app/platform/app_platform.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

/* --- stopping the program when it receives a signal --- */

/* Data of the signal handlers. They are static because no argument can be passed to a signal handler. */
static struct {
  atomic_bool *stop;
  /* true: the thread `holder` keeps the signals that end the program blocked while it restarts the program */
  atomic_bool held;
  pthread_t holder;
} caught;

/* Handler of the signals that end the program. It runs on any thread that does not block the signal, such as a
 * library's thread. During a restart it passes the signal on to the thread caught.holder, which keeps it pending for
 * the new program. */
static void on_signal(int number) {
  atomic_store(caught.stop, true);
  if (atomic_load(&caught.held))
    pthread_kill(caught.holder, number);
}

static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP};

void platform_catch_signals(atomic_bool *stop) {
  /* SA_RESETHAND: the second Ctrl-C has its default effect. SA_RESTART: interrupted reads and writes continue. */
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESETHAND | SA_RESTART};
  sigemptyset(&action.sa_mask);
  sigaddset(&action.sa_mask, SIGURG); /* a restart sends SIGURG to each thread; that signal must not interrupt this
                                       * handler */
  caught.stop = stop;
  /* platform_begin_anew blocks the signals that end the program before it starts the program again; now that the
   * handlers are installed, they are unblocked */
  sigset_t held;
  sigemptyset(&held);
  for (size_t i = 0; i < sizeof ending_signals / sizeof *ending_signals; i++) {
    struct sigaction before; /* signals that are ignored because of nohup or a shell's background job remain ignored */
    sigaddset(&held, ending_signals[i]);
    if (!sigaction(ending_signals[i], NULL, &before) && before.sa_handler != SIG_IGN)
      sigaction(ending_signals[i], &action, NULL);
  }
  pthread_sigmask(SIG_UNBLOCK, &held, NULL);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
}

/* --- restarting the program --- */

bool platform_can_begin_anew(void) {
  return !access("/proc/self/exe", X_OK) && !access("/proc/self/cmdline", R_OK);
}

/* Returns the contents of a file of unknown size, with a terminating zero byte; the caller frees them. *size gets their
 * length. NULL: this failed, or there are more than `most` bytes. */
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

/* Returns the arguments with which this process was started (argv); the caller frees the list and its first text. NULL:
 * unknown. */
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

/* Signal handler. On the thread that it interrupts, it blocks the signals that end the program, by changing the signal
 * mask in the context to which it returns. */
static void on_hold(int number, siginfo_t *info, void *context) {
  ucontext_t *thread = context;
  (void)number;
  (void)info;
  for (size_t i = 0; i < sizeof ending_signals / sizeof *ending_signals; i++)
    sigaddset(&thread->uc_sigmask, ending_signals[i]);
}

/* True if the thread does not block all signals that end the program. (A thread that handles one of them blocks only
 * that one.) thread: its number, the name of its folder in /proc. */
static bool lets_through(const char *thread) {
  /* lines of the file that are longer than this buffer, for example the list of groups, are read in parts */
  char path[64], line[256];
  unsigned long long blocked = 0, all = 0;
  bool found = false;
  for (size_t i = 0; i < sizeof ending_signals / sizeof *ending_signals; i++)
    all |= 1ull << (ending_signals[i] - 1);
  snprintf(path, sizeof path, "/proc/self/task/%.20s/status", thread);
  FILE *file = fopen(path, "re");
  if (!file) /* a thread without a file in /proc has ended */
    return false;
  while (!found && fgets(line, sizeof line, file))
    found = sscanf(line, "SigBlk: %llx", &blocked) == 1;
  fclose(file);
  return found && (blocked & all) != all;
}

/* If a thread does not yet block the signals that end the program, sends it SIGURG, whose handler makes the thread
 * block them, and adds 1 to *count. */
static void hold_there(void *count, const char *thread) {
  pid_t number = atoi(thread);
  if (number <= 0 || number == gettid() || !lets_through(thread))
    return;
  ++*(int *)count;
  tgkill(getpid(), number, SIGURG);
}

/* Makes all threads block the signals that end the program; they then stay pending for the new program
 * (platform_catch_signals). A thread that does not run during the TRIES attempts does not block them; it passes a
 * signal that it receives on to this thread. */
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

/* Called after a restart failed: unblocks the signals that end the program. Pending signals were meant for this
 * program, and count as the first request to end. Other threads keep the signals blocked, so this thread receives
 * them. */
static void let_signals_go(const sigset_t *held, const sigset_t *before) {
  atomic_store(&caught.held, false);
  while (sigtimedwait(held, NULL, &(struct timespec){0}) > 0)
    atomic_store(caught.stop, true);
  pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* Returns a copy of the environment with the variable added. The environment itself is not changed, since other threads
 * may read it. The caller frees the list and its first text. NULL: out of memory. */
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

/* Replaces this process by a new start of the program (exec), with these arguments and this environment. Returns only
 * on failure, with errno. */
static void become_anew(char **argv, char **environment) {
  char path[PATH_MAX];
  if (platform_program_path(path, sizeof path))
    execve(path, argv, environment);
  execve("/proc/self/exe", argv, environment); /* /proc/self/exe works even if the program's file was replaced */
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

/* Makes the kernel close all descriptors from `first` on when this process executes another program. The system call
 * (glibc has it since 2.34) and its flag (Linux 5.11) are given by number, because older headers lack them. On older
 * kernels each descriptor is marked, up to a number that this program never reaches. */
static void close_at_exec(int first) {
  enum { CLOEXEC_OF_RANGE = 1 << 2, DESCRIPTORS_MAX = 4096 };
  if (!syscall(__NR_close_range, first, ~0u, CLOEXEC_OF_RANGE))
    return;
  for (int fd = first; fd < DESCRIPTORS_MAX; fd++)
    fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* Runs in the forked process and replaces the program in it by the program at `path`. After fork only functions that
 * are allowed in signal handlers may be called. */
static void become_second(const char *path, char **environment, const int *kept, int count) {
  char name[] = "reverie", *argv[] = {name, NULL};
  for (size_t i = 0; i < sizeof ending_signals / sizeof *ending_signals; i++)
    signal(ending_signals[i], SIG_IGN);
  close_at_exec(STDERR_FILENO + 1);
  keep(kept, count);
  execve(path, argv, environment);
}

int platform_begin_second(const char *variable, const char *value, const int *kept, int count) {
  char path[PATH_MAX];
  int status = -1;
  char **environment = environment_with(variable, value);
  if (!environment || !platform_program_path(path, sizeof path)) {
    free_texts(environment);
    return -1;
  }
  pid_t child = fork();
  /* the first child starts a second one and ends at once, so that nobody has to wait for the second one */
  if (!child) {
    pid_t grandchild = fork();
    if (!grandchild)
      become_second(path, environment, kept, count);
    _exit(grandchild < 0 || !grandchild);
  }
  free_texts(environment);
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  return child > 0 && WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -1;
}

/* --- messages and files that two processes pass to each other --- */

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
