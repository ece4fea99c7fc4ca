#include "app/run/opener.h"

#include <string.h>

static void *work(void *opaque) {
  struct opener *o = opaque;
  if (o->closes)
    engine_close(&o->opened.engine);
  else
    o->status = o->open(o->opaque, &o->used, &o->opened, &o->err);
  o->done = true;
  return NULL;
}

static int start(struct opener *o, struct error *err) {
  o->done = false;
  o->status = 0;
  int code = pthread_create(&o->thread, NULL, work, o);
  if (code)
    return error_set(err, STATUS_FAILED, "cannot start the thread that opens models: %s", strerror(code));
  o->busy = true;
  return 0;
}

int opener_ask(struct opener *o, const struct parameters *wish, const struct engine_info *used, struct error *err) {
  o->wish = *wish;
  o->used = *used;
  o->opened = (struct opened){.beginning.values = *wish};
  o->closes = false;
  return start(o, err);
}

int opener_close(struct opener *o, struct engine **engine, struct error *err) {
  o->opened = (struct opened){.engine = *engine};
  o->closes = true;
  if (start(o, err)) {
    o->opened.engine = NULL;
    return -1;
  }
  *engine = NULL;
  return 0;
}

static void join(struct opener *o) {
  if (o->busy)
    pthread_join(o->thread, NULL);
  o->busy = false;
}

enum opener_news opener_take(struct opener *o, struct opened *opened, struct error *err) {
  if (!o->busy || !o->done)
    return OPENER_NOTHING;
  join(o);
  if (o->closes)
    return OPENER_CLOSED;
  if (o->status) {
    *err = o->err;
    return OPENER_REFUSED;
  }
  *opened = o->opened;
  o->opened.engine = NULL;
  return OPENER_OPENED;
}

void opener_end(struct opener *o) {
  join(o);
  engine_close(&o->opened.engine);
}
