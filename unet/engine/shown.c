/* What a frame shows of texts and adapters that are made beside frames. What has been started ends before the next
 * begins, so that a text that changes with every frame comes to be shown all the same. */
#include <string.h>

#include "unet/engine/engine_impl.h"

/* The run's slots become places of keys and values, and the frame's are those from now on. */
static int place(struct engine *engine, const struct frame_shape *shape, struct run_params *run, struct error *err) {
  struct run_params slots = *run;
  if (keys_place(engine, shape, run, err) < 0)
    return -1;
  keys_show(engine, shape, &slots, run);
  return 0;
}

/* Everything that the controls ask for, now. */
static int fill_at_once(struct engine *engine, struct prepared *prepared, const struct controls *controls,
                        struct run_params *run, struct error *err) {
  if (adapters_apply(&engine->adapters, engine->device, controls->adapter, err) < 0)
    return -1;
  guidance_fill(engine, &prepared->shape, controls, run);
  if (prompts_refresh(engine, prepared->shape.rows.first, run, err) < 0 ||
      sampling_times(engine, prepared, run, err) < 0)
    return -1;
  return place(engine, &prepared->shape, run, err) < 0 ? -1 : 1;
}

static int finish_and_fill(struct engine *engine, struct prepared *prepared, const struct controls *controls,
                           struct run_params *run, struct error *err) {
  struct beside *b = &engine->beside;
  if (slices_finish(engine, err) < 0)
    return -1;
  b->at_once = true;
  int status = fill_at_once(engine, prepared, controls, run, err);
  b->at_once = false;
  return status;
}

/* Texts and keys with the new weights, for the frame that asked for them. */
static int start_prompts(struct engine *engine, struct error *err) {
  struct beside *b = &engine->beside;
  struct run_params run = {0};
  int rows = b->wanted_shape.rows.first;
  guidance_fill(engine, &b->wanted_shape, &b->wanted, &run);
  return prompts_refresh(engine, rows, &run, err) < 0 ? -1 : keys_place(engine, &b->wanted_shape, &run, err);
}

/* It begins behind the frame: what changes is listed on the host. */
static void ask_for_merge(struct engine *engine, const struct prepared *prepared, const struct controls *controls) {
  struct beside *b = &engine->beside;
  b->merge = MERGE_ASKED;
  b->after_merge = start_prompts;
  b->wanted = *controls;
  b->wanted_shape = prepared->shape;
}

/* The prompts that the controls ask for: 1, or 0 where they are yet to be made, which is begun. */
static int fill_prompts(struct engine *engine, struct prepared *prepared, const struct controls *controls,
                        struct run_params *run, struct error *err) {
  guidance_fill(engine, &prepared->shape, controls, run);
  if (prompts_refresh(engine, prepared->shape.rows.first, run, err) < 0)
    return -1;
  struct run_params slots = *run;
  if (keys_place(engine, &prepared->shape, run, err) < 0)
    return -1;
  if (keys_await(engine, &prepared->shape, &slots, run))
    return 0;
  keys_show(engine, &prepared->shape, &slots, run);
  return sampling_times(engine, prepared, &slots, err) < 0 ? -1 : 1;
}

/* Whether a handle of this shape finds what is shown. */
static bool is_shown(const struct shown *shown, const struct frame_shape *shape) {
  return shown->known && shown->rows >= shape->rows.first && shown->chunks == shape->chunks &&
         !(shape->controls & ~shown->controls);
}

/* Prompts as the frame before shows them. 0: that is not possible. */
static int fill_as_before(struct engine *engine, struct prepared *prepared, const struct controls *controls,
                          struct run_params *run, struct error *err) {
  const struct shown *shown = &engine->beside.shown;
  if (!is_shown(shown, &prepared->shape))
    return 0;
  guidance_fill(engine, &prepared->shape, controls, run);
  memcpy(run->prompt, shown->prompt, sizeof run->prompt);
  return sampling_times_before(engine, prepared, run, err);
}

/* Whether a change of adapters can wait: it is made beside frames, or there is none. */
static bool can_wait(const struct engine *engine, bool same_adapters) {
  return same_adapters || engine->adapters.two_sets;
}

enum { JOBS_AHEAD = 8 }; /* more wait for those to end, lest they grow with every frame */

/* Begins what the controls ask for and is not there, other adapters when nothing else is left to do. 1: it is there. */
static int fill_or_begin(struct engine *engine, struct prepared *prepared, const struct controls *controls,
                         bool same_adapters, struct run_params *run, struct error *err) {
  const struct beside *b = &engine->beside;
  if (!same_adapters && !slices_are_due(b))
    ask_for_merge(engine, prepared, controls);
  if (!same_adapters)
    return 0;
  if (b->merge != MERGE_NONE || b->count - b->first >= JOBS_AHEAD || !is_shown(&b->shown, &prepared->shape))
    return 0;
  return fill_prompts(engine, prepared, controls, run, err);
}

static int fill_texts(struct engine *engine, struct prepared *prepared, const struct controls *controls,
                      struct run_params *run, struct error *err) {
  struct beside *b = &engine->beside;
  if (slices_tell_failure(b, err) < 0)
    return -1;
  if (!b->smooth)
    return fill_at_once(engine, prepared, controls, run, err);
  bool same_adapters = adapters_are(&engine->adapters, engine->device, controls->adapter);
  if (!b->shown.known || (!slices_are_due(b) && !can_wait(engine, same_adapters)))
    return finish_and_fill(engine, prepared, controls, run, err);
  int filled = fill_or_begin(engine, prepared, controls, same_adapters, run, err);
  if (filled)
    return filled;
  filled = fill_as_before(engine, prepared, controls, run, err);
  if (filled)
    return filled < 0 ? -1 : 0;
  return finish_and_fill(engine, prepared, controls, run, err);
}

int beside_fill(struct engine *engine, struct prepared *prepared, const struct controls *controls,
                struct run_params *run, struct error *err) {
  bool at_once = !engine->beside.smooth || !engine->beside.shown.known;
  int filled = fill_texts(engine, prepared, controls, run, err);
  if (filled < 0)
    return -1;
  int styled = style_pictures_fill(engine, prepared, controls, at_once, run, err);
  return styled < 0 ? -1 : filled && styled;
}
