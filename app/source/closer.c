#include "app/source/closer.h"

#include <stdlib.h>

#include "app/flow/errand.h"

/* Largest number of files that are being closed at the same time: each still holds its decoder and a decoder's memory,
 * and who seeks with a fader may leave files faster than they are closed. */
enum { CLOSING_MOST = 4 };

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
  return source_is_file(&info);
}

/* Frees the entries of files that are closed; waits: true: waits until all are. Returns how many are left. */
static int free_closed(struct closer *closer, bool waits) {
  struct closing **link = &closer->first;
  int left = 0;
  while (*link) {
    struct closing *closing = *link;
    if (!waits && !errand_is_done(&closing->errand)) {
      link = &closing->next;
      left++;
      continue;
    }
    errand_join(&closing->errand);
    *link = closing->next;
    free(closing);
  }
  return left;
}

void closer_take(struct closer *closer, struct origin *origin) {
  struct error ignored;
  bool has_room = free_closed(closer, false) < CLOSING_MOST;
  struct closing *closing = has_room && is_open_file(origin) ? calloc(1, sizeof *closing) : NULL;
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
