#include "app/run/styling.h"

#include <string.h>

#include "app/source/source.h"

void styling_ask(struct styling *styling) {
  atomic_fetch_add(&styling->asked, 1);
}

int styling_read_file(struct engine_style **style, const struct style_format *format, const char *file,
                      const atomic_bool *stop, const struct log *log, struct error *err) {
  const struct source_options options = {.stop = stop, .log = log};
  struct source *source = NULL;
  struct frame frame = {0};
  int got = source_open(&source, file, &options, err) ? -1 : source_read(source, &frame, err);
  if (got == 0)
    error_set(err, STATUS_INPUT, "%s: has no picture", file);
  int status = got <= 0 ? -1 : engine_read_style(format, &frame, style, err);
  frame_release(&frame);
  source_close(&source);
  return status;
}

static void read_picture(void *opaque) {
  struct styling *s = opaque;
  if (s->slot)
    styling_read_file(&s->next, &s->format, s->file.words, &s->stop, s->log, &s->err);
  else
    engine_read_style(&s->format, &s->frame, &s->next, &s->err);
}

static struct style_format format_of(const struct engine *engine) {
  struct engine_info info;
  engine_get_info(engine, &info);
  return info.style;
}

/* Returns true if the engine has no IP-Adapter, and waits for one: another engine is being opened, or is to be opened
 * with the model's own IP-Adapter, which another model may have, too. Returns false if the engine has one, or if none
 * is to be had. has: the values with which the engine was opened. */
static bool waits_for_adapter(struct styling *s, const struct engine *engine, const struct parameters *has,
                              const struct parameters *wish) {
  struct engine_info info;
  engine_get_info(engine, &info);
  bool other = !parameters_same(has, wish, PARAMETER_MODEL, 0),
       comes = other || !parameters_same(has, wish, PARAMETER_IP_ADAPTER, 0);
  if (!info.style.size && comes) {
    s->own_wanted = other && !parameters_text(wish, PARAMETER_IP_ADAPTER, 0);
    return true;
  }
  /* if an engine with it was asked for and does not come any more, it was refused */
  s->own_wanted = !info.style.size && info.own_adapter && !s->own_asked;
  s->own_asked = false;
  return s->own_wanted;
}

static bool is_read_by(const struct style_format *format, const struct engine *engine) {
  const struct style_format own = format_of(engine);
  return own.size == format->size && own.patch == format->patch;
}

static int begin_frame(struct styling *s, const struct engine *engine, const struct frame *frame, struct error *err) {
  s->begun = atomic_load(&s->asked);
  s->format = format_of(engine);
  if (!s->format.size)
    return 0;
  s->slot = 0;
  s->frame = frame_hold(frame);
  if (errand_start(&s->errand, read_picture, s, "reads style pictures", err) == 0)
    return 0;
  frame_release(&s->frame);
  return -1;
}

static void refuse(struct styling *s, const struct error *err) {
  if (s->log)
    log_line(s->log, LOG_WARNING, "style[%d]: %s; it stays with the picture before", s->slot, err->message);
  s->back = s->slot;
  atomic_fetch_add(&s->refused, 1);
}

/* Removes the style from a slot (storage for a style picture, from 1) of the engine. Returns 1, or -1 with err on
 * failure. */
static int empty(struct styling *s, struct engine *engine, struct parameters *has, int slot, struct error *err) {
  if (slot == 1)
    engine_free_style(&s->style);
  parameters_set_text(has, PARAMETER_STYLE, slot, NULL, err);
  return engine_set_style(engine, slot - 1, NULL, err) ? -1 : 1;
}

/* Starts reading the picture file that the value of a slot (place for a style picture) names; if the value is empty,
 * removes the slot's style instead. An engine without an IP-Adapter refuses the file. Returns 0, 1 if the engine's
 * style has changed, or -1 with err. */
static int begin_file(struct styling *s, struct engine *engine, struct parameters *has, const struct parameters *wish,
                      int slot, struct error *err) {
  if (!parameters_text(wish, PARAMETER_STYLE, slot))
    return empty(s, engine, has, slot, err);
  struct error why;
  s->format = format_of(engine);
  s->slot = slot;
  s->file = wish->style[slot - 1];
  if (!s->format.size)
    error_set(&why, STATUS_USAGE, "%.200s: an IP-Adapter reads the style of a picture: --ip-adapter FILE gives one",
              s->file.words);
  if (!s->format.size || errand_start(&s->errand, read_picture, s, "reads style pictures", &why))
    refuse(s, &why);
  return 0;
}

/* Gives the engine the style that the background thread has read. Returns 1; 0 if the engine's image encoder takes
 * another format; -1 with err on failure. */
static int give(struct styling *s, struct engine *engine, struct parameters *has, struct error *err) {
  if (!is_read_by(&s->format, engine))
    return 0;
  if (engine_set_style(engine, s->slot ? s->slot - 1 : 0, s->next, err))
    return -1;
  if (s->slot)
    has->style[s->slot - 1] = s->file;
  return 1;
}

/* Gives the background thread's result to the engine. The engine's image encoder may now need another format. Then the
 * style of a file is freed, and the file is read again later; the style of a video frame is kept for engines that can
 * use it. Returns 0, also if a file could not be read (it is then refused); 1 if the engine got a style; or -1 with
 * err. */
static int end(struct styling *s, struct engine *engine, struct parameters *has, struct error *err) {
  errand_join(&s->errand);
  frame_release(&s->frame);
  if (!s->next && s->slot) {
    refuse(s, &s->err);
    return 0;
  }
  if (!s->next) {
    *err = s->err;
    return -1;
  }
  int came = give(s, engine, has, err);
  if (!s->slot || (s->slot == 1 && came > 0)) {
    engine_free_style(&s->style);
    s->style = s->slot ? NULL : s->next;
    s->style_format = s->format;
  }
  if (s->slot)
    engine_free_style(&s->next);
  s->next = NULL;
  return came;
}

/* Begins what was asked for: a file of another name, or the frame as a style. If the engine's IP-Adapter is on its way,
 * nothing is done, and a later call begins it with that engine. Returns as begin_file does. */
static int begin(struct styling *s, struct engine *engine, struct parameters *has, const struct parameters *wish,
                 const struct frame *frame, struct error *err) {
  int slot = 1;
  while (slot <= STYLES_MAX && parameters_same(has, wish, PARAMETER_STYLE, slot))
    slot++;
  bool file = slot <= STYLES_MAX, removed = file && !parameters_text(wish, PARAMETER_STYLE, slot);
  if (!file && (atomic_load(&s->asked) == s->begun || !frame))
    return 0;
  if (!removed && waits_for_adapter(s, engine, has, wish))
    return 0;
  return file ? begin_file(s, engine, has, wish, slot, err) : begin_frame(s, engine, frame, err);
}

int styling_follow(struct styling *s, struct engine *engine, struct parameters *has, const struct parameters *wish,
                   const struct frame *frame, struct error *err) {
  int came = 0;
  if (s->engine != engine && s->style && is_read_by(&s->style_format, engine)) {
    if (engine_set_style(engine, 0, s->style, err))
      return -1;
    came = 1;
  }
  s->engine = engine;
  if (errand_is_done(&s->errand)) {
    int given = end(s, engine, has, err);
    return given < 0 ? -1 : came || given;
  }
  if (s->errand.busy || s->back)
    return came;
  int emptied = begin(s, engine, has, wish, frame, err);
  return emptied < 0 ? -1 : came || emptied;
}

/* Asks for an engine with the model's own IP-Adapter, unless the values name another one. */
static void ask_for_own(struct styling *s, struct parameters *values) {
  struct error ignored;
  if (!parameters_text(values, PARAMETER_IP_ADAPTER, 0))
    parameters_set_text(values, PARAMETER_IP_ADAPTER, 0, PARAMETER_IP_ADAPTER_OWN, &ignored);
  s->own_wanted = false;
  s->own_asked = true;
}

void styling_put_back(struct styling *s, const struct parameters *has, struct parameters *values) {
  int slot = s->back;
  if (s->own_wanted)
    ask_for_own(s, values);
  s->back = 0;
  if (!slot)
    return;
  const char *now = parameters_text(values, PARAMETER_STYLE, slot);
  if (now && !strcmp(now, s->file.words))
    parameters_take(values, has, PARAMETER_STYLE, slot);
}

void styling_leave(struct styling *s) {
  s->engine = NULL;
}

void styling_finish(struct styling *s) {
  atomic_store(&s->stop, true);
  if (s->errand.busy) {
    errand_join(&s->errand);
    frame_release(&s->frame);
  }
  engine_free_style(&s->style);
  engine_free_style(&s->next);
}
