/* A list of sources' names. */
#ifndef APP_SOURCE_PLAYLIST_H
#define APP_SOURCE_PLAYLIST_H

#include <stdatomic.h>
#include <stdbool.h>

#include "app/source/source.h"

enum { PLAYLIST_MAX = 1000 };

struct playlist_entry {
  char *name;
  bool plain; /* dropped on the window; the command line's input options do not apply to it */
};

/* Zero-initialise to start. */
struct playlist {
  struct playlist_entry *entries;
  int count;
};

/* Inserts a copy of name at this index. Returns 0, or -1 with err. */
int playlist_insert(struct playlist *list, int index, const char *name, bool plain, struct error *err);
/* Removes the entry of this index. */
void playlist_remove(struct playlist *list, int index);
/* Adds the sources that a file names, one in each line; M3U files are such files. Empty lines and lines that begin with
 * # are skipped. Relative names start from that file's folder. A pipe is first read to its end, unless *stop is set.
 * Returns 0, or -1 with err. */
int playlist_read(struct playlist *list, const char *path, const atomic_bool *stop, const struct log *log,
                  struct error *err);
/* Removes from the command line's options those that do not apply to this source: for a dropped file format, size and
 * place. */
void playlist_narrow(const struct playlist_entry *entry, struct source_options *options);
/* Frees the entries. Accepts zeros. */
void playlist_free(struct playlist *list);

#endif
