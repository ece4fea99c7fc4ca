#include "unet/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utf8proc.h>

/* Reads length bytes; fewer when the file shrank meanwhile. */
static ssize_t read_all(int fd, char *buffer, size_t length) {
  size_t done = 0;
  while (done < length) {
    ssize_t got = read(fd, buffer + done, length - done);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return -1;
    if (!got)
      break;
    done += (size_t)got;
  }
  return (ssize_t)done;
}

int text_read(const char *path, size_t limit, char **text, size_t *length, struct error *err) {
  char *buffer = NULL;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* not to wait for a pipe's other end */
  struct stat st;
  if (fd < 0 || fstat(fd, &st)) {
    error_set(err, STATUS_MODEL, "%s: cannot be read: %s", path, strerror(errno));
    goto fail;
  }
  if (!S_ISREG(st.st_mode)) {
    error_set(err, STATUS_MODEL, "%s: is not a regular file", path);
    goto fail;
  }
  if ((unsigned long long)st.st_size > limit) {
    error_set(err, STATUS_MODEL, "%s: %lld bytes are more than the %zu that such a file may have", path,
              (long long)st.st_size, limit);
    goto fail;
  }
  buffer = malloc((size_t)st.st_size + 1);
  if (!buffer) {
    error_set(err, STATUS_FAILED, "%s: out of memory", path);
    goto fail;
  }
  ssize_t got = read_all(fd, buffer, (size_t)st.st_size);
  if (got < 0) {
    error_set(err, STATUS_MODEL, "%s: cannot be read: %s", path, strerror(errno));
    goto fail;
  }
  close(fd);
  buffer[got] = 0;
  *text = buffer;
  if (length)
    *length = (size_t)got;
  return 0;

fail:
  free(buffer);
  if (fd >= 0)
    close(fd);
  return -1;
}

char *text_path(const char *dir, const char *name) {
  char *path;
  return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

/* Of UTF-8, those that a terminal obeys instead of showing them (C0, DEL, C1), that end a line, and that turn the
 * direction of what follows, so that one name looks like another. */
static bool is_shown(utf8proc_int32_t character) {
  const utf8proc_property_t *property = utf8proc_get_property(character);
  switch (property->category) {
  case UTF8PROC_CATEGORY_CC:
  case UTF8PROC_CATEGORY_ZL:
  case UTF8PROC_CATEGORY_ZP:
    return false;
  case UTF8PROC_CATEGORY_CF:
    return property->bidi_class < UTF8PROC_BIDI_CLASS_LRE ||
           (property->bidi_class > UTF8PROC_BIDI_CLASS_PDF && property->bidi_class < UTF8PROC_BIDI_CLASS_LRI);
  default:
    return true;
  }
}

char *text_clean(char *text) {
  size_t from = 0, to = 0, length = strlen(text);
  while (from < length) {
    utf8proc_int32_t character;
    utf8proc_ssize_t bytes =
        utf8proc_iterate((const utf8proc_uint8_t *)text + from, (utf8proc_ssize_t)(length - from), &character);
    if (bytes > 0 && is_shown(character)) {
      memmove(text + to, text + from, (size_t)bytes);
      to += (size_t)bytes;
    } else {
      text[to++] = '?';
    }
    from += bytes > 0 ? (size_t)bytes : 1;
  }
  text[to] = 0;
  return text;
}

struct quoted text_quote(const char *text) {
  struct quoted quoted;
  size_t room = sizeof quoted.text - sizeof "...", length = strlen(text), kept = length <= room ? length : room;
  while (kept < length && kept && ((unsigned char)text[kept] & 0xc0) == 0x80) /* no half of a character */
    kept--;
  memcpy(quoted.text, text, kept);
  strcpy(quoted.text + kept, kept < length ? "..." : "");
  text_clean(quoted.text);
  return quoted;
}

void text_put(FILE *out, const char *text) {
  char *copy = strdup(text);
  fputs(copy ? text_clean(copy) : text_quote(text).text, out);
  free(copy);
}
