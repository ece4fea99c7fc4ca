#include "unet/base/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

/* Returns false for three kinds of characters: control characters, which a terminal interprets (C0, DEL, C1);
 * characters that end a line; and characters that change the direction of text, by which one name can look like
 * another. */
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
  /* the cut moves back to the first byte of a UTF-8 character, so that it does not split one */
  while (kept < length && kept && ((unsigned char)text[kept] & 0xc0) == 0x80)
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

void text_hex(char *hex, const unsigned char *bytes, size_t count) {
  for (size_t i = 0; i < count; i++)
    snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
}

bool text_ends(const char *name, const char *ending) {
  size_t length = strlen(name), size = strlen(ending);
  return length > size && !strcmp(name + length - size, ending);
}

const char *text_last_part(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash && slash[1] ? slash + 1 : path;
}
