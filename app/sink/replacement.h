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
  char url[PATH_MAX]; /* URL by which this process can open the file again, even if the file at `path` is renamed or
                       * replaced */
};

/* Creates the new file in the folder of `path`. The new file gets owner and mode of the file at `path`; if there is
 * none, those of any new file. Returns 0, or -1 with errno. */
int replacement_make(struct replacement *replacement, const char *path);
/* Renames the file that replacement_make has created to `path`, replaces an older file of that name, and closes the new
 * file. Returns 0, or -1 with errno; then the caller must still call replacement_drop. */
int replacement_take_over(struct replacement *replacement, const char *path);
/* Closes and deletes the file that replacement_make has created; an older file at `path` stays as it is. */
void replacement_drop(struct replacement *replacement);

/* Deletes the unfinished files of replacement_make that killed processes of this user left in `path`'s folder. Logs a
 * line for each. */
void replacement_clean(const char *path, const struct log *log);

#endif
