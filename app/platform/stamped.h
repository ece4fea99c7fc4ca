/* Creates files whose names contain the current time. */
#ifndef APP_PLATFORM_STAMPED_H
#define APP_PLATFORM_STAMPED_H

#include <stdio.h>

#include "app/platform/paths.h"

/* Creates reverie-YYYYMMDD-HHMMSS.EXTENSION in `dir` (NULL: the working directory). If that file exists, "-2", "-3" and
 * so on are added, so that nothing is overwritten. path has room for PATHS_MAX characters. `what` begins the error
 * message ("snapshot"). The caller closes the file. NULL: this failed, with err set. */
FILE *stamped_create(char *path, const char *dir, const char *extension, const char *what, struct error *err);

/* Finds a name for the file that continues the file `name`. "-2", "-3" and so on is added before the extension, until
 * no file has that name. Stores the name in `path`, which has room for PATHS_MAX characters. Returns 0, or -1 with err
 * set. */
int stamped_next(char *path, const char *name, struct error *err);

#endif
