/* Small text files, and text from outside made fit for a message. */
#ifndef UNET_TEXT_H
#define UNET_TEXT_H

#include <stddef.h>

#include "error.h"

/* Reads a regular file of at most limit bytes. *text is allocated, the caller frees it; it ends with a zero byte that
 * *length (may be NULL) does not count. Errors are STATUS_MODEL. */
int text_read(const char *path, size_t limit, char **text, size_t *length, struct error *err);

/* dir/name, allocated; NULL when memory is short. */
char *text_path(const char *dir, const char *name);

/* What a message may quote of a string nobody vouches for: control characters become '?', a long one is cut. */
struct quoted {
  char text[96];
};
struct quoted text_quote(const char *text);

#endif
