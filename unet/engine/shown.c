/* Decides which prompts and adapters a frame shows while others are made in the background. choose_showing decides, and
 * starts to make what is missing. fill_prompts fills in the run accordingly. Work that has begun is completed before
 * new work begins. So even if the text changes with every frame, some texts are shown. */
#include <string.h>

#include "unet/engine/engine_impl.h"

/* Which prompts and adapters a frame shows. */
enum showing {
  SHOW_NOW,    /* the prompts and adapters that the frame's controls ask for; the frame waits until they are made */
  SHOW_READY,  /* as SHOW_NOW, but these prompts and adapters are on the device already, so that the frame does not
                * wait */
  SHOW_FORMER, /* the previous frame's prompts and adapters, while those that this frame asks for are being made */
};

/* New texts are begun only while fewer background jobs than this wait. Without a limit, a text that changes with every
 * frame would add jobs without end. */
enum { JOBS_AHEAD = 8 };

/* --- encoding the texts, and computing the keys and values, that a frame needs --- */

/* Starts to encode those texts of the run that are not encoded yet, and to compute missing keys and values. *placed
 * becomes a copy of *run in which prompts are given not by their slots, but by the indices of their keys and values in
 * device memory. */
static int begin_prompts(struct engine *engine, const struct frame_shape *shape, struct run_params *run,
                         struct run_params *placed, struct error *err) {
  *placed = *run;
  return prompts_refresh(engine, shape->rows.first, run, err) < 0 ? -1 : text_keys_place(engine, shape, placed, err);
}

/* Encodes texts and computes keys and values again after a merge (change of the weights for adapters), with the new
 * weights, for the frame that asked for it. */
static int begin_prompts_after_merge(struct engine *engine, struct error *err) {
  struct background *b = &engine->background;
  struct run_params run = {0}, placed;
  guidance_fill(engine, &b->wanted_shape, &b->wanted, &run);
  if (begin_prompts(engine, &b->wanted_shape, &run, &placed, err) < 0)
    return -1;
  b->shown_next = text_keys_shown(engine, &b->wanted_shape, &run, &placed);
  return 0;
}

/* Asks for a merge: the weights are to be computed with these factors of the adapters. The merge begins only after the
 * frame was submitted, because listing the changed weights takes time on the host. */
static void ask_for_merge(struct engine *engine, const struct frame_shape *shape, const struct controls *controls) {
  struct background *b = &engine->background;
  b->merge = MERGE_ASKED;
  b->after_merge = begin_prompts_after_merge;
  b->wanted = *controls;
  b->wanted_shape = *shape;
}

/* --- choosing which prompts and adapters a frame shows --- */

/* Returns true if a handle of this shape can read the keys and values of the prompts that the previous frame showed. It
 * must have the same number of chunks (parts of a prompt) as that frame's handle, at most as many guidance rows, and
 * only controls whose networks have keys and values for these prompts. */
static bool can_read(const struct shown *shown, const struct frame_shape *shape) {
  return shown->known && shown->rows >= shape->rows.first && shown->chunks == shape->chunks &&
         !(shape->controls & ~shown->controls);
}

/* Returns true if texts may be encoded now: the weights are not being changed for adapters, and fewer than JOBS_AHEAD
 * pieces of work wait in the background. */
static bool may_begin(const struct background *b) {
  return b->merge == MERGE_NONE && b->count - b->first < JOBS_AHEAD;
}

/* Decides with which texts and adapters the frame is made (enum showing); -1: failure. *placed is filled in for
 * SHOW_READY. What the frame's controls ask for and is not ready yet, a smooth engine makes in the background. It
 * starts to change weights for adapters only when no other background work is left. It does not start to encode texts
 * while weights are being changed, or while too many jobs wait. */
static int choose_showing(struct engine *engine, struct prepared *prepared, const struct controls *controls,
                          struct run_params *run, struct run_params *placed, struct error *err) {
  const struct background *b = &engine->background;
  const struct frame_shape *shape = &prepared->shape;
  if (!b->smooth || !can_read(&b->shown, shape))
    return SHOW_NOW;
  bool same_adapters = adapters_are(&engine->adapters, engine->device, controls->adapter);
  bool may_merge = !same_adapters && !background_are_due(b);
  if (may_merge && !engine->adapters.two_sets)
    return SHOW_NOW;
  if (may_merge)
    ask_for_merge(engine, shape, controls);
  if (same_adapters && may_begin(b)) {
    if (begin_prompts(engine, shape, run, placed, err) < 0)
      return -1;
    if (!text_keys_await(engine, shape, run, placed))
      return SHOW_READY;
  }
  return sampling_keeps_texts(engine, prepared, run) ? SHOW_FORMER : SHOW_NOW;
}

/* --- filling in a run's prompts --- */

/* Completes all background work, makes everything that the controls ask for, and returns when it is ready. */
static int make_now(struct engine *engine, const struct frame_shape *shape, const struct controls *controls,
                    struct run_params *run, struct run_params *placed, struct error *err) {
  struct background *b = &engine->background;
  if (background_finish(engine, err) < 0)
    return -1;
  b->at_once = true;
  int status = adapters_apply(&engine->adapters, engine->device, controls->adapter, err) < 0
                   ? -1
                   : begin_prompts(engine, shape, run, placed, err);
  b->at_once = false;
  return status;
}

/* Fills in the prompts that the run reads, and computes the time projections. Afterwards run->prompt names prompts not
 * by their slots, but by the indices of their keys and values in device memory. Returns 1 if the run shows the prompts
 * that the controls ask for, 0 if it shows those of the previous frame, -1 on failure. */
static int fill_prompts(struct engine *engine, struct prepared *prepared, const struct controls *controls,
                        struct run_params *run, struct error *err) {
  struct run_params placed;
  if (background_tell_failure(&engine->background, err) < 0)
    return -1;
  guidance_fill(engine, &prepared->shape, controls, run);
  int showing = choose_showing(engine, prepared, controls, run, &placed, err);
  if (showing == SHOW_FORMER) {
    memcpy(run->prompt, engine->background.shown.prompt, sizeof run->prompt);
    return sampling_times_of_former_texts(engine, prepared, run, err);
  }
  if (showing < 0 || (showing == SHOW_NOW && make_now(engine, &prepared->shape, controls, run, &placed, err) < 0))
    return -1;
  if (sampling_times(engine, prepared, run, err) < 0)
    return -1;
  engine->background.shown = text_keys_shown(engine, &prepared->shape, run, &placed);
  memcpy(run->prompt, placed.prompt, sizeof run->prompt);
  return 1;
}

int shown_fill(struct engine *engine, struct prepared *prepared, const struct controls *controls,
               struct run_params *run, struct error *err) {
  bool at_once = !engine->background.smooth || !engine->background.shown.known;
  int filled = fill_prompts(engine, prepared, controls, run, err);
  if (filled < 0)
    return -1;
  int styled = style_pictures_fill(engine, prepared, controls, at_once, run, err);
  return styled < 0 ? -1 : filled && styled;
}
