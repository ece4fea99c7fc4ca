/* A library to be preloaded into the program (LD_PRELOAD). It makes the n-th call of a kind fail that the program's own
 * code or one of the libraries below makes.
 *
 *   REVERIE_INJECT_KIND    alloc, read, write, open, file, map, thread
 *   REVERIE_INJECT_IN      the library whose calls count, or the beginning of its name; not set: all of `culprits`
 *   REVERIE_INJECT_AT      n, from 1; 0: none fails
 *   REVERIE_INJECT_ALL     if set, every call from the n-th on fails
 *   REVERIE_INJECT_SIGNAL  if set, the n-th call does not fail, but the program gets SIGTERM in it
 *   REVERIE_INJECT_REPORT  a file to which these lines are added: which library's call failed; where a fatal signal
 *                          came from; and at the end how many calls of each kind there were
 *
 * A program that takes longer than TIME_LIMIT seconds is ended by SIGALRM. */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Some of these functions are called only by code compiled with checks, or for files beyond 2 GB. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

enum { TIME_LIMIT = 60, DEPTH = 32, CALL_DEPTH = 6 };

enum kind { ALLOC, READ, WRITE, OPEN, FILES, MAP, THREAD, KINDS };

static const char *const kind_names[KINDS] = {"alloc", "read", "write", "open", "file", "map", "thread"};

/* Libraries whose calls fail. Drivers of the display and the GPU are not among them, because they do not promise to
 * survive it. */
static const char *const culprits[] = {"reverie", "libav",     "libsw",   "libdnnl", "libcjson",
                                       "libpcre", "libutf8pr", "libSDL2", "libpng",  "libx264"};

enum { CULPRITS = sizeof culprits / sizeof *culprits };

/* Libraries that call on behalf of others: for their calls, the caller one further up the stack counts. */
static const char *const between[] = {"libc.so", "libstdc++", "libgcc_s", "libinject"};

static bool active, all, interrupts;
static const char *wanted = "";
static enum kind chosen = KINDS;
static long at;
static int report = -1;
static atomic_long taken;                   /* number of calls so far of the kind and library asked for */
static atomic_long counts[KINDS][CULPRITS]; /* numbers of all calls, as long as none is to fail */
static void *(*real_new)(size_t);           /* operator new */

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

/* --- who calls --- */

static bool starts_with(const char *name, const char *start) {
  return !strncmp(name, start, strlen(start));
}

/* Returns the index of the name in the list; -1: it is not there. */
static int find(const char *name, const char *const *list, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (starts_with(name, list[i]))
      return (int)i;
  return -1;
}

static bool is_between(const char *name) {
  return find(name, between, sizeof between / sizeof *between) >= 0;
}

/* Returns the file name of the code at an address; "?" for code that was made at run time. */
static const char *library_at(const void *address) {
  Dl_info info;
  if (!dladdr(address, &info) || !info.dli_fname)
    return "?";
  const char *slash = strrchr(info.dli_fname, '/');
  return slash ? slash + 1 : info.dli_fname;
}

/* Returns the innermost library on the stack that is not one of `between`, within so many frames. */
static const char *calling_library(int most) {
  void *frames[DEPTH];
  int depth = backtrace(frames, most);
  for (int i = 0; i < depth; i++) {
    const char *name = library_at(frames[i]);
    if (!is_between(name))
      return name;
  }
  return "?";
}

/* Returns the library that made the call; -1: none of culprits. address is where the call returns to. */
static int find_culprit(const void *address) {
  static _Thread_local struct {
    const void *address;
    int culprit;
    bool between;
  } seen[256]; /* cache of the addresses that were looked up: a program calls from few places, but often */
  size_t entry = (uintptr_t)address / 4 % 256;
  if (seen[entry].address != address) {
    const char *name = library_at(address);
    /* The stack unwinder (libgcc_s) allocates while it holds its lock; looking at the stack in such a call would wait
     * for that lock forever. So the unwinder's own calls do not count. */
    seen[entry].between = is_between(name) && !starts_with(name, "libgcc_s");
    seen[entry].culprit = find(name, culprits, CULPRITS);
    seen[entry].address = address;
  }
  if (!seen[entry].between)
    return seen[entry].culprit;
  return find(calling_library(CALL_DEPTH), culprits, CULPRITS);
}

static void trace(void) {
  void *frames[DEPTH];
  if (getenv("REVERIE_INJECT_TRACE"))
    backtrace_symbols_fd(frames, backtrace(frames, DEPTH), report);
}

/* Returns true if this call is to fail. Once the failure has happened the caller is not looked up any more, because
 * that takes time. */
static bool fails(enum kind kind, const void *address) {
  bool settled = at && (kind != chosen || (!all && atomic_load(&taken) >= at));
  int culprit = active && !settled ? find_culprit(address) : -1;
  if (culprit < 0)
    return false;
  atomic_fetch_add(&counts[kind][culprit], 1);
  if (!at || !starts_with(culprits[culprit], wanted))
    return false;
  long mine = atomic_fetch_add(&taken, 1) + 1;
  if (mine == at) {
    dprintf(report, "failed in %s\n", culprits[culprit]);
    trace();
    if (interrupts)
      kill(getpid(), SIGTERM);
  }
  return interrupts ? false : all ? mine >= at : mine == at;
}

static _Thread_local const void *new_caller; /* caller of operator new, which calls malloc; otherwise NULL */

static bool allocation_fails(const void *address) {
  if (new_caller)
    address = new_caller;
  new_caller = NULL;
  return fails(ALLOC, address);
}

#define FAILS(kind) fails(kind, __builtin_return_address(0))
#define ALLOCATION_FAILS() allocation_fails(__builtin_return_address(0))

/* --- start and end --- */

/* Reports a crash. A call of NULL has no library, and is reported as "?". */
static void on_crash(int number, siginfo_t *info, void *context) {
  (void)context;
  dprintf(report, "crash %d in %s, at %p\n", number, calling_library(DEPTH), info->si_addr);
  trace();
}

/* Reports the call, and then calls the real abort. */
void abort(void) {
  static void (*real)(void);
  dprintf(report, "abort in %s\n", calling_library(DEPTH));
  trace();
  *(void **)&real = dlsym(RTLD_NEXT, "abort");
  real();
  __builtin_unreachable();
}

static void catch_crashes(void) {
  static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
  struct sigaction action = {.sa_sigaction = on_crash,
                             /* SA_RESETHAND: when this handler returns, the fault happens again, with the default
                              * action */
                             .sa_flags = SA_RESETHAND | SA_SIGINFO};
  for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
    sigaction(fatal[i], &action, NULL);
}

__attribute__((constructor)) static void begin(void) {
  void *frame;
  const char *kind = getenv("REVERIE_INJECT_KIND"), *number = getenv("REVERIE_INJECT_AT");
  const char *path = getenv("REVERIE_INJECT_REPORT");
  for (int i = 0; kind && i < KINDS; i++)
    if (!strcmp(kind, kind_names[i]))
      chosen = (enum kind)i;
  at = number ? atol(number) : 0;
  if (getenv("REVERIE_INJECT_IN"))
    wanted = getenv("REVERIE_INJECT_IN");
  all = getenv("REVERIE_INJECT_ALL") != NULL;
  interrupts = getenv("REVERIE_INJECT_SIGNAL") != NULL;
  report = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
  backtrace(&frame, 1); /* the first call loads the library that backtrace needs */
  catch_crashes();
  alarm(TIME_LIMIT);
}

/* Calls that libraries make before main (CUDA's run time for instance) cannot be handled by the program, so counting
 * begins with main. */
static int (*program_main)(int count, char **arguments, char **environment);

static int begin_main(int count, char **arguments, char **environment) {
  active = true;
  return program_main(count, arguments, environment);
}

int __libc_start_main(int (*start)(int, char **, char **), int count, char **arguments, void (*init)(void),
                      void (*finish)(void), void (*loader_finish)(void), void *stack);
int __libc_start_main(int (*start)(int, char **, char **), int count, char **arguments, void (*init)(void),
                      void (*finish)(void), void (*loader_finish)(void), void *stack) {
  int (*real)(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void), void (*)(void), void *);
  *(void **)&real = dlsym(RTLD_NEXT, "__libc_start_main");
  program_main = start;
  return real(begin_main, count, arguments, init, finish, loader_finish, stack);
}

__attribute__((destructor)) static void end(void) {
  active = false;
  dprintf(report, "calls:\n");
  for (int i = 0; i < KINDS * CULPRITS; i++)
    if (counts[i / CULPRITS][i % CULPRITS])
      dprintf(report, "%s %s %ld\n", kind_names[i / CULPRITS], culprits[i % CULPRITS],
              counts[i / CULPRITS][i % CULPRITS]);
}

/* --- memory --- */

static void *no_memory(void) {
  errno = ENOMEM;
  return NULL;
}

void *malloc(size_t size) {
  return ALLOCATION_FAILS() ? no_memory() : __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
  return ALLOCATION_FAILS() ? no_memory() : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size) {
  return ALLOCATION_FAILS() ? no_memory() : __libc_realloc(old, size);
}

void *memalign(size_t alignment, size_t size) {
  return ALLOCATION_FAILS() ? no_memory() : __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  return ALLOCATION_FAILS() ? no_memory() : __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size) {
  void *bytes = ALLOCATION_FAILS() ? NULL : __libc_memalign(alignment, size);
  if (!bytes)
    return ENOMEM;
  *out = bytes;
  return 0;
}

/* Finds the real function, which is the next one of this name. */
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* operator new(size_t) and operator new(size_t, nothrow). They remember their caller, because walking up the stack for
 * each call would take too long. */
void *_Znwm(size_t size) {
  if (!real_new)
    real_new = REAL(_Znwm);
  new_caller = __builtin_return_address(0);
  return real_new(size);
}

void *_ZnwmRKSt9nothrow_t(size_t size, const void *nothrow) {
  new_caller = __builtin_return_address(0);
  return REAL(_ZnwmRKSt9nothrow_t)(size, nothrow);
}

/* --- everything else --- */

/* Defines a function that returns `bad` and sets errno when its call is to fail. */
#define WRAP(kind, code, bad, type, name, parameters, arguments)                                                       \
  type name parameters {                                                                                               \
    if (!FAILS(kind))                                                                                                  \
      return REAL(name) arguments;                                                                                     \
    errno = code;                                                                                                      \
    return bad;                                                                                                        \
  }

WRAP(READ, EIO, -1, ssize_t, read, (int fd, void *to, size_t size), (fd, to, size))
WRAP(READ, EIO, -1, ssize_t, pread, (int fd, void *to, size_t size, off_t from), (fd, to, size, from))
WRAP(READ, EIO, -1, ssize_t, pread64, (int fd, void *to, size_t size, off64_t from), (fd, to, size, from))
WRAP(READ, EIO, -1, ssize_t, __read_chk, (int fd, void *to, size_t size, size_t room), (fd, to, size, room))
WRAP(READ, EIO, -1, ssize_t, __pread_chk, (int fd, void *to, size_t size, off_t from, size_t room),
     (fd, to, size, from, room))
WRAP(READ, EIO, -1, ssize_t, __pread64_chk, (int fd, void *to, size_t size, off64_t from, size_t room),
     (fd, to, size, from, room))

size_t fread(void *to, size_t size, size_t count, FILE *file) {
  if (!FAILS(READ))
    return REAL(fread)(to, size, count, file);
  file->_flags |= _IO_ERR_SEEN;
  errno = EIO;
  return 0;
}

WRAP(WRITE, ENOSPC, -1, ssize_t, pwrite, (int fd, const void *from, size_t size, off_t to), (fd, from, size, to))
WRAP(WRITE, ENOSPC, -1, ssize_t, pwrite64, (int fd, const void *from, size_t size, off64_t to), (fd, from, size, to))
WRAP(WRITE, ENOSPC, EOF, int, fclose, (FILE * file), (file))

/* Writing to standard error never fails, because the tests read it. */
ssize_t write(int fd, const void *from, size_t size) {
  if (fd == STDERR_FILENO || !FAILS(WRITE))
    return REAL(write)(fd, from, size);
  errno = ENOSPC;
  return -1;
}

static size_t no_room(FILE *file) {
  file->_flags |= _IO_ERR_SEEN;
  errno = ENOSPC;
  return 0;
}

size_t fwrite(const void *from, size_t size, size_t count, FILE *file) {
  return file != stderr && FAILS(WRITE) ? no_room(file) : REAL(fwrite)(from, size, count, file);
}

int fflush(FILE *file) {
  if (!file || file == stderr || !FAILS(WRITE))
    return REAL(fflush)(file);
  no_room(file);
  return EOF;
}

/* The third argument is passed on whether it was given or not. */
#define WRAP_OPEN(name)                                                                                                \
  int name(const char *path, int flags, ...) {                                                                         \
    va_list list;                                                                                                      \
    va_start(list, flags);                                                                                             \
    int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, int) : 0;                                                  \
    va_end(list);                                                                                                      \
    if (!FAILS(OPEN))                                                                                                  \
      return REAL(name)(path, flags, mode);                                                                            \
    errno = EMFILE;                                                                                                    \
    return -1;                                                                                                         \
  }

WRAP_OPEN(open)
WRAP_OPEN(open64)
WRAP(OPEN, EMFILE, -1, int, __open_2, (const char *path, int flags), (path, flags))
WRAP(OPEN, EMFILE, -1, int, __open64_2, (const char *path, int flags), (path, flags))
WRAP(OPEN, EMFILE, NULL, FILE *, fopen, (const char *path, const char *mode), (path, mode))
WRAP(OPEN, EMFILE, NULL, FILE *, fopen64, (const char *path, const char *mode), (path, mode))
WRAP(OPEN, EMFILE, NULL, FILE *, fdopen, (int fd, const char *mode), (fd, mode))
WRAP(OPEN, EMFILE, -1, int, mkstemp, (char *template), (template))
WRAP(OPEN, EMFILE, -1, int, mkstemp64, (char *template), (template))
WRAP(OPEN, EMFILE, -1, int, mkostemp, (char *template, int flags), (template, flags))
WRAP(OPEN, EMFILE, -1, int, mkostemp64, (char *template, int flags), (template, flags))

WRAP(FILES, EIO, -1, int, rename, (const char *from, const char *to), (from, to))
WRAP(FILES, EIO, -1, int, fsync, (int fd), (fd))
WRAP(FILES, EIO, -1, int, fchmod, (int fd, mode_t mode), (fd, mode))
WRAP(FILES, EIO, -1, int, chmod, (const char *path, mode_t mode), (path, mode))
WRAP(FILES, EIO, -1, int, ftruncate, (int fd, off_t size), (fd, size))
WRAP(FILES, EIO, -1, int, ftruncate64, (int fd, off64_t size), (fd, size))
WRAP(FILES, EIO, -1, off_t, lseek, (int fd, off_t to, int whence), (fd, to, whence))
WRAP(FILES, EIO, -1, off64_t, lseek64, (int fd, off64_t to, int whence), (fd, to, whence))
WRAP(FILES, EIO, -1, int, stat, (const char *path, struct stat *out), (path, out))
WRAP(FILES, EIO, -1, int, stat64, (const char *path, struct stat64 *out), (path, out))
WRAP(FILES, EIO, -1, int, fstat, (int fd, struct stat *out), (fd, out))
WRAP(FILES, EIO, -1, int, fstat64, (int fd, struct stat64 *out), (fd, out))

WRAP(MAP, ENOMEM, MAP_FAILED, void *, mmap, (void *where, size_t size, int prot, int flags, int fd, off_t from),
     (where, size, prot, flags, fd, from))
WRAP(MAP, ENOMEM, MAP_FAILED, void *, mmap64, (void *where, size_t size, int prot, int flags, int fd, off64_t from),
     (where, size, prot, flags, fd, from))
WRAP(MAP, ENOMEM, -1, int, mprotect, (void *where, size_t size, int prot), (where, size, prot))

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *), void *opaque) {
  return FAILS(THREAD) ? EAGAIN : REAL(pthread_create)(thread, attributes, function, opaque);
}
