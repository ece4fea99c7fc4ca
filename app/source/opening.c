#include "app/source/opening.h"

#include <stdlib.h>

/* Reads the first frame of the opened source in advance. A live source's first frame is not read in advance, because it
 * would be old when it is shown. Returns 0, or -1 with opening->err. */
static int read_first(struct opening *opening) {
  struct source_info info;
  source_get_info(opening->source, &info);
  return info.realtime ? 0 : source_read_ahead(opening->source, &opening->err);
}

static void open_one(void *opaque) {
  struct opening *opening = opaque;
  source_close(&opening->former);
  source_close(&opening->taken_back);
  opening->code = source_open(&opening->source, opening->name, &opening->options, &opening->err);
  if (opening->code || (!read_first(opening) && !atomic_load(opening->cancel)))
    return;
  source_close(&opening->source);
  opening->code = -1;
}

int opening_start(struct opening *opening, const struct source_request *request, const char *name,
                  const struct source_options *options, struct error *err) {
  opening->former = opening->source;
  opening->source = NULL;
  opening->options = *options;
  opening->options.cancel = opening->cancel = calloc(1, sizeof *opening->cancel);
  opening->name = name;
  opening->request = *request;
  opening->cancelled = false;
  if (!opening->cancel) {
    error_set(err, STATUS_FAILED, "no memory to open %s", name);
    goto fail;
  }
  if (errand_start(&opening->errand, open_one, opening, "opens sources", err))
    goto fail;
  return 0;
fail:
  opening_drop(opening);
  return -1;
}

void opening_cancel(struct opening *opening) {
  if (!opening->errand.busy || opening->cancelled)
    return;
  opening->cancelled = true;
  atomic_store(opening->cancel, true);
}

/* Waits until the errand has ended. From then on the flag `cancel` belongs to the opened source; if there is none, the
 * flag is freed. */
static void settle(struct opening *opening) {
  errand_join(&opening->errand);
  if (opening->source && opening->cancel)
    source_own_cancel(opening->source, opening->cancel);
  else
    free(opening->cancel);
  opening->cancel = NULL;
  opening->options.cancel = NULL;
}

bool opening_has_ended(struct opening *opening) {
  if (!errand_is_done(&opening->errand))
    return false;
  settle(opening);
  if (opening->cancelled)
    opening->request.index = -1;
  return !opening->cancelled;
}

void opening_drop(struct opening *opening) {
  settle(opening);
  source_close(&opening->source);
  source_close(&opening->former);
  source_close(&opening->taken_back);
  opening->request.index = -1;
}
