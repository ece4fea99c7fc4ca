/* Small text files, and text from outside made fit for a message. */
#ifndef UNET_BASE_TEXT_H
#define UNET_BASE_TEXT_H

#include <stddef.h>
#include <stdio.h>

#include "unet/base/error.h"

/* Reads a regular file of at most limit bytes. *text is allocated, the caller frees it; it ends with a zero byte that
 * *length (may be NULL) does not count. Errors are STATUS_MODEL. */
int text_read(const char *path, size_t limit, char **text, size_t *length, struct error *err);

/* dir/name, allocated; NULL when memory is short. */
char *text_path(const char *dir, const char *name);

/* Makes a string that nobody vouches for fit to be shown, in place: what a terminal obeys (control characters, C1
 * ones too), line ends, turns of direction and what is no UTF-8 become '?'. Returns text. Errors and log lines are
 * cleaned as they are made (error_set, log_line); this is for what is shown otherwise. */
char *text_clean(char *text);

/* Prints text as text_clean leaves it. */
void text_put(FILE *out, const char *text);

/* What a message may quote of such a string: clean, and a long one is cut. */
struct quoted {
  char text[96];
};
struct quoted text_quote(const char *text);

#endif
