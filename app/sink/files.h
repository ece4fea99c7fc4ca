/* Lists the existing files that a name stands for: a single file, the pictures of a sequence, or the files of a
 * playlist. Lists of inputs and outputs are compared, so that the program never overwrites a file that it reads, even
 * under another name (a link). */
#ifndef APP_SINK_FILES_H
#define APP_SINK_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "app/source/source.h"

struct file_entry {
  uint64_t volume, number;
  char *path;
};

/* A list of files. A file is identified by the numbers of its volume (device) and of its inode, which are the same
 * under all names of the file. Zero-initialise to start. */
struct files {
  struct file_entry *entries;
  size_t count, capacity;
};

/* Adds the files that are read when `spec` is opened as an input, as far as they are known from names: the file itself
 * (links are followed), or the members of a sequence, a glob, a playlist or "concat:A|B". All functions named
 * files_add... return 0, or -1 with err if memory is short. Missing files are no error. */
int files_add_input(struct files *files, const char *spec, const struct source_options *options, struct error *err);
/* Adds the file at `path` to the list, if there is such a file. */
int files_add(struct files *files, const char *path, struct error *err);
/* Adds the files that a pattern with one %d names, for numbers from `first` to below `end`. wanted: options that select
 * some of the files; NULL: all are added. */
int files_add_sequence(struct files *files, const char *pattern, long first, long end,
                       const struct source_options *wanted, struct error *err);
/* Adds the existing files that match a glob (a name with * or ?). */
int files_add_glob(struct files *files, const char *pattern, struct error *err);
/* Returns the path, as listed in `one`, of a file that both lists contain; NULL: the lists have no file in common.
 * Sorts `other`. */
const char *files_shared(const struct files *one, struct files *other);
/* Frees the entries of the list. Accepts a zeroed list. */
void files_free(struct files *files);

#endif
