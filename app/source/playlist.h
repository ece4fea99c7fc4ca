/* A list of the names of sources: cameras, files, URLs. */
#ifndef APP_SOURCE_PLAYLIST_H
#define APP_SOURCE_PLAYLIST_H

#include <stdatomic.h>
#include <stdbool.h>

#include "app/source/source.h"

enum { PLAYLIST_MAX = 1000 };

struct playlist_entry {
  char *name;
  /* true: this name was dropped on the window, so the command line's input options do not apply to the source */
  bool plain;
  /* in and out points, in seconds from the file's beginning (or from source_options.start), at which playing begins and
   * ends. out_s is the file's end if it is not greater than in_s. */
  double in_s, out_s;
};

/* A list of sources. Zero-initialise to start. */
struct playlist {
  struct playlist_entry *entries;
  int count;
};

/* Inserts an entry with a copy of `name` at this index, from 0 to list->count. Returns 0, or -1 with err if the list
 * has PLAYLIST_MAX entries already or memory is short. */
int playlist_insert(struct playlist *list, int index, const char *name, bool plain, struct error *err);
/* Inserts at this index, as playlist_insert does, an entry that is a copy of an entry of another list: the name, the in
 * and out points, and `plain`. */
int playlist_insert_copy(struct playlist *list, int index, const struct playlist_entry *entry, struct error *err);
/* Removes the entry of this index, from 0. */
void playlist_remove(struct playlist *list, int index);
/* Adds the sources that a file names, one per line, as in an M3U file. Empty lines and lines that begin with # are
 * skipped. Relative names start from that file's folder. A pipe is first read to its end, or until *stop is set.
 * Returns 0, or -1 with err, also if no source is named; entries added before an error stay. */
int playlist_read(struct playlist *list, const char *path, const atomic_bool *stop, const struct log *log,
                  struct error *err);
/* Resets in `options` the command line's options that do not apply to this source: for a file that was dropped on the
 * window, those of format, size and start. */
void playlist_narrow(const struct playlist_entry *entry, struct source_options *options);
/* Frees the list's entries. Does nothing for a zeroed list. */
void playlist_free(struct playlist *list);

#endif
