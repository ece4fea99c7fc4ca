#include "app/window/cells.h"

#include <utf8proc.h>

size_t cells_read(const char *text, size_t length, uint32_t *character, int *columns) {
  utf8proc_int32_t read;
  utf8proc_ssize_t bytes = utf8proc_iterate((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)length, &read);
  *character = bytes > 0 ? (uint32_t)read : 0xfffd;
  *columns = bytes > 0 ? utf8proc_charwidth(read) : 1;
  return bytes > 0 ? (size_t)bytes : 1;
}

int cells_count(const char *text, size_t length) {
  uint32_t character;
  int columns, count = 0;
  for (size_t at = 0; at < length; count += columns)
    at += cells_read(text + at, length - at, &character, &columns);
  return count;
}

size_t cells_fit(const char *text, size_t length, int columns) {
  uint32_t character;
  size_t at = 0;
  for (int own; at < length; columns -= own) {
    size_t bytes = cells_read(text + at, length - at, &character, &own);
    if (own > columns)
      break;
    at += bytes;
  }
  return at;
}
