#include "app/run/masking.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "app/run/device_names.h"
#include "app/source/second_source.h"

struct masking {
  /* reader of the mask's file; NULL: the mask is the alpha channel of the source's own frames */
  struct second_source *second_source;
  bool still; /* true: all frames have the same mask; false: the mask is a video */
  /* true: the mask can be read only once, because it is a pipe, for example; false: it can be read again */
  bool passes;
  double begun; /* time in seconds of the input's frame to which the first frame of the mask belongs */
  bool running;
  /* The engines that have a mask, with the serial number of the mask frame that each has. The pointers are only
   * compared, never used to call an engine. */
  struct {
    const struct engine *engine;
    uint64_t serial;
  } has[ENGINES_MAX];
};

static int open_file(struct masking *masking, const char *spec, const struct log *log, const atomic_bool *stop,
                     struct error *err) {
  const struct source_options options = {.secondary = true, .stop = stop, .log = log};
  struct source_info info;
  struct source *source;
  if (source_open(&source, spec, &options, err))
    return error_prefix(err, "--mask: ");
  source_get_info(source, &info);
  masking->still = info.frames == 1;
  masking->passes = info.passes;
  if (!info.realtime)
    return second_source_start(&masking->second_source, &source,
                               &(struct second_source_options){.patience_ms = INT_MAX}, err);
  source_close(&source);
  return error_set(err, STATUS_USAGE, "--mask: %s is live: a mask is a picture or a video that can be waited for",
                   spec);
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
  second_source_stop(&masking->second_source);
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

/* Gives the engine this frame as the mask, unless it has it. masking->has tells engines apart by their addresses.
 * masking_leave clears it after an engine was closed, because a new engine may get the same address. Returns 0, or -1
 * with err. */
static int give(struct masking *masking, struct engine *engine, const struct frame *frame, enum mask_channel channel,
                struct error *err) {
  int i = 0;
  while (i < ENGINES_MAX - 1 && masking->has[i].engine && masking->has[i].engine != engine)
    i++;
  if (masking->has[i].engine == engine && masking->has[i].serial == frame->serial)
    return 0;
  masking->running = true;
  masking->has[i].engine = engine;
  masking->has[i].serial = frame->serial;
  return engine_set_mask(engine, frame, channel, err);
}

bool masking_is_still(const struct masking *masking) {
  return !masking || masking->still;
}

bool masking_passes(const struct masking *masking) {
  return masking && masking->passes;
}

void masking_leave(struct masking *masking) {
  if (masking)
    memset(masking->has, 0, sizeof masking->has);
}

int masking_apply(struct masking *masking, struct engine *engine, const struct frame *frame, double seconds,
                  struct error *err) {
  if (!masking)
    return 0;
  if (!masking->second_source)
    return frame ? give(masking, engine, frame, MASK_TRANSPARENT, err) : 0;
  if (!masking->running)
    masking->begun = seconds;
  const struct frame *mask;
  if (second_source_at(masking->second_source, seconds - masking->begun, &mask, err) == SECOND_SOURCE_FAILED)
    return error_prefix(err, "--mask: ");
  return mask ? give(masking, engine, mask, MASK_WHITE, err) : 0;
}
