/* A file that takes another's place once it is complete. Until then it lies in the same folder, under a name of its own
 * (".reverie-settling-XXXXXX") that nobody else can have prepared. It is locked, so that one whose process was killed
 * can be told from one that is being written. */
#ifndef APP_SINK_NEIGHBOUR_H
#define APP_SINK_NEIGHBOUR_H

#include <limits.h>

#include "unet/base/log.h"

struct neighbour {
  int descriptor;
  char path[PATH_MAX];
  char url[PATH_MAX]; /* the file itself, whatever becomes of its name */
};

/* Makes one beside path, with the owner and mode of path, or those of any new file where there is none. Returns 0, or
 * -1 with errno. */
int neighbour_make(struct neighbour *neighbour, const char *path);
/* Gives it path's place and closes it. Returns 0, or -1 with errno: then it is still to be dropped. */
int neighbour_take_over(struct neighbour *neighbour, const char *path);
/* Closes and removes it. */
void neighbour_drop(struct neighbour *neighbour);

/* Removes what killed processes of this user left in path's folder. */
void neighbour_clean(const char *path, const struct log *log);

#endif
