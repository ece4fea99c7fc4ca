#include "app/run/opener.h"

static void work(void *opaque) {
  struct opener *o = opaque;
  if (o->closes)
    engine_close(&o->opened.engine);
  else
    o->status = o->open(o->opaque, &o->used, &o->opened, &o->err);
}

static int start(struct opener *o, struct error *err) {
  o->status = 0;
  return errand_start(&o->errand, work, o, "opens models", err);
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

enum opener_news opener_take(struct opener *o, struct opened *opened, struct error *err) {
  if (!errand_is_done(&o->errand))
    return OPENER_NOTHING;
  errand_join(&o->errand);
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
  errand_join(&o->errand);
  engine_close(&o->opened.engine);
}
