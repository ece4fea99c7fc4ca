/* Text being read and built, a code point at a time. */
#ifndef UNET_TEXT_CHARS_H
#define UNET_TEXT_CHARS_H

#include <stdbool.h>
#include <stddef.h>
#include <utf8proc.h>

/* Growing text. failed sticks. Zeroed: empty; bytes are to be freed. */
struct builder {
  char *bytes;
  size_t length, capacity;
  bool failed;
};

void add_bytes(struct builder *b, const void *bytes, size_t length);
void add_char(struct builder *b, utf8proc_int32_t c);
/* Reads one code point; what is not UTF-8 is U+FFFD, a byte at a time. Returns the bytes it took. */
size_t next_char(const char *bytes, size_t length, utf8proc_int32_t *c);
/* Appends text in NFC. */
void add_composed(struct builder *b, const char *bytes, size_t length);

#endif
