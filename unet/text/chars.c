#include "unet/text/chars.h"

#include <stdlib.h>
#include <string.h>

void add_bytes(struct builder *b, const void *bytes, size_t length) {
  if (b->length + length > b->capacity) {
    size_t capacity = 2 * (b->length + length) + 64;
    char *grown = realloc(b->bytes, capacity);
    b->failed |= !grown;
    if (!grown)
      return;
    b->bytes = grown;
    b->capacity = capacity;
  }
  if (length)
    memcpy(b->bytes + b->length, bytes, length);
  b->length += length;
}

void add_char(struct builder *b, utf8proc_int32_t c) {
  utf8proc_uint8_t bytes[4];
  add_bytes(b, bytes, (size_t)utf8proc_encode_char(c, bytes));
}

size_t next_char(const char *bytes, size_t length, utf8proc_int32_t *c) {
  utf8proc_ssize_t used = utf8proc_iterate((const utf8proc_uint8_t *)bytes, (utf8proc_ssize_t)length, c);
  if (used > 0)
    return (size_t)used;
  *c = 0xFFFD;
  return 1;
}

void add_composed(struct builder *b, const char *bytes, size_t length) {
  utf8proc_uint8_t *composed = NULL;
  utf8proc_ssize_t size = utf8proc_map((const utf8proc_uint8_t *)bytes, (utf8proc_ssize_t)length, &composed,
                                       UTF8PROC_STABLE | UTF8PROC_COMPOSE);
  b->failed |= size < 0;
  if (size >= 0)
    add_bytes(b, composed, (size_t)size);
  free(composed);
}
