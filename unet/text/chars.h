/* Functions that read and write UTF-8 text one code point at a time. */
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

/* add_bytes appends text, add_char appends one code point. */
void add_bytes(struct builder *b, const void *bytes, size_t length);
void add_char(struct builder *b, utf8proc_int32_t c);
/* Reads the code point at the beginning of bytes, stores it in *c, and returns how many bytes it has. A byte that is
 * not valid UTF-8 is read as U+FFFD. */
size_t next_char(const char *bytes, size_t length, utf8proc_int32_t *c);
/* Appends text after it was composed to NFC (Unicode's composed form). */
void add_composed(struct builder *b, const char *bytes, size_t length);

#endif
