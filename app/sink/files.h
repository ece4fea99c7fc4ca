/* Lists the existing files that a name stands for: a single file, the pictures of a sequence, or the files that a
 * playlist names. With two such lists, inputs and outputs are compared, so that no file is written that is also read,
 * even under another name (a link). */
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

/* A list of files. A file is identified by its volume (device) and number (inode), which are the same under all its
 * names. Zero-initialise to start. */
struct files {
  struct file_entry *entries;
  size_t count, capacity;
};

/* Adds the files that are read when spec is opened as an input, as far as names tell: the file itself (through hard and
 * symbolic links), the members of a sequence, of a glob, of a playlist, of "concat:A
 *
 * B". All functions named files_add... return 0, or -1 with err if memory is short. Missing files are no error. */
int files_add_input(struct files *files, const char *spec, const struct source_options *options, struct error *err);
/* Adds the file at path. */
int files_add(struct files *files, const char *path, struct error *err);
/* Adds the files of a pattern with one %d whose numbers are at least first and below end. */
int files_add_sequence(struct files *files, const char *pattern, long first, long end, struct error *err);
/* Adds the files that a glob finds. */
int files_add_glob(struct files *files, const char *pattern, struct error *err);
/* Returns the path in `one` of a file that is also in `other`, or NULL if they have none in common. Sorts other. */
const char *files_shared(const struct files *one, struct files *other);
/* Frees the entries. Accepts zeros. */
void files_free(struct files *files);

#endif
