#include "app/source/closer.h"

#include <stdlib.h>

#include "app/flow/errand.h"

struct closing {
  struct origin origin;
  struct errand errand;
  struct closing *next;
};

static void close_origin(void *opaque) {
  struct closing *closing = opaque;
  origin_free(&closing->origin);
}

static bool is_open_file(const struct origin *origin) {
  struct source_info info;
  if (!origin->source)
    return false;
  source_get_info(origin->source, &info);
  return !info.realtime && !info.returns && !info.passes;
}

/* Frees the entries of files that are closed; waits: true: waits until all are. */
static void free_closed(struct closer *closer, bool waits) {
  struct closing **link = &closer->first;
  while (*link) {
    struct closing *closing = *link;
    if (!waits && !errand_is_done(&closing->errand)) {
      link = &closing->next;
      continue;
    }
    errand_join(&closing->errand);
    *link = closing->next;
    free(closing);
  }
}

void closer_take(struct closer *closer, struct origin *origin) {
  struct error ignored;
  free_closed(closer, false);
  struct closing *closing = is_open_file(origin) ? calloc(1, sizeof *closing) : NULL;
  if (!closing)
    return;
  closing->origin = *origin;
  if (errand_start(&closing->errand, close_origin, closing, "closes files", &ignored)) {
    free(closing);
    return;
  }
  *origin = (struct origin){0};
  closing->next = closer->first;
  closer->first = closing;
}

void closer_finish(struct closer *closer) {
  free_closed(closer, true);
}
