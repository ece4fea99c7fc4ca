/* Reading of small text files, and paths. */
#ifndef UNET_BASE_TEXT_FILE_H
#define UNET_BASE_TEXT_FILE_H

#include <stddef.h>

#include "unet/base/error.h"

/* Reads a regular file of at most limit bytes. The caller frees *text, which ends with a zero byte that *length (may be
 * NULL) does not count. Errors are STATUS_MODEL. */
int text_read(const char *path, size_t limit, char **text, size_t *length, struct error *err);

/* Returns dir/name, allocated; NULL: out of memory. */
char *text_path(const char *dir, const char *name);
/* Returns the folder of a file, "." if its path names none, allocated; NULL: out of memory. */
char *text_folder(const char *path);

#endif
