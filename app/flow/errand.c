#include "app/flow/errand.h"

#include <string.h>

#include "unet/base/platform.h"

enum { NAP_NS = 2000000 };

static void *run(void *opaque) {
  struct errand *e = opaque;
  e->work(e->opaque);
  if (atomic_exchange(&e->state, ERRAND_DONE) == ERRAND_LEFT)
    e->end(e->opaque);
  return NULL;
}

int errand_start(struct errand *e, void (*work)(void *opaque), void *opaque, const char *does, struct error *err) {
  e->work = work;
  e->opaque = opaque;
  e->state = ERRAND_WORKS;
  int code = pthread_create(&e->thread, NULL, run, e);
  if (code)
    return error_set(err, STATUS_FAILED, "cannot start the thread that %s: %s", does, strerror(code));
  e->busy = true;
  return 0;
}

bool errand_is_done(const struct errand *e) {
  return e->busy && e->state == ERRAND_DONE;
}

void errand_join(struct errand *e) {
  if (e->busy)
    pthread_join(e->thread, NULL);
  e->busy = false;
}

void errand_leave(struct errand *e, int64_t most_ns, void (*end)(void *opaque)) {
  pthread_t thread = e->thread;
  for (int64_t until_ns = platform_now_ns() + most_ns; !errand_is_done(e) && platform_now_ns() < until_ns;)
    platform_sleep_ns(NAP_NS);
  e->end = end;
  if (atomic_exchange(&e->state, ERRAND_LEFT) == ERRAND_DONE) {
    errand_join(e);
    end(e->opaque);
  } else {
    /* from here on this thread must not touch *e: the other thread calls end(), which may free the struct */
    pthread_detach(thread);
  }
}
