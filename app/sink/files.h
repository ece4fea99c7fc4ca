/* Which files that exist a name stands for: one, the pictures of a sequence, what a playlist names. So that nothing is
 * written over what is read, whatever it is called on either side. */
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

/* Zero-initialise to start. */
struct files {
  struct file_entry *entries;
  size_t count, capacity;
};

/* What reading spec reads, as far as names tell: hard and symbolic links, the members of a sequence, of a glob, of a
 * playlist, of "concat:A|B". */
int files_add_input(struct files *files, const char *spec, const struct source_options *options, struct error *err);
int files_add(struct files *files, const char *path, struct error *err);
/* pattern: with one %d in it; numbers below first, and from end on, do not count. */
int files_add_sequence(struct files *files, const char *pattern, long first, long end, struct error *err);
int files_add_glob(struct files *files, const char *pattern, struct error *err);
/* The name in one of a file that is in other, too; NULL: none is. Sorts other. */
const char *files_shared(const struct files *one, struct files *other);
void files_free(struct files *files);

#endif
