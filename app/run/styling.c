#include "app/run/styling.h"

void styling_ask(struct styling *styling) {
  atomic_fetch_add(&styling->asked, 1);
}

static void read_frame(void *opaque) {
  struct styling *s = opaque;
  engine_read_style(&s->format, &s->frame, &s->next, &s->err);
}

static int begin(struct styling *s, const struct engine *engine, const struct frame *frame, struct error *err) {
  struct engine_info info;
  engine_get_info(engine, &info);
  s->begun = atomic_load(&s->asked);
  if (!info.style.size)
    return 0;
  s->format = info.style;
  s->frame = frame_hold(frame);
  if (errand_start(&s->errand, read_frame, s, "reads style pictures", err) == 0)
    return 0;
  frame_release(&s->frame);
  return -1;
}

/* Joins the errand. 1: a style has come. */
static int end(struct styling *s, struct error *err) {
  errand_join(&s->errand);
  frame_release(&s->frame);
  if (!s->next) {
    *err = s->err;
    return -1;
  }
  engine_free_style(&s->style);
  s->style = s->next;
  s->next = NULL;
  return 1;
}

/* Gives the engine what was taken, where it reads such pictures. */
static int give(const struct styling *s, struct engine *engine, struct error *err) {
  struct engine_info info;
  engine_get_info(engine, &info);
  bool reads = info.style.size == s->format.size && info.style.patch == s->format.patch;
  return s->style && reads ? engine_set_style(engine, 0, s->style, err) : 0;
}

int styling_apply(struct styling *s, struct engine *engine, const struct frame *frame, struct error *err) {
  bool another = s->engine != engine;
  int came = errand_is_done(&s->errand) ? end(s, err) : 0;
  s->engine = engine;
  if (came < 0 || ((another || came) && give(s, engine, err) < 0))
    return -1;
  bool wanted = atomic_load(&s->asked) != s->begun;
  return wanted && frame && !s->errand.busy ? begin(s, engine, frame, err) : 0;
}

void styling_leave(struct styling *s) {
  s->engine = NULL;
}

void styling_finish(struct styling *s) {
  if (s->errand.busy) {
    errand_join(&s->errand);
    frame_release(&s->frame);
  }
  engine_free_style(&s->style);
  engine_free_style(&s->next);
}
