/* Small text files. */
#ifndef UNET_BASE_TEXT_FILE_H
#define UNET_BASE_TEXT_FILE_H

#include <stddef.h>

#include "unet/base/error.h"

/* Reads a regular file of at most limit bytes. *text is allocated, the caller frees it; it ends with a zero byte that
 * *length (may be NULL) does not count. Errors are STATUS_MODEL. */
int text_read(const char *path, size_t limit, char **text, size_t *length, struct error *err);

/* dir/name, allocated; NULL when memory is short. */
char *text_path(const char *dir, const char *name);
/* The folder that a file lies in, "." where its path names none: allocated, or NULL when memory is short. */
char *text_folder(const char *path);

#endif
