/* Makes the program miss libraries: those whose names begin with the text in REVERIE_FAULT_LIBRARY are not found. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void *__real_dlopen(const char *file, int mode);
void *__wrap_dlopen(const char *file, int mode);

void *__wrap_dlopen(const char *file, int mode) {
  const char *missing = getenv("REVERIE_FAULT_LIBRARY");
  bool missed = missing && file && !strncmp(file, missing, strlen(missing));
  return __real_dlopen(missed ? "libnone.so.1" : file, mode);
}
