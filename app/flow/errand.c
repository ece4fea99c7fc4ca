#include "app/flow/errand.h"

#include <string.h>

static void *run(void *opaque) {
  struct errand *e = opaque;
  e->work(e->opaque);
  e->done = true;
  return NULL;
}

int errand_start(struct errand *e, void (*work)(void *opaque), void *opaque, const char *does, struct error *err) {
  e->work = work;
  e->opaque = opaque;
  e->done = false;
  int code = pthread_create(&e->thread, NULL, run, e);
  if (code)
    return error_set(err, STATUS_FAILED, "cannot start the thread that %s: %s", does, strerror(code));
  e->busy = true;
  return 0;
}

bool errand_is_done(const struct errand *e) {
  return e->busy && e->done;
}

void errand_join(struct errand *e) {
  if (e->busy)
    pthread_join(e->thread, NULL);
  e->busy = false;
}
