#include "unet/base/text_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unet/base/platform.h"

int text_read(const char *path, size_t limit, char **text, size_t *length, struct error *err) {
  char *buffer = NULL;
  struct platform_file file;
  if (platform_open(&file, path)) {
    error_set(err, STATUS_MODEL, "%s: cannot be read: %s", path, strerror(errno));
    goto fail;
  }
  if (!file.regular) {
    error_set(err, STATUS_MODEL, "%s: is not a regular file", path);
    goto fail;
  }
  if (file.size > limit) {
    error_set(err, STATUS_MODEL, "%s: %llu bytes are more than the %zu that such a file may have", path,
              (unsigned long long)file.size, limit);
    goto fail;
  }
  buffer = malloc((size_t)file.size + 1);
  if (!buffer) {
    error_set(err, STATUS_FAILED, "%s: out of memory", path);
    goto fail;
  }
  int64_t got = platform_read(&file, 0, buffer, (size_t)file.size);
  if (got < 0) {
    error_set(err, STATUS_MODEL, "%s: cannot be read: %s", path, strerror(errno));
    goto fail;
  }
  platform_close(&file);
  buffer[got] = 0;
  *text = buffer;
  if (length)
    *length = (size_t)got;
  return 0;

fail:
  free(buffer);
  platform_close(&file);
  return -1;
}

int text_make_lines(char *text, size_t length) {
  static const char mark[] = "\xEF\xBB\xBF";
  size_t end = strlen(text), begin = 0; /* begin: where the text's last line begins */
  int number = 1;
  for (size_t i = 0; i < end; i++)
    if (text[i] == '\n') {
      begin = i + 1;
      number++;
    }
  if (end < length)
    text[begin] = 0;
  if (!strncmp(text, mark, sizeof mark - 1))
    memmove(text, text + sizeof mark - 1, strlen(text) - (sizeof mark - 1) + 1);
  return end < length ? number : 0;
}

char *text_path(const char *dir, const char *name) {
  char *path;
  return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

char *text_folder(const char *path) {
  const char *slash = strrchr(path, '/');
  size_t length = !slash ? 0 : slash > path ? (size_t)(slash - path) : 1; /* the folder of "/name" is "/" */
  char *folder = slash ? malloc(length + 1) : strdup(".");
  if (slash && folder) {
    memcpy(folder, path, length);
    folder[length] = 0;
  }
  return folder;
}
