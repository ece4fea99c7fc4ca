/* A source with the name and the options with which it can be opened again. */
#ifndef APP_SOURCE_ORIGIN_H
#define APP_SOURCE_ORIGIN_H

#include "app/source/source.h"

struct origin {
  struct source *source; /* the open source; NULL: it is not open yet */
  char *spec;
  struct source_options options;
  /* the stop flag of the caller's options; options.stop is another flag, which the source's reader sets */
  const atomic_bool *stop;
};

/* Fills *origin, which becomes the owner of *source; *source becomes NULL. cut: the flag that ends opening and
 * reading of the source, in place of options->stop. Returns 0, or -1 with err. */
int origin_set(struct origin *origin, const atomic_bool *cut, struct source **source, const char *spec,
               const struct source_options *options, struct error *err);
/* Closes the source and frees what *origin holds. Accepts a zeroed struct. */
void origin_free(struct origin *origin);

#endif
