#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/auxv.h>
#endif

#include "unet/base/platform.h"

/* Returns the path of the file that contains this function, or NULL. For a shared library, the system knows the path.
 * For a program, it only knows the name with which the program was called, and any caller may choose that name. So the
 * program's file is found through /proc. */
static const char *own_file(Dl_info *own) {
  if (!dladdr((void *)(uintptr_t)platform_own_folder, own) || !own->dli_fname)
    return NULL;
#ifdef __linux__
  Dl_info program;
  if (dladdr((void *)getauxval(AT_ENTRY), &program) && program.dli_fbase == own->dli_fbase)
    return "/proc/self/exe";
#endif
  return own->dli_fname;
}

bool platform_own_folder(char *path, size_t size) {
  Dl_info own;
  const char *file = own_file(&own);
  /* A relative name would be looked for in the working folder, but the file need not have been opened from there. */
  char *real = file && *file == '/' ? realpath(file, NULL) : NULL;
  char *slash = real ? strrchr(real, '/') : NULL;
  bool known = slash && (size_t)(slash - real) < size;
  if (known) {
    *slash = 0;
    strcpy(path, real);
  }
  free(real);
  return known;
}

void *platform_open_code(const char *path, char *why, size_t size) {
  void *code = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  const char *reason = code ? NULL : dlerror();
  size_t length = strlen(path);
  if (reason && !strncmp(reason, path, length) && !strncmp(reason + length, ": ", 2))
    reason += length + 2;
  snprintf(why, size, "%s", code ? "" : reason ? reason : "unknown reason");
  return code;
}

void *platform_find_function(void *code, const char *name) {
  return dlsym(code, name);
}

void platform_close_code(void *code) {
  dlclose(code);
}
