#include "app/run/loop.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/run/opener.h"
#include "app/run/preparer.h"
#include "unet/base/platform.h"

enum { MAX_DEPTH = 2, IDLE_MS = 10, COMPANIONS = MAX_DEPTH + STREAM_BATCH_MAX };
/* After this long without a new frame, a changed control is shown on the old one. */
static const int64_t quiet_ns = 100000000;
/* What another engine is opened for. */
static const unsigned engine_needs = 1u << NEED_ENGINE;

/* What goes with a frame through the engine. */
struct companion {
  struct frame input; /* held where the window wants it beside the result */
  bool again;
};

struct loop {
  pthread_t thread;
  struct loop_params params;
  struct mailbox *in, *out;
  struct engine *engine;
  struct prepared *prepared; /* the handle in use */
  bool failed;
  struct error err; /* valid after the thread's end if failed */
  atomic_bool stop;

  /* The thread's alone */
  const struct mail *newest; /* the last frame taken; NULL: none yet */
  bool fresh;                /* the engine has not seen it */
  int64_t taken_ns;
  bool ended;
  struct moment last;                      /* of the last frame submitted */
  struct companion companions[COMPANIONS]; /* that of submit number n is at n modulo COMPANIONS */
  int depth;
  long submitted, collected; /* runs */
  long pictures;             /* that came of them */
  int64_t last_finished_ns;
  struct engine_shape shape;   /* of the handle in use */
  struct loop_refusal refused; /* what was refused last */
  long changes, last_changes;  /* of the handle in use; at the last frame submitted */
  struct preparer preparer;
  struct prepared *former; /* goes once the frames submitted until then are collected */
  long former_until;
  struct opener opener;
  struct opened next;            /* comes into use as soon as the old engine has nothing to do; no engine: none */
  struct engine *former_engine;  /* to be closed; no frame of it is in flight */
  struct parameters opened_with; /* what the engine in use was opened with */
  bool guidance_embedded;
  struct parameter_text encoded[SLOTS]; /* what each slot holds, or what could not be encoded */

  pthread_mutex_t lock;
  /* Protected by lock */
  struct settings settings; /* marked: what somebody has set; before the engine is open, the changes so far */
  struct loop_status status;
};

enum loop_action loop_decide(const struct loop_situation *s) {
  if (s->in_flight >= s->depth)
    return LOOP_COLLECT;
  if (s->fresh)
    return LOOP_SUBMIT_FRESH;
  if (s->waiting && (s->ended || !s->stale))
    return LOOP_DRAIN;
  if (s->in_flight > 0)
    return LOOP_COLLECT;
  if (s->ended)
    return LOOP_END;
  return s->stale ? LOOP_SUBMIT_AGAIN : LOOP_WAIT;
}

static void current_moment(struct loop *loop, struct moment *now) {
  int64_t now_ns = platform_now_ns();
  pthread_mutex_lock(&loop->lock);
  settings_walk(&loop->settings, now_ns);
  now->settings = loop->settings;
  pthread_mutex_unlock(&loop->lock);
  settings_controls(&now->settings, now_ns, &now->controls);
}

static void publish_status(struct loop *loop) {
  struct engine_info info;
  struct prepared_info prepared;
  engine_get_info(loop->engine, &info);
  prepared_get_info(loop->prepared, &prepared);
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
  shape.steps = (int)values->steps;
  if (!loop->guidance_embedded || values_guidance(values) > GUIDANCE_FULL)
    shape.guidance = values_guidance(values);
  shape.stream_batch = values->stream_batch;
  return shape;
}

static bool same_shape(const struct engine_shape *a, const struct engine_shape *b) {
  return a->steps == b->steps && a->guidance == b->guidance && a->chunks == b->chunks &&
         a->stream_batch == b->stream_batch;
}

static void note_encoded(struct loop *loop, int slot, const char *text) {
  struct parameter_text *encoded = &loop->encoded[slot];
  encoded->given = text != NULL;
  snprintf(encoded->words, sizeof encoded->words, "%s", text ? text : "");
}

/* A slot never set holds the empty prompt, which is what belongs into a slot without text. */
static bool is_encoded(const struct loop *loop, const struct parameters *values, int slot) {
  const char *text = values_slot_text(values, slot);
  return !strcmp(loop->encoded[slot].words, text ? text : "") && (!text || loop->encoded[slot].given);
}

/* Encodes the text of a slot where that was not done yet. A text that cannot be encoded is one log line, and the window
 * goes on. */
static void need_prompt(struct loop *loop, const struct parameters *values, int slot) {
  struct error err;
  const char *text = values_slot_text(values, slot);
  if (is_encoded(loop, values, slot))
    return;
  note_encoded(loop, slot, text);
  if (engine_set_prompt(loop->engine, slot, text ? text : "", &err))
    log_line(loop->params.log, LOG_WARNING, "%s", err.message);
}

/* A new negative prompt that does nothing is one log line, unless guidance is on its way. */
static void need_negative(struct loop *loop, const struct moment *now) {
  const struct parameters *values = &now->settings.values;
  if (is_encoded(loop, values, SLOT_NEGATIVE))
    return;
  need_prompt(loop, values, SLOT_NEGATIVE);
  const struct engine_shape wanted = suitable(loop, now);
  const char *why = values_negative_idle(values, &loop->status.info, &loop->status.prepared);
  if (why && same_shape(&loop->shape, &wanted))
    log_line(loop->params.log, LOG_WARNING, "the negative prompt does nothing %s", why);
}

static bool has_texts(const struct loop *loop, const struct moment *now) {
  const struct parameters *values = &now->settings.values;
  for (int i = 0; i < SLOT_PRESETS; i++)
    if (now->controls.blend[i] > 0 && !is_encoded(loop, values, SLOT_PRESET_1 + i))
      return false;
  return is_encoded(loop, values, now->controls.prompt) && is_encoded(loop, values, SLOT_NEGATIVE);
}

/* One after the other: a text that changes with every frame would else have others waiting before it. */
static void need_prompts(struct loop *loop, const struct moment *now) {
  if (engine_is_busy(loop->engine) || engine_is_behind(loop->engine))
    return;
  need_prompt(loop, &now->settings.values, now->controls.prompt);
  for (int i = 0; i < SLOT_PRESETS; i++)
    if (now->controls.blend[i] > 0)
      need_prompt(loop, &now->settings.values, SLOT_PRESET_1 + i);
  need_negative(loop, now);
}

/* One more prompt, in spare time. */
static void encode_ahead(struct loop *loop, const struct parameters *values) {
  for (int slot = 0; slot < SLOTS; slot++)
    if (!is_encoded(loop, values, slot)) {
      need_prompt(loop, values, slot);
      return;
    }
}

/* --- another handle --- */

static bool is_refused(const struct loop *loop, const struct engine_shape *shape) {
  const struct loop_refusal *r = &loop->refused;
  return r->steps == shape->steps && r->guidance == shape->guidance && r->chunks == shape->chunks &&
         r->stream_batch == shape->stream_batch;
}

static void refuse(struct loop *loop, const struct engine_shape *shape, const struct error *err) {
  log_line(loop->params.log, LOG_WARNING, "%s", err->message);
  loop->refused = (struct loop_refusal){
      .steps = shape->steps, .guidance = shape->guidance, .chunks = shape->chunks, .stream_batch = shape->stream_batch};
  publish_status(loop);
}

static void count_dropped(struct loop *loop, int count) {
  pthread_mutex_lock(&loop->lock);
  loop->status.dropped += count;
  pthread_mutex_unlock(&loop->lock);
}

/* The old handle goes when its frames have come; those under way in its stream batch never do. */
static void change_handle(struct loop *loop, struct prepared *prepared) {
  count_dropped(loop, engine_under_way(loop->prepared));
  loop->former = loop->prepared;
  loop->former_until = loop->submitted;
  loop->prepared = prepared;
  loop->changes++;
  loop->refused = (struct loop_refusal){0};
  publish_status(loop);
}

/* What was prepared is used, unless something else has come to be wished for meanwhile. */
static void take_prepared(struct loop *loop, const struct engine_shape *wanted) {
  struct error err;
  struct prepared *prepared = NULL;
  int got = preparer_take(&loop->preparer, &prepared, &err);
  if (got < 0)
    refuse(loop, &loop->preparer.shape, &err);
  else if (got && same_shape(&loop->preparer.shape, wanted))
    change_handle(loop, prepared);
  else if (got) {
    loop->former = prepared;
    loop->former_until = 0;
  }
}

/* Frames go on with the handle in use while another is prepared, or a former one released. */
static void follow_shape(struct loop *loop, const struct moment *now) {
  struct error err;
  const struct engine_shape wanted = suitable(loop, now);
  take_prepared(loop, &wanted);
  if (loop->preparer.errand.busy || loop->next.engine)
    return;
  if (loop->former) {
    if (loop->collected >= loop->former_until && preparer_release(&loop->preparer, &loop->former, &err))
      engine_release(loop->engine, &loop->former);
  } else if (!same_shape(&loop->shape, &wanted) && !is_refused(loop, &wanted) &&
             preparer_ask(&loop->preparer, &wanted, &err)) {
    refuse(loop, &wanted, &err);
  }
}

/* --- frames --- */

static bool is_quiet(const struct loop *loop, const struct parameters *values) {
  return values->pause || !loop->in || loop->ended || platform_now_ns() - loop->taken_ns > quiet_ns;
}

static bool is_stale(const struct loop *loop, const struct moment *now) {
  const struct parameters *values = &now->settings.values;
  bool quiet = is_quiet(loop, values);
  if (!quiet || (loop->in && !loop->newest))
    return false;
  return !loop->submitted || !moment_equal(now, &loop->last) || (values->split && !loop->last.settings.values.split) ||
         loop->changes != loop->last_changes ||
         (!engine_is_busy(loop->engine) && (engine_is_behind(loop->engine) || !has_texts(loop, now)));
}

static void take_newest(struct loop *loop, int wait_ms) {
  if (!loop->in)
    return;
  const struct mail *mail;
  int got = mailbox_take(loop->in, &mail, wait_ms);
  if (got == 1) {
    if (loop->fresh)
      count_dropped(loop, 1);
    loop->newest = mail;
    loop->fresh = true;
    loop->taken_ns = platform_now_ns();
  }
  loop->ended = got < 0;
}

static int submit(struct loop *loop, const struct moment *now) {
  const struct frame *frame = loop->newest ? &loop->newest->frame : NULL;
  struct companion *companion = &loop->companions[loop->submitted % COMPANIONS];
  struct engine_request request = {
      .prepared = loop->prepared, .controls = &now->controls, .frame = frame, .opaque = companion};
  need_prompts(loop, now);
  frame_release(&companion->input); /* of a frame that another handle left under way */
  companion->again = !loop->fresh;
  if (frame)
    request.identity = frame_identity(frame);
  if (loop->params.before && loop->params.before(loop->params.opaque, loop->engine, frame, &loop->err))
    return -1;
  if (engine_submit(loop->engine, &request, &loop->err))
    return -1;
  if (now->settings.values.split && frame)
    companion->input = frame_hold(frame);
  loop->submitted++;
  loop->fresh = false;
  loop->last = *now;
  loop->last_changes = loop->changes;
  return 0;
}

/* Takes those under way in a stream batch one step on. */
static int drain(struct loop *loop, const struct moment *now) {
  const struct engine_request request = {.prepared = loop->prepared, .controls = &now->controls, .drain = true};
  need_prompts(loop, now);
  if (engine_submit(loop->engine, &request, &loop->err))
    return -1;
  loop->submitted++;
  return 0;
}

static int collect(struct loop *loop) {
  struct engine_result made;
  if (engine_collect(loop->engine, &made, &loop->err))
    return -1;
  loop->collected++;
  if (made.pending)
    return 0;
  struct companion *companion = made.opaque;
  struct mail mail = {.frame = made.picture,
                      .submitted_ns = made.submitted_ns,
                      .finished_ns = made.finished_ns,
                      .again = companion->again};
  /* With two in flight the second waited for the first: its own time starts when that was done. */
  int64_t began = mail.submitted_ns > loop->last_finished_ns ? mail.submitted_ns : loop->last_finished_ns;
  mail.frame_ms = (double)(mail.finished_ns - began) / 1e6;
  mail.input = companion->input;
  companion->input = (struct frame){0};
  loop->last_finished_ns = mail.finished_ns;
  loop->pictures++;
  pthread_mutex_lock(&loop->lock);
  loop->status.frames = loop->pictures;
  pthread_mutex_unlock(&loop->lock);
  mailbox_put(loop->out, &mail);
  return 0;
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

/* Everything that knows the engine knows this one. */
static void begin_engine(struct loop *loop, const struct opened *opened) {
  const struct loop_beginning *beginning = &opened->beginning;
  loop->engine = opened->engine;
  loop->prepared = opened->prepared;
  loop->preparer.engine = opened->engine;
  loop->opened_with = beginning->values;
  memset(loop->encoded, 0, sizeof loop->encoded);
  for (int slot = 0; slot < SLOTS; slot++)
    if (beginning->encoded[slot])
      note_encoded(loop, slot, values_slot_text(&beginning->values, slot));
  loop->refused = (struct loop_refusal){0};
  loop->changes++;
}

/* The old engine gives out its last pictures before the new one makes its first; those under way in its stream batch
 * never come. */
static int change_engine(struct loop *loop) {
  while (engine_in_flight(loop->engine) > 0)
    if (collect(loop))
      return -1;
  count_dropped(loop, engine_under_way(loop->prepared));
  loop->former_engine = loop->engine;
  loop->former = NULL; /* a handle of that engine's */
  begin_engine(loop, &loop->next);
  loop->next.engine = NULL;
  pthread_mutex_lock(&loop->lock);
  parameters_follow_model(&loop->settings.values, &loop->opened_with);
  loop->status.engines++;
  loop->status.opening = false;
  pthread_mutex_unlock(&loop->lock);
  publish_status(loop);
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

/* Frames go on with the engine in use while another is opened, or a former one closed. Returns 1 where values have
 * changed by that. */
static int follow_engine(struct loop *loop, const struct parameters *values) {
  struct error err;
  if (take_opened(loop, values))
    return 1;
  if (loop->next.engine)
    return loop->preparer.errand.busy ? 0 : change_engine(loop);
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

/* --- the thread --- */

/* What the engine has put off is done meanwhile. */
static int wait_for_frame(struct loop *loop, const struct parameters *values) {
  int left = engine_go_on(loop->engine, &loop->err);
  if (left < 0)
    return -1;
  if (!left)
    encode_ahead(loop, values);
  if (left)
    take_newest(loop, 0);
  else if (values->pause || !loop->in)
    platform_sleep_ns((int64_t)IDLE_MS * 1000000);
  else
    take_newest(loop, IDLE_MS);
  return 0;
}

/* The frame loop. Returns -1 when the engine failed. */
static int run(struct loop *loop) {
  while (!loop->stop) {
    struct moment now;
    const struct parameters *values = &now.settings.values;
    current_moment(loop, &now);
    follow_shape(loop, &now);
    int changed = follow_engine(loop, values);
    if (changed < 0)
      return -1;
    if (changed)
      continue;
    if (engine_in_flight(loop->engine) < loop->depth && !values->pause)
      take_newest(loop, 0);
    struct loop_situation situation = {.in_flight = engine_in_flight(loop->engine),
                                       .depth = loop->depth,
                                       .fresh = loop->fresh && !values->pause,
                                       .stale = is_stale(loop, &now),
                                       .waiting = is_quiet(loop, values) && engine_under_way(loop->prepared) > 0,
                                       .ended = loop->ended && !values->pause};
    switch (loop_decide(&situation)) {
    case LOOP_END:
      return 0;
    case LOOP_WAIT:
      if (wait_for_frame(loop, values))
        return -1;
      break;
    case LOOP_DRAIN:
      if (drain(loop, &now))
        return -1;
      break;
    case LOOP_COLLECT:
      if (collect(loop))
        return -1;
      break;
    default:
      if (submit(loop, &now))
        return -1;
    }
  }
  return 0;
}

static int open_first(struct loop *loop) {
  struct opened opened = {0};
  struct settings settings;
  const struct parameters *values = &opened.beginning.values;
  parameters_init(&opened.beginning.values);
  if (loop->params.open(loop->params.opaque, NULL, &opened, &loop->err))
    return -1;
  begin_engine(loop, &opened);
  settings_begin(&settings, values);
  memcpy(settings.values.marks, values->marks, sizeof values->marks);
  pthread_mutex_lock(&loop->lock);
  settings_apply(&settings, &loop->settings.values, platform_now_ns());
  loop->settings = settings;
  loop->status.engines = 1;
  pthread_mutex_unlock(&loop->lock);
  publish_status(loop);
  return 0;
}

static void close_all(struct loop *loop) {
  preparer_end(&loop->preparer);
  opener_end(&loop->opener);
  engine_close(&loop->former_engine);
  engine_close(&loop->next.engine);
  engine_close(&loop->engine);
}

static void *loop_main(void *opaque) {
  struct loop *loop = opaque;
  loop->failed = open_first(loop) || run(loop);
  close_all(loop);
  mailbox_close(loop->out);
  return NULL;
}

static void loop_free(struct loop *loop) {
  for (int i = 0; i < COMPANIONS; i++)
    frame_release(&loop->companions[i].input);
  pthread_mutex_destroy(&loop->lock);
  free(loop);
}

int loop_start(struct loop **out, const struct loop_params *params, struct mailbox *in, struct mailbox *pictures,
               struct error *err) {
  struct loop *loop = calloc(1, sizeof *loop);
  if (!loop)
    return error_set(err, STATUS_FAILED, "no memory for the frame loop");
  loop->params = *params;
  loop->opener = (struct opener){.open = params->open, .opaque = params->opaque};
  parameters_init(&loop->settings.values);
  loop->in = in;
  loop->out = pictures;
  pthread_mutex_init(&loop->lock, NULL);
  int code = pthread_create(&loop->thread, NULL, loop_main, loop);
  if (code) {
    loop_free(loop);
    return error_set(err, STATUS_FAILED, "cannot start the engine thread: %s", strerror(code));
  }
  *out = loop;
  return 0;
}

void loop_send(struct loop *loop, const struct parameters *changes) {
  pthread_mutex_lock(&loop->lock);
  settings_apply(&loop->settings, changes, platform_now_ns());
  pthread_mutex_unlock(&loop->lock);
}

bool loop_get_settings(struct loop *loop, struct settings *settings) {
  pthread_mutex_lock(&loop->lock);
  bool ready = loop->status.ready;
  if (ready)
    *settings = loop->settings;
  pthread_mutex_unlock(&loop->lock);
  if (ready)
    parameters_clear_marks(&settings->values);
  return ready;
}

void loop_get_status(struct loop *loop, struct loop_status *status) {
  pthread_mutex_lock(&loop->lock);
  *status = loop->status;
  pthread_mutex_unlock(&loop->lock);
}

void loop_end(struct loop *loop) {
  if (loop)
    loop->stop = true;
}

int loop_stop(struct loop **pointer, struct error *err) {
  struct loop *loop = *pointer;
  if (!loop)
    return 0;
  loop_end(loop);
  pthread_join(loop->thread, NULL);
  int result = loop->failed ? -1 : 0;
  if (loop->failed && err)
    *err = loop->err;
  loop_free(loop);
  *pointer = NULL;
  return result;
}
