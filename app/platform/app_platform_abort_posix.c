#include "app/platform/app_platform.h"

#include <execinfo.h>
#include <link.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { DEPTH_MAX = 128 };

/* Data of the handler of SIGABRT, the signal that abort() raises. They are static because no argument can be passed to
 * a signal handler. */
static struct {
  struct platform_abort how;
  uintptr_t begin, end; /* begin and end of the code of the library `how.library` (from platform_catch_abort's
                         * argument); zeros: it is not loaded */
} caught;

static int note_library(struct dl_phdr_info *object, size_t size, void *unused) {
  (void)size, (void)unused;
  const char *slash = strrchr(object->dlpi_name, '/'), *name = slash ? slash + 1 : object->dlpi_name;
  if (strncmp(name, caught.how.library, strlen(caught.how.library)))
    return 0;
  for (int i = 0; i < object->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &object->dlpi_phdr[i];
    if (part->p_type == PT_LOAD && part->p_flags & PF_X) {
      caught.begin = object->dlpi_addr + part->p_vaddr;
      caught.end = caught.begin + part->p_memsz;
    }
  }
  return 1;
}

/* Returns true if a function of the library that `how` names is among the callers on this thread's stack. */
static bool came_from_library(void) {
  void *stack[DEPTH_MAX];
  int depth = caught.end ? backtrace(stack, DEPTH_MAX) : 0;
  for (int i = 0; i < depth; i++)
    if ((uintptr_t)stack[i] >= caught.begin && (uintptr_t)stack[i] < caught.end)
      return true;
  return false;
}

static void on_abort(int number) {
  (void)number;
  bool known = came_from_library();
  const char *line = known ? caught.how.line : caught.how.other_line;
  (void)!write(STDERR_FILENO, line, strlen(line));
  _exit(known ? caught.how.status : caught.how.other_status);
}

void platform_catch_abort(const struct platform_abort *how) {
  void *unused[1];
  caught.how = *how;
  caught.begin = caught.end = 0;
  dl_iterate_phdr(note_library, NULL);
  /* backtrace is called once in advance: its first call loads a library, and after abort() there may be no memory for
   * that */
  (void)backtrace(unused, 1);
  signal(SIGABRT, on_abort);
}
