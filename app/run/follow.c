/* Another handle, another engine: prepared or opened beside the frames, then used in place of the one before. */
#include <stdio.h>
#include <string.h>

#include "app/run/loop_impl.h"

/* What another engine is opened for. */
static const unsigned engine_needs = 1u << NEED_ENGINE;

void follow_publish(struct loop *loop) {
  struct engine_info info;
  struct prepared_info prepared;
  engine_get_info(loop->engine, &info);
  prepared_get_info(handles_used(&loop->handles), &prepared);
  pthread_mutex_lock(&loop->lock);
  loop->status.ready = true;
  loop->status.info = info;
  loop->status.prepared = prepared;
  loop->status.refused = loop->refused;
  pthread_mutex_unlock(&loop->lock);
  loop->depth = info.depth < MAX_DEPTH ? info.depth : MAX_DEPTH;
  loop->shape = prepared.shape;
  loop->guidance_embedded = info.has_guidance_embedding;
}

/* The handle that suits this moment. */
static struct engine_shape suitable(const struct loop *loop, const struct moment *now) {
  const struct parameters *values = &now->settings.values;
  struct engine_shape shape = loop->shape;
  shape.chunks = engine_chunks(loop->engine, &now->controls);
  shape.sampler = (enum sampler)values->sampler;
  shape.spacing = (enum spacing)values->spacing;
  shape.steps = (int)values->steps;
  if (!loop->guidance_embedded || values_guidance(values) > GUIDANCE_FULL)
    shape.guidance = values_guidance(values);
  shape.stream_batch = values->stream_batch;
  shape.controls = values_controls_on(values) & values_controls_there(&loop->opened_with);
  if (values->size.width > 0) {
    shape.width = values->size.width;
    shape.height = values->size.height;
  }
  return shape;
}

bool follow_is_suited(const struct loop *loop, const struct moment *now) {
  const struct engine_shape wanted = suitable(loop, now);
  return handles_same_shape(&loop->shape, &wanted);
}

/* --- another handle --- */

static void refuse(struct loop *loop, const struct engine_shape *shape, const struct error *err) {
  log_line(loop->params.log, LOG_WARNING, "%s", err->message);
  loop->refused = *shape;
  follow_publish(loop);
}

/* What nobody has set is what suits the sampler. */
static void follow_sampler(struct loop *loop) {
  struct prepared_info info;
  prepared_get_info(handles_used(&loop->handles), &info);
  pthread_mutex_lock(&loop->lock);
  if (!parameters_marked(&loop->settings.values, PARAMETER_ETA, 0))
    loop->settings.values.eta = info.eta;
  pthread_mutex_unlock(&loop->lock);
}

/* Those under way in the old handle's stream batch never come. */
static void change_handle(struct loop *loop, int place) {
  loop_count_dropped(loop, engine_under_way(handles_used(&loop->handles)));
  handles_use(&loop->handles, place, loop->submitted);
  handles_forgive(&loop->handles);
  loop->changes++;
  loop->refused = (struct engine_shape){0};
  follow_sampler(loop);
  follow_publish(loop);
}

void follow_handle(struct loop *loop, const struct moment *now) {
  struct error err;
  struct engine_shape refused;
  const struct engine_shape wanted = suitable(loop, now);
  if (handles_take(&loop->handles, &refused, &err))
    refuse(loop, &refused, &err);
  int place = handles_find(&loop->handles, &wanted);
  if (place >= 0 && place != loop->handles.used)
    change_handle(loop, place);
  if (!loop->next.engine && handles_follow(&loop->handles, &wanted, 1, loop->collected, &refused, &err))
    refuse(loop, &refused, &err);
}

/* --- another engine --- */

static void publish_opening(struct loop *loop, bool opening) {
  pthread_mutex_lock(&loop->lock);
  loop->status.opening = opening;
  pthread_mutex_unlock(&loop->lock);
}

/* What was wished for is as it was, unless something else has come to be wished for meanwhile. */
static void refuse_engine(struct loop *loop, const struct error *err) {
  struct parameters *values = &loop->settings.values;
  log_line(loop->params.log, LOG_WARNING, "%s", err->message);
  pthread_mutex_lock(&loop->lock);
  if (parameters_equal(values, &loop->opener.wish, engine_needs))
    parameters_copy(values, &loop->opened_with, engine_needs);
  loop->status.engines_refused++;
  loop->status.opening = false;
  pthread_mutex_unlock(&loop->lock);
}

void follow_note_encoded(struct loop *loop, int slot, const char *text) {
  struct parameter_text *encoded = &loop->encoded[slot];
  encoded->given = text != NULL;
  snprintf(encoded->words, sizeof encoded->words, "%s", text ? text : "");
}

void follow_begin(struct loop *loop, const struct opened *opened) {
  const struct loop_beginning *beginning = &opened->beginning;
  loop->engine = opened->engine;
  handles_begin(&loop->handles, opened->engine, opened->prepared);
  loop->opened_with = beginning->values;
  memset(loop->encoded, 0, sizeof loop->encoded);
  for (int slot = 0; slot < SLOTS; slot++)
    if (beginning->encoded[slot])
      follow_note_encoded(loop, slot, values_slot_text(&beginning->values, slot));
  loop->refused = (struct engine_shape){0};
  loop->changes++;
}

/* The old engine gives out its last pictures before the new one makes its first; those under way in its stream batch
 * never come. */
static int change_engine(struct loop *loop) {
  while (engine_in_flight(loop->engine) > 0)
    if (loop_collect(loop))
      return -1;
  loop_count_dropped(loop, engine_under_way(handles_used(&loop->handles)));
  loop->former_engine = loop->engine;
  follow_begin(loop, &loop->next);
  loop->next.engine = NULL;
  pthread_mutex_lock(&loop->lock);
  parameters_follow_model(&loop->settings.values, &loop->opened_with);
  loop->status.engines++;
  loop->status.opening = false;
  pthread_mutex_unlock(&loop->lock);
  follow_publish(loop);
  return 1;
}

/* An engine that was opened is used, unless something else has come to be wished for meanwhile. Returns 1 where the
 * wish was refused. */
static int take_opened(struct loop *loop, const struct parameters *values) {
  struct error err;
  struct opened opened;
  switch (opener_take(&loop->opener, &opened, &err)) {
  case OPENER_REFUSED:
    refuse_engine(loop, &err);
    return 1;
  case OPENER_CLOSED: /* its memory is the other one's */
    engine_limit_memory(loop->engine, loop->params.memory_limit);
    break;
  case OPENER_OPENED:
    if (parameters_equal(&loop->opener.wish, values, engine_needs)) {
      loop->next = opened;
    } else {
      loop->former_engine = opened.engine;
      publish_opening(loop, false);
    }
    break;
  case OPENER_NOTHING:
    break;
  }
  return 0;
}

static void ask_for_engine(struct loop *loop, const struct parameters *values) {
  struct error err;
  struct engine_info used;
  engine_get_info(loop->engine, &used);
  publish_opening(loop, true);
  if (opener_ask(&loop->opener, values, &used, &err))
    refuse_engine(loop, &err);
}

int follow_engine(struct loop *loop, const struct parameters *values) {
  struct error err;
  if (take_opened(loop, values))
    return 1;
  if (loop->next.engine)
    return loop->handles.preparer.errand.busy ? 0 : change_engine(loop);
  if (loop->opener.errand.busy)
    return 0;
  if (loop->former_engine) {
    if (opener_close(&loop->opener, &loop->former_engine, &err))
      engine_close(&loop->former_engine);
  } else if (!parameters_equal(&loop->opened_with, values, engine_needs)) {
    ask_for_engine(loop, values);
  }
  return 0;
}
