/* Files that the program names itself, after the time. */
#ifndef APP_OPTIONS_STAMPED_H
#define APP_OPTIONS_STAMPED_H

#include <stdio.h>

#include "app/options/paths.h"

/* Makes reverie-YYYYMMDD-HHMMSS.EXTENSION in dir (NULL: the working directory), with -2, -3... where that exists:
 * nothing is ever overwritten. path holds PATHS_MAX characters; what begins the message ("snapshot"). NULL: there can
 * be none. */
FILE *stamped_create(char *path, const char *dir, const char *extension, const char *what, struct error *err);

#endif
