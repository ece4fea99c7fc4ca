/* Writes small text files so that other processes, and this one after a crash, see either the old text or the new one,
 * and never a part. */
#ifndef APP_PLATFORM_WHOLE_TEXT_H
#define APP_PLATFORM_WHOLE_TEXT_H

#include "unet/base/error.h"

/* Writes the text and a line feed to a temporary file, which only the user can read, and renames that file to `path`.
 * what: words for the file's contents, for the error message. Returns 0, or -1 with err. */
int whole_text_write(const char *path, const char *text, const char *what, struct error *err);

#endif
