#include "app/platform/whole_text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/platform/app_platform.h"
#include "unet/base/platform.h"

static int write_text(const char *path, const char *text) {
  size_t size = strlen(text);
  FILE *file = platform_create(path);
  if (!file)
    return -1;
  bool written = fwrite(text, 1, size, file) == size && fputc('\n', file) != EOF && !platform_save(file);
  return fclose(file) || !written ? -1 : 0;
}

int whole_text_write(const char *path, const char *text, const char *what, struct error *err) {
  char *beside = platform_temporary_name(path);
  int status = 0;
  if (!beside) {
    status = error_set(err, STATUS_FAILED, "%s: no memory to keep %s", path, what);
  } else if (write_text(beside, text) || platform_replace(beside, path)) {
    status = error_set(err, STATUS_OUTPUT, "%s: %s cannot be kept: %s", path, what, strerror(errno));
    platform_remove(beside);
  }
  free(beside);
  return status;
}
