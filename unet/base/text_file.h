/* Functions that read small text files and put paths together. */
#ifndef UNET_BASE_TEXT_FILE_H
#define UNET_BASE_TEXT_FILE_H

#include <stddef.h>

#include "unet/base/error.h"

/* Reads a regular file of at most `limit` bytes. The caller frees *text, which ends with a zero byte. *length (may be
 * NULL) gets the length without that byte. Returns 0, or -1 with err: STATUS_FAILED if memory is lacking, else
 * STATUS_MODEL. */
int text_read(const char *path, size_t limit, char **text, size_t *length, struct error *err);

/* The end of a message about a line of a file: says that the line has a zero byte, and what to do. */
#define TEXT_ZERO_BYTE "has a zero byte, and neither it nor what follows counts; save the file as plain text (UTF-8)"

/* Makes the text of a file, as text_read returned it, fit for a reader of lines. Removes the byte order mark of UTF-8
 * at its beginning. A zero byte would end the text early: if there is one, its line and all after it are removed.
 * Returns this line's number, from 1, which the caller tells the user with TEXT_ZERO_BYTE; 0: there is no zero byte. */
int text_make_lines(char *text, size_t length);

/* Returns dir/name, allocated; NULL: out of memory. */
char *text_path(const char *dir, const char *name);
/* Returns the folder part of a path, or "." if the path has none. The text is allocated; NULL: out of memory. */
char *text_folder(const char *path);

#endif
