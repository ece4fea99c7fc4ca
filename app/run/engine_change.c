/* Changes to another handle (an engine made ready for one size, sampler and step count) or another engine. Another
 * thread prepares the handle or opens the engine while frames continue; then it replaces the present one. */
#include <stdio.h>
#include <string.h>

#include "app/run/loop_impl.h"
#include "unet/base/platform.h"
#include "unet/base/text.h"

/* Bits of enum parameter_need. If a parameter with such a need changes, another engine must be opened. */
static const unsigned engine_needs = 1u << NEED_ENGINE;

/* Resets the measured frame times (loop->pace) because another handle (prepared size and step count), which has made no
 * frame yet, is used from now on. */
static void begin_pace(struct loop *loop) {
  struct engine_info info;
  struct prepared_info prepared;
  engine_get_info(loop->engine, &info);
  prepared_get_info(handles_used(&loop->handles), &prepared);
  loop->pace = (struct frame_pace){.flops = prepared.flops, .by_itself = info.depth > 1};
  loop->handles_used++;
}

/* Writes into the status what the user waits for. preparing: true: another size or step count, which `name` states, is
 * being prepared; false: the preparation has ended, and the first picture is awaited. These fields are compared without
 * the lock, because only this thread writes them; while values move they are published for each frame. */
static void publish_wait(struct loop *loop, bool preparing, const char *name) {
  if (loop->status.preparing == preparing && !strcmp(loop->status.name, name))
    return;
  pthread_mutex_lock(&loop->lock);
  loop->status.preparing = preparing;
  snprintf(loop->status.name, sizeof loop->status.name, "%s", name);
  pthread_mutex_unlock(&loop->lock);
}

void loop_publish_engine(struct loop *loop) {
  struct engine_info info;
  struct prepared_info prepared;
  engine_get_info(loop->engine, &info);
  prepared_get_info(handles_used(&loop->handles), &prepared);
  loop->depth = info.depth < MAX_DEPTH ? info.depth : MAX_DEPTH;
  loop->shape = prepared.shape;
  loop->guidance_embedded = info.has_guidance_embedding;
  pthread_mutex_lock(&loop->lock);
  loop->status.ready = true;
  loop->status.first = loop->pace.frame_ms <= 0;
  loop->status.tell_ms = patience_to_tell_ms(&loop->pace);
  loop->status.leave_ms = patience_to_leave_ms(&loop->pace);
  loop->status.engines = loop->engines;
  loop->status.wants_urgency = loop->wants_urgency;
  loop->status.urgency = loop->urgency;
  loop->status.info = info;
  loop->status.prepared = prepared;
  loop->status.refused = loop->refused;
  loop->status.governed = loop_rung(loop) > 0;
  loop->status.wish = loop->rungs ? loop->ladder[0] : prepared.shape;
  pthread_mutex_unlock(&loop->lock);
}

/* Returns the kind of canvas (the plane on which frames are drawn: fixed, or following the camera): the user's choice,
 * else the engine's default. A canvas that follows the camera does not work with a stream batch, feedback, or noise
 * that moves with the picture; with these the default is the fixed canvas. */
static enum canvas_mode suitable_canvas(const struct loop *loop, const struct parameters *values) {
  if (parameters_marked(values, PARAMETER_CANVAS, 0))
    return (enum canvas_mode)values->canvas;
  bool moves = values->noise == NOISE_CARRIED || values->feedback > 0;
  return values->stream_batch || moves ? CANVAS_FIXED : loop->first.canvas;
}

/* Returns true if a handle may have memory for a bank (earlier frames' keys and values) while the bank is off. A bank
 * needs a sampler that calls the network at most 8 times per picture, and no stream batch. A sampler with N steps may
 * call the network N + 1 times. */
static bool may_keep_bank(const struct engine_shape *shape) {
  return !shape->stream_batch && shape->steps < 8;
}

/* Sets the fields of the shape for noise that moves with the picture, and for feedback. A handle that can do these
 * stays in use while they are off, so that they can be switched on at once. */
static void fill_carried(const struct loop *loop, const struct parameters *values, struct engine_shape *shape) {
  bool may_keep = !shape->stream_batch && shape->canvas == CANVAS_FIXED;
  shape->carried = values->noise == NOISE_CARRIED || (loop->shape.carried && may_keep);
  shape->feedback = values->feedback > 0 || (loop->shape.feedback && may_keep);
}

/* Returns the shape (size, steps, guidance and so on) that the current values ask for, before the time budget makes it
 * cheaper. */
static struct engine_shape suitable(const struct loop *loop, const struct moment *now) {
  const struct parameters *values = &now->settings.values;
  struct engine_shape shape = loop->shape;
  shape.width = loop->first.width;
  shape.height = loop->first.height;
  shape.chunks = engine_chunks(loop->engine, &now->controls);
  shape.sampler = (enum sampler)values->sampler;
  shape.spacing = (enum spacing)values->spacing;
  shape.steps = (int)values->steps;
  if (!loop->guidance_embedded || values_guidance(values) > GUIDANCE_FULL)
    shape.guidance = values_guidance(values);
  shape.stream_batch = values->stream_batch;
  shape.canvas = suitable_canvas(loop, values);
  shape.bank_room = values_bank_room(values, may_keep_bank(&shape) ? loop->shape.bank_room : 0);
  shape.bank_layers = values_bank_layers(values, shape.bank_room);
  fill_carried(loop, values, &shape);
  shape.controls = values_controls_on(values) & values_controls_there(&loop->opened_with);
  if (values->size.width > 0) {
    shape.width = values->size.width;
    shape.height = values->size.height;
  }
  return shape;
}

bool loop_is_suited(const struct loop *loop, const struct moment *now) {
  struct engine_shape wanted = suitable(loop, now);
  if (loop->rungs && loop_rung(loop) > 0)
    wanted = loop->ladder[loop_rung(loop)];
  return shapes_equal(&loop->shape, &wanted);
}

/* --- replacing the handle (prepared size, sampler and step count) --- */

/* Writes a name for users of the first property in which `shape` differs from the shape in use: "640x360" or "4
 * steps". */
static void name_wish(const struct loop *loop, const struct engine_shape *shape, char *words, size_t size) {
  static const char *const names[] = {[SHAPE_SAMPLER] = "this sampler",
                                      [SHAPE_CONTROLS] = "this control",
                                      [SHAPE_BANK_LAYERS] = "these layers of the bank",
                                      [SHAPE_STREAM_BATCH] = "stream batch",
                                      [SHAPE_CARRIED] = "noise carried",
                                      [SHAPE_FEEDBACK] = "feedback",
                                      [SHAPE_GUIDANCE] = "this guidance",
                                      [SHAPE_CHUNKS] = "so long a prompt"};
  enum shape_property property = handles_first_difference(shape, &loop->shape);
  if (property == SHAPE_SIZE)
    snprintf(words, size, "%dx%d", shape->width, shape->height);
  else if (property == SHAPE_STEPS)
    snprintf(words, size, "%d step%s", shape->steps, shape->steps == 1 ? "" : "s");
  else if (property == SHAPE_BANK_ROOM)
    snprintf(words, size, "a bank of %d frame%s", shape->bank_room, shape->bank_room == 1 ? "" : "s");
  else if (property == SHAPE_CANVAS)
    snprintf(words, size, "canvas %s", shape->canvas == CANVAS_FOLLOW ? "follow" : "fixed");
  else
    snprintf(words, size, "%s", names[property]);
}

static void refuse(struct loop *loop, const struct engine_shape *shape, const struct error *err) {
  char wish[80];
  if (err->status == STATUS_INTERRUPTED)
    return;
  name_wish(loop, shape, wish, sizeof wish);
  log_line(loop->params.told, LOG_WARNING, "%s: refused: %s", wish, err->message);
  loop->refused = *shape;
  loop_publish_engine(loop);
}

/* After a change of handle (prepared size, sampler and step count), sets the parameter eta (amount of noise that the
 * sampler adds in a step) to the new sampler's default, unless somebody has set eta. */
static void follow_sampler(struct loop *loop) {
  struct prepared_info info;
  prepared_get_info(handles_used(&loop->handles), &info);
  pthread_mutex_lock(&loop->lock);
  if (!parameters_marked(&loop->settings.values, PARAMETER_ETA, 0))
    loop->settings.values.eta = info.eta;
  pthread_mutex_unlock(&loop->lock);
}

/* Changes to the handle (prepared size and step count) at this index of loop->handles. Frames that are still in the old
 * handle's stream batch, because not all of their steps are done, are lost. */
static void change_handle(struct loop *loop, int place, const struct engine_shape *shape) {
  name_wish(loop, shape, loop->name, sizeof loop->name);
  loop_count_dropped(loop, engine_under_way(handles_used(&loop->handles)));
  handles_use(&loop->handles, place, loop->submitted);
  begin_pace(loop);
  /* The requested handle is in use now, and memory of handles that it replaced may be free. Therefore sizes and step
   * counts whose preparation has failed may be tried again. */
  if (loop->ladder_used != loop->ladders)
    handles_forget_refusals(&loop->handles);
  loop->ladder_used = loop->ladders;
  loop->changes++;
  loop->refused = (struct engine_shape){0};
  follow_sampler(loop);
  loop_publish_engine(loop);
}

/* Fills loop->ladder with the shapes (size and steps) among which the governor, which keeps frames within the time
 * budget, may choose: the one that the user asked for, and with a time budget up to three cheaper ones. */
static void make_ladder(struct loop *loop, const struct engine_shape *wish) {
  struct engine_info info;
  struct governor_rung rungs[GOVERNOR_RUNGS];
  engine_get_info(loop->engine, &info);
  const struct governor_wish wished = {wish->width, wish->height, wish->steps, info.size_multiple,
                                       loop->params.floor_pixels};
  loop->rungs = loop->params.budget_ms > 0 ? governor_ladder(&wished, rungs) : 1;
  loop->ladders++;
  loop->ladder[0] = *wish;
  for (int i = 1; i < loop->rungs; i++) {
    loop->ladder[i] = *wish;
    loop->ladder[i].width = rungs[i].width;
    loop->ladder[i].height = rungs[i].height;
    loop->ladder[i].steps = rungs[i].steps;
    engine_nearest_size(loop->engine, SIZE_EVEN, &loop->ladder[i].width, &loop->ladder[i].height);
  }
  if (loop->params.budget_ms > 0)
    governor_begin(&loop->governor, loop->params.budget_ms, rungs, loop->rungs, platform_now_ns());
  loop_publish_engine(loop);
}

int loop_rung(const struct loop *loop) {
  int rung = loop->governor.rung;
  return loop->rungs && shapes_equal(&loop->shape, &loop->ladder[rung]) ? rung : -1;
}

/* Lists the shapes whose handles are needed, in the order of preparation: the one to be used now; the one that the
 * governor (it keeps frames within the time budget) wants next; the governor's other shapes (loop->ladder). Of these
 * last, only shapes with a handle are listed while the governor has measured too few frames; listing keeps those
 * handles. Returns the number of shapes. */
static int list_wanted(struct loop *loop, struct engine_shape wanted[GOVERNOR_RUNGS]) {
  unsigned ready = 0, listed;
  int waits_for = 0, count = 0;
  for (int i = 0; i < loop->rungs; i++)
    ready |= (unsigned)(handles_find(&loop->handles, &loop->ladder[i]) >= 0) << i;
  if (loop->params.budget_ms > 0 && loop_rung(loop) >= 0)
    waits_for = governor_choose(&loop->governor, ready, platform_now_ns());
  else
    waits_for = loop->governor.rung;
  bool settled = governor_is_settled(&loop->governor);
  wanted[count++] = loop->ladder[loop->governor.rung];
  listed = 1u << loop->governor.rung;
  for (int i = -1; i < loop->rungs; i++) {
    int rung = i < 0 ? waits_for : i;
    if (!(listed >> rung & 1) && (settled || i < 0 || ready >> rung & 1))
      wanted[count++] = loop->ladder[rung];
    listed |= 1u << rung;
  }
  return count;
}

/* Handles the failure to prepare a shape (size and step count). If the user has asked for this shape, the user is told
 * why it failed. If the governor has chosen it to keep the time budget, the governor does not choose it any more. */
static void refuse_rung(struct loop *loop, const struct engine_shape *shape, const struct error *err) {
  if (shapes_equal(shape, &loop->ladder[0])) {
    refuse(loop, shape, err);
    return;
  }
  if (err->status != STATUS_INTERRUPTED)
    log_line(loop->params.log, LOG_WARNING, "for the budget: %s", err->message);
  for (int i = 1; i < loop->rungs; i++)
    if (shapes_equal(shape, &loop->ladder[i]))
      governor_refuse(&loop->governor, i, platform_now_ns());
}

/* Writes into the status which size or step count the user waits for. wanted: the shape (size, step count and so on)
 * that is to be used next. */
static void tell_wait(struct loop *loop, const struct engine_shape *wanted) {
  const struct preparer *preparer = &loop->handles.preparer;
  bool preparing = preparer->errand.busy && !preparer->releases && shapes_equal(&preparer->shape, wanted) &&
                   !shapes_equal(&loop->shape, wanted);
  char wish[sizeof loop->name];
  if (preparing)
    name_wish(loop, wanted, wish, sizeof wish);
  publish_wait(loop, preparing, preparing ? wish : loop->name);
}

void loop_change_handle(struct loop *loop, const struct moment *now) {
  struct error err;
  struct engine_shape refused, wanted[GOVERNOR_RUNGS];
  const struct engine_shape wish = suitable(loop, now);
  if (handles_take(&loop->handles, &refused, &err))
    refuse_rung(loop, &refused, &err);
  if (!loop->rungs || !shapes_equal(&loop->ladder[0], &wish))
    make_ladder(loop, &wish);
  int count = list_wanted(loop, wanted), place = handles_find(&loop->handles, &wanted[0]);
  if (place >= 0 && place != loop->handles.used)
    change_handle(loop, place, &wanted[0]);
  if (!loop->next.engine && handles_follow(&loop->handles, wanted, count, loop->collected, &refused, &err))
    refuse_rung(loop, &refused, &err);
  tell_wait(loop, &wanted[0]);
}

/* --- opening another engine and replacing the present one --- */

static void publish_opening(struct loop *loop, bool opening) {
  pthread_mutex_lock(&loop->lock);
  loop->status.opening = opening;
  pthread_mutex_unlock(&loop->lock);
}

/* Tells the user that the requested engine could not be opened. Resets the values that asked for it to those of the
 * engine in use, unless any of them was changed meanwhile. */
static void refuse_engine(struct loop *loop, const struct error *err) {
  struct parameters *values = &loop->settings.values;
  if (err->status != STATUS_INTERRUPTED)
    log_line(loop->params.told, LOG_WARNING, "%s; it stays with %s", err->message,
             text_last_part(loop->status.info.model));
  pthread_mutex_lock(&loop->lock);
  if (parameters_equal(values, &loop->opener.wish, engine_needs))
    parameters_copy(values, &loop->opened_with, engine_needs);
  loop->status.engines_refused++;
  loop->status.opening = false;
  pthread_mutex_unlock(&loop->lock);
}

void loop_note_encoded(struct loop *loop, int slot, const char *text) {
  struct parameter_text *encoded = &loop->encoded[slot];
  loop->encoded_texts = 0;
  /* the next pass of the loop checks if another handle (an engine made ready for one size and number of steps) is
   * needed, because the texts may be longer now */
  loop->looked_ns = 0;
  encoded->given = text != NULL;
  snprintf(encoded->words, sizeof encoded->words, "%s", text ? text : "");
}

/* Gives the loop's thread a real-time priority if the engine's device is a GPU. If the processor computes frames, the
 * thread gets no such priority, because the thread would then keep all other threads from running. */
static void set_urgency(struct loop *loop) {
  struct engine_info info;
  engine_get_info(loop->engine, &info);
  loop->wants_urgency = loop->params.urgent && info.depth > 1;
  loop->urgency = platform_be_urgent(loop->wants_urgency);
}

static void name_engine(struct loop *loop) {
  struct engine_info info;
  engine_get_info(loop->engine, &info);
  snprintf(loop->name, sizeof loop->name, "%.79s", text_last_part(info.model));
  publish_wait(loop, false, loop->name);
}

void loop_use_engine(struct loop *loop, const struct opened *opened) {
  const struct loop_beginning *beginning = &opened->beginning;
  loop->engine = opened->engine;
  set_urgency(loop);
  struct prepared_info info;
  prepared_get_info(opened->prepared, &info);
  handles_begin(&loop->handles, opened->engine, opened->prepared);
  begin_pace(loop);
  name_engine(loop);
  loop->first = info.shape;
  loop->rungs = 0;
  loop->opened_with = beginning->values;
  memset(loop->encoded, 0, sizeof loop->encoded);
  loop->encoded_texts = 0;
  loop->looked_ns = 0;
  for (int slot = 0; slot < SLOTS; slot++)
    if (beginning->encoded[slot])
      loop_note_encoded(loop, slot, values_slot_text(&beginning->values, slot));
  loop->refused = (struct engine_shape){0};
  loop->changes++;
}

void loop_replace_engine(struct loop *loop, const struct opened *opened) {
  loop_use_engine(loop, opened);
  loop->engines++;
  pthread_mutex_lock(&loop->lock);
  parameters_follow_model(&loop->settings.values, &loop->opened_with);
  loop->status.opening = false;
  loop->copied_before = loop->status.copied;
  pthread_mutex_unlock(&loop->lock);
  loop_publish_engine(loop);
}

/* Replaces the engine in use by loop->next. First waits for the frames in flight. Frames in the old engine's stream
 * batch, whose steps are not all done, are lost. Returns 1, or -1 with loop->err if the old engine failed. */
static int change_engine(struct loop *loop) {
  while (engine_in_flight(loop->engine) > 0)
    if (loop_collect(loop))
      return -1;
  loop_count_dropped(loop, engine_under_way(handles_used(&loop->handles)));
  loop->former_engine = loop->engine;
  loop_replace_engine(loop, &loop->next);
  loop->next.engine = NULL;
  return 1;
}

/* Takes the engine that the opener's thread has opened, and stores it in loop->next. If the values have changed since
 * this engine was requested, the engine is closed instead. Returns 1 if the engine could not be opened, otherwise 0. */
static int take_opened(struct loop *loop, const struct parameters *values) {
  struct error err;
  struct opened opened;
  switch (opener_take(&loop->opener, &opened, &err)) {
  case OPENER_REFUSED:
    refuse_engine(loop, &err);
    return 1;
  /* The memory limit of the engine in use is set again, because this engine may now allocate the memory that the closed
   * engine had. */
  case OPENER_CLOSED:
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

int loop_change_engine(struct loop *loop, const struct parameters *values) {
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

void loop_close_engines(struct loop *loop) {
  platform_be_urgent(false);
  preparer_end(&loop->handles.preparer);
  opener_end(&loop->opener);
  engine_close(&loop->former_engine);
  engine_close(&loop->next.engine);
  engine_close(&loop->engine);
}
