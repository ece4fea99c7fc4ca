#include "app/platform/stamped.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "app/platform/app_platform.h"
#include "unet/base/text.h"

enum { NAMES_MAX = 1000 };

FILE *stamped_create(char *path, const char *dir, const char *extension, const char *what, struct error *err) {
  char stamp[32];
  struct tm local;
  platform_local_time(&local);
  strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &local);
  for (int i = 1; i < NAMES_MAX; i++) {
    char name[PATHS_MAX], suffix[16] = "";
    if (i > 1)
      snprintf(suffix, sizeof suffix, "-%d", i);
    int length =
        snprintf(name, sizeof name, "%s%sreverie-%s%s.%s", dir ? dir : "", dir ? "/" : "", stamp, suffix, extension);
    if (length >= PATHS_MAX) {
      error_set(err, STATUS_OUTPUT, "%s: the folder's name is too long", what);
      return NULL;
    }
    memcpy(path, name, (size_t)length + 1);
    FILE *file = platform_stream(path, "wbx");
    if (!file && errno == EEXIST)
      continue;
    if (!file)
      error_set(err, STATUS_OUTPUT, "%s: %.300s: %s", what, path, strerror(errno));
    return file;
  }
  error_set(err, STATUS_OUTPUT, "%s: %.300s and %d more exist already", what, path, NAMES_MAX);
  return NULL;
}

int stamped_next(char *path, const char *name, struct error *err) {
  struct platform_entry entry;
  const char *last = text_last_part(name), *dot = strrchr(last, '.');
  int stem = dot && dot > last ? (int)(dot - name) : (int)strlen(name);
  for (int i = 2; i < NAMES_MAX; i++) {
    if (snprintf(path, PATHS_MAX, "%.*s-%d%s", stem, name, i, name + stem) >= PATHS_MAX)
      return error_set(err, STATUS_OUTPUT, "%.300s: the name is too long", name);
    if (platform_look(&entry, path))
      return 0;
  }
  return error_set(err, STATUS_OUTPUT, "%.300s and %d more exist already", name, NAMES_MAX);
}
