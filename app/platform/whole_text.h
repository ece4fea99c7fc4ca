/* Writes small text files so that other processes, and this one after a crash, see the old text or the new one. */
#ifndef APP_PLATFORM_WHOLE_TEXT_H
#define APP_PLATFORM_WHOLE_TEXT_H

#include "unet/base/error.h"

/* Writes the text and a line feed to a temporary file, which only the user can read, and renames it to path. what: what
 * the file keeps, for the message. Returns 0, or -1 with err. */
int whole_text_write(const char *path, const char *text, const char *what, struct error *err);

#endif
