/* Files that the program names itself, after the time. */
#ifndef APP_PLATFORM_STAMPED_H
#define APP_PLATFORM_STAMPED_H

#include <stdio.h>

#include "app/platform/paths.h"

/* Makes reverie-YYYYMMDD-HHMMSS.EXTENSION in dir (NULL: the working directory), with -2, -3... where that exists:
 * nothing is ever overwritten. path holds PATHS_MAX characters; what begins the message ("snapshot"). NULL: there can
 * be none. */
FILE *stamped_create(char *path, const char *dir, const char *extension, const char *what, struct error *err);

/* The name with -2, -3... before its extension, the first of them that no file has: for what goes on beside the file of
 * that name. path holds PATHS_MAX characters. */
int stamped_next(char *path, const char *name, struct error *err);

#endif
