/* Reads and builds UTF-8 text by code points. */
#ifndef UNET_TEXT_CHARS_H
#define UNET_TEXT_CHARS_H

#include <stdbool.h>
#include <stddef.h>
#include <utf8proc.h>

/* A growing text. Zeroed: empty. Once memory was missing, `failed` stays true. The caller frees `bytes`. */
struct builder {
  char *bytes;
  size_t length, capacity;
  bool failed;
};

/* add_bytes and add_char append text, or one code point. */
void add_bytes(struct builder *b, const void *bytes, size_t length);
void add_char(struct builder *b, utf8proc_int32_t c);
/* Reads one code point and returns its number of bytes. A byte that is not valid UTF-8 is read as U+FFFD. */
size_t next_char(const char *bytes, size_t length, utf8proc_int32_t *c);
/* Appends text in NFC. */
void add_composed(struct builder *b, const char *bytes, size_t length);

#endif
