#include "app/run/preparer.h"

static void work(void *opaque) {
  struct preparer *p = opaque;
  if (p->releases)
    engine_release(p->engine, &p->prepared);
  else
    p->status = engine_prepare(p->engine, &p->shape, &p->prepared, &p->err);
}

static int start(struct preparer *p, struct error *err) {
  p->status = 0;
  return errand_start(&p->errand, work, p, "prepares", err);
}

int preparer_ask(struct preparer *p, const struct engine_shape *shape, struct error *err) {
  p->shape = *shape;
  p->prepared = NULL;
  p->releases = false;
  return start(p, err);
}

int preparer_release(struct preparer *p, struct prepared **prepared, struct error *err) {
  p->prepared = *prepared;
  p->releases = true;
  if (start(p, err))
    return -1;
  *prepared = NULL;
  return 0;
}

int preparer_take(struct preparer *p, struct prepared **prepared, struct error *err) {
  if (!errand_is_done(&p->errand))
    return 0;
  preparer_end(p);
  if (p->releases)
    return 0;
  *prepared = p->prepared;
  if (p->status)
    *err = p->err;
  return p->status ? -1 : 1;
}

void preparer_end(struct preparer *p) {
  errand_join(&p->errand);
}
