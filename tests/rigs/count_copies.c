/* A library to be preloaded into the program (LD_PRELOAD). It counts the bytes that the program's own code copies with
 * memcpy and memmove, and at the end writes their number to the file REVERIE_COPIES. Copies by libraries do not count,
 * and neither do copies of settings, which threads pass to each other as a whole. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/control/settings.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static void *(*real_move)(void *, const void *, size_t);
static uintptr_t first, end; /* bounds of the program's code */
static atomic_llong copied;

/* Finds the bounds of the program's code, which is around its main. */
static int find_program(int (*start)(int, char **, char **)) {
  char line[512];
  FILE *maps = fopen("/proc/self/maps", "r");
  while (maps && fgets(line, sizeof line, maps)) {
    unsigned long from, to;
    if (sscanf(line, "%lx-%lx", &from, &to) == 2 && (uintptr_t)start >= from && (uintptr_t)start < to) {
      first = from;
      end = to;
    }
  }
  return maps ? fclose(maps) : -1;
}

static bool is_settings(size_t size) {
  return size == sizeof(struct settings) || size == sizeof(struct moment) || size == sizeof(struct parameters);
}

static void *copy(void *to, const void *from, size_t size, const void *caller) {
  if ((uintptr_t)caller >= first && (uintptr_t)caller < end && !is_settings(size))
    atomic_fetch_add_explicit(&copied, (long long)size, memory_order_relaxed);
  if (!real_move)
    *(void **)&real_move = dlsym(RTLD_NEXT, "memmove");
  return real_move(to, from, size);
}

void *memcpy(void *restrict to, const void *restrict from, size_t size) {
  return copy(to, from, size, __builtin_return_address(0));
}

void *memmove(void *to, const void *from, size_t size) {
  return copy(to, from, size, __builtin_return_address(0));
}

void *__memcpy_chk(void *restrict to, const void *restrict from, size_t size, size_t room) {
  (void)room;
  return copy(to, from, size, __builtin_return_address(0));
}

int __libc_start_main(int (*start)(int, char **, char **), int count, char **arguments, void (*init)(void),
                      void (*finish)(void), void (*loader_finish)(void), void *stack) {
  int (*real)(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void), void (*)(void), void *);
  *(void **)&real = dlsym(RTLD_NEXT, "__libc_start_main");
  find_program(start);
  return real(start, count, arguments, init, finish, loader_finish, stack);
}

__attribute__((destructor)) static void tell(void) {
  char text[32];
  const char *path = getenv("REVERIE_COPIES");
  int fd = path && first ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
  int length = snprintf(text, sizeof text, "%lld\n", (long long)atomic_load(&copied));
  if (fd < 0 || write(fd, text, (size_t)length) != length || close(fd))
    _exit(127);
}
