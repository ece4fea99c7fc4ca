#include "app/run/masking.h"

#include <stdlib.h>
#include <string.h>

struct masking {
  struct source *source; /* NULL: the frames' own alpha */
  double time_base;      /* seconds of the source's pts */
  double begun;          /* time of the first frame */
  bool running, ended;
  struct frame next; /* read ahead, for next_at seconds after the first; no size: none */
  double next_at, first_pts;
  uint64_t serial;             /* of the frame whose alpha was taken last */
  struct frame last;           /* what the engine has; no size: nothing */
  const struct engine *engine; /* the one that has it */
};

static int open_file(struct masking *masking, const char *spec, const struct log *log, const atomic_bool *stop,
                     struct error *err) {
  const struct source_options options = {.stop = stop, .log = log};
  struct source_info info;
  if (source_open(&masking->source, spec, &options, err))
    return error_prefix(err, "--mask: ");
  source_get_info(masking->source, &info);
  masking->time_base = info.time_base_den ? (double)info.time_base_num / info.time_base_den : 0;
  if (info.realtime)
    return error_set(err, STATUS_USAGE, "--mask: %s is live: a mask is a picture or a video that can be waited for",
                     spec);
  return 0;
}

int masking_open(struct masking **out, const char *spec, const struct log *log, const atomic_bool *stop,
                 struct error *err) {
  *out = NULL;
  if (!spec)
    return 0;
  struct masking *masking = calloc(1, sizeof *masking);
  if (!masking)
    return error_set(err, STATUS_FAILED, "out of memory");
  if (strcmp(spec, MASKING_ALPHA) && open_file(masking, spec, log, stop, err)) {
    masking_close(&masking);
    return -1;
  }
  *out = masking;
  return 0;
}

void masking_close(struct masking **ref) {
  struct masking *masking = *ref;
  *ref = NULL;
  if (!masking)
    return;
  frame_release(&masking->next);
  frame_release(&masking->last);
  source_close(&masking->source);
  free(masking);
}

int masking_check(const struct masking *masking, const struct engine_info *info, const struct log *log,
                  struct error *err) {
  if (masking && !info->inpaints)
    return error_set(err, STATUS_USAGE, "--mask: the model %s takes no mask: inpainting models do", info->model);
  if (!masking && info->inpaints)
    log_line(log, LOG_WARNING,
             "the model %s repaints what --mask marks, and there is none: everything is repainted, and the model sees "
             "nothing of the frame (a --strength below 1 starts from it)",
             info->model);
  return 0;
}

/* The source's next frame, if there is one. */
static int read_ahead(struct masking *masking, struct error *err) {
  int got = source_read(masking->source, &masking->next, err);
  if (got < 0)
    return error_prefix(err, "--mask: ");
  masking->ended = got == 0;
  if (masking->ended)
    return 0;
  double pts = (double)masking->next.pts * masking->time_base;
  if (!masking->running)
    masking->first_pts = pts;
  masking->next_at = pts - masking->first_pts;
  return 0;
}

/* The last of the mask's frames up to this time after the first. */
static int follow(struct masking *masking, struct engine *engine, double now, bool again, struct error *err) {
  while (!masking->ended) {
    if (masking->next.width && masking->next_at > now)
      break;
    if (masking->next.width) {
      frame_release(&masking->last);
      masking->last = masking->next;
      masking->next = (struct frame){0};
      again = true;
    }
    if (read_ahead(masking, err))
      return -1;
    masking->running = true;
  }
  return again && masking->last.width ? engine_set_mask(engine, &masking->last, MASK_WHITE, err) : 0;
}

static int take_alpha(struct masking *masking, struct engine *engine, const struct frame *frame, bool again,
                      struct error *err) {
  if (!frame || (!again && masking->running && frame->serial == masking->serial))
    return 0;
  masking->running = true;
  masking->serial = frame->serial;
  return engine_set_mask(engine, frame, MASK_TRANSPARENT, err);
}

int masking_apply(struct masking *masking, struct engine *engine, const struct frame *frame, double seconds,
                  struct error *err) {
  if (!masking)
    return 0;
  /* Another engine is there before the one in use goes: two that follow each other are never at one address. */
  bool again = masking->engine != engine;
  masking->engine = engine;
  if (!masking->source)
    return take_alpha(masking, engine, frame, again, err);
  if (!masking->running)
    masking->begun = seconds;
  return follow(masking, engine, seconds - masking->begun, again, err);
}
