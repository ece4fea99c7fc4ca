/* A new file that replaces another one once it is complete. Until then it is in the same folder under a unique name
 * (".reverie-settling-XXXXXX"), and locked: a file of that name without a lock was left by a process that was
 * killed. */
#ifndef APP_SINK_REPLACEMENT_H
#define APP_SINK_REPLACEMENT_H

#include <limits.h>

#include "unet/base/log.h"

struct replacement {
  int descriptor;
  char path[PATH_MAX];
  char url[PATH_MAX]; /* names the open file itself, even if the path is renamed or replaced */
};

/* Creates the new file in path's folder. It gets owner and mode of the file at path, or those of any new file if there
 * is none. Returns 0, or -1 with errno. */
int replacement_make(struct replacement *replacement, const char *path);
/* Renames the file to path and closes it. Returns 0, or -1 with errno; then replacement_drop is still due. */
int replacement_take_over(struct replacement *replacement, const char *path);
/* Closes and deletes the file. */
void replacement_drop(struct replacement *replacement);

/* Deletes the files that killed processes of this user left in path's folder. Logs a line for each. */
void replacement_clean(const char *path, const struct log *log);

#endif
