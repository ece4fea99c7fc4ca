/* A list of sources by name. */
#ifndef APP_SOURCE_PLAYLIST_H
#define APP_SOURCE_PLAYLIST_H

#include <stdatomic.h>
#include <stdbool.h>

#include "app/source/source.h"

enum { PLAYLIST_MAX = 1000 };

struct playlist_entry {
  char *name;
  bool plain; /* dropped on the window: what the command line says of inputs is not about it */
};

/* Zero-initialise to start. */
struct playlist {
  struct playlist_entry *entries;
  int count;
};

/* name is copied, and comes to lie at this index. */
int playlist_insert(struct playlist *list, int index, const char *name, bool plain, struct error *err);
void playlist_remove(struct playlist *list, int index);
/* Adds the sources that a file names, one a line; an M3U file is one. Lines that are empty or begin with # say nothing;
 * names of files count from the folder of that file. A pipe is read to its end first, until *stop. */
int playlist_read(struct playlist *list, const char *path, const atomic_bool *stop, const struct log *log,
                  struct error *err);
/* Of the command line's, those that are about this source: of one that was dropped on the window none that name a
 * format, a size or a place. */
void playlist_narrow(const struct playlist_entry *entry, struct source_options *options);
void playlist_free(struct playlist *list);

#endif
