#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/run/loop_impl.h"
#include "unet/base/platform.h"

/* QUIET_MS: after this time without a frame, a changed value causes another picture of the last frame. While the thread
 * waits for a frame, it looks for other changes every IDLE_MS if background work may finish soon, otherwise every
 * REST_MS. */
enum { IDLE_MS = 10, QUIET_MS = 100, REST_MS = 100 };
/* longest time in ns for which the loop's thread uses its copy of the current values without reading them again */
enum { LOOK_NS = 100000000 };
/* sleep in ns between two slices of the engine's background work, because a thread with real-time priority that never
 * sleeps would block other threads */
enum { SLICE_REST_NS = 1000 };

/* Decides as far as possible without copying the current values, which takes time. Returns LOOP_COLLECT if the engine
 * works on a frame and no frame is to be submitted, unless its stream batch has unfinished frames; LOOP_WAIT if there
 * is no frame, one is expected soon, and nobody has sent a change; otherwise LOOP_LOOK: the values are needed. */
static enum loop_action decide_by_frames(const struct loop_situation *s) {
  bool begins = s->fresh && s->in_flight < s->depth;
  if (s->in_flight > 0 && !begins && !s->batched)
    return LOOP_COLLECT;
  if (s->in_flight == 0 && !s->fresh && !s->asked && !s->quiet)
    return LOOP_WAIT;
  return LOOP_LOOK;
}

enum loop_action loop_decide(const struct loop_situation *s) {
  if (!s->looked)
    return decide_by_frames(s);
  if (s->in_flight >= s->depth)
    return LOOP_COLLECT;
  if (s->fresh && s->late)
    return s->in_flight > 0 ? LOOP_COLLECT : LOOP_PASS;
  if (s->fresh)
    return LOOP_SUBMIT_FRESH;
  if (s->quiet && s->batched && (s->ended || !s->stale))
    return LOOP_DRAIN;
  if (s->in_flight > 0)
    return LOOP_COLLECT;
  if (s->ended)
    return LOOP_END;
  return s->quiet && s->stale ? LOOP_SUBMIT_AGAIN : LOOP_WAIT;
}

bool loop_is_late(const struct loop_timing *t) {
  double queue_ms = t->in_flight * t->frame_ms - t->busy_ms;
  bool possible = t->frame_ms > 0 && t->frame_ms <= t->budget_ms;
  return possible && t->waited_ms + (queue_ms > 0 ? queue_ms : 0) + t->frame_ms > t->budget_ms;
}

/* Rounds a requested size to one that the model can make. `size` points into the settings that other threads read, so
 * they see the rounded size. Returns true if a side became longer because it was below the smallest that the model can
 * make. */
static bool round_size(const struct loop *loop, struct parameter_size *size) {
  const struct parameter_size wish = *size;
  if (size->width <= 0)
    return false;
  engine_nearest_size(loop->engine, SIZE_EVEN, &size->width, &size->height);
  return size->width > wish.width + 1 || size->height > wish.height + 1;
}

static void current_moment(struct loop *loop, struct moment *now) {
  const struct loop_params *params = &loop->params;
  const struct frame *frame = loop->newest ? &loop->newest->frame : NULL;
  int64_t now_ns = platform_now_ns();
  pthread_mutex_lock(&loop->lock);
  const struct parameter_size wish = loop->settings.values.size;
  bool raised = round_size(loop, &loop->settings.values.size);
  settings_walk(&loop->settings, now_ns);
  values_follow_styles(&loop->settings.values, engine_usual_detail(loop->engine));
  loop->glides = glide_follow(&loop->glide, &loop->settings, now_ns);
  settings_copy(&now->settings, &loop->settings);
  loop->applied = loop->sent;
  loop->kept = false;
  pthread_mutex_unlock(&loop->lock);
  if (raised)
    log_line(params->told, LOG_WARNING,
             "size %dx%d: a side of this model's pictures has at least %d pixels; it is %dx%d", wish.width, wish.height,
             loop->status.info.size_multiple, now->settings.values.size.width, now->settings.values.size.height);
  loop->moves = params->modulate && params->modulate(params->opaque, &now->settings, frame, now_ns);
  settings_controls(&now->settings, now_ns, &now->controls);
}

/* Returns true if a slot of the engine (storage for an encoded prompt) has the text that the values give to this slot.
 * A slot that was never set has the empty prompt, which is right if the values give it no text. */
static bool is_encoded(const struct loop *loop, const struct parameters *values, int slot) {
  if (values->texts && values->texts == loop->encoded_texts)
    return true;
  const char *text = values_slot_text(values, slot);
  return !strcmp(loop->encoded[slot].words, text ? text : "") && (!text || loop->encoded[slot].given);
}

/* Encodes the text that the values give to a slot (storage for an encoded prompt), unless the engine has encoded this
 * text for the slot already. If encoding fails, one warning is logged, and frames continue. */
static void need_prompt(struct loop *loop, const struct parameters *values, int slot) {
  struct error err;
  const char *text = values_slot_text(values, slot);
  if (is_encoded(loop, values, slot))
    return;
  loop_note_encoded(loop, slot, text);
  if (engine_set_prompt(loop->engine, slot, text ? text : "", &err) && err.status != STATUS_INTERRUPTED)
    log_line(loop->params.told, LOG_WARNING, "%s", err.message);
}

/* Encodes the negative prompt. Logs one warning if it has no effect with the handle in use, unless another handle is
 * being prepared, with which it may have an effect. */
static void need_negative(struct loop *loop, const struct moment *now) {
  const struct parameters *values = &now->settings.values;
  if (is_encoded(loop, values, SLOT_NEGATIVE))
    return;
  need_prompt(loop, values, SLOT_NEGATIVE);
  const char *why = values_negative_idle(values, &loop->status.info, &loop->status.prepared);
  if (why && loop_is_suited(loop, now))
    log_line(loop->params.told, LOG_WARNING, "the negative prompt does nothing %s", why);
}

static bool has_texts(const struct loop *loop, const struct moment *now) {
  const struct parameters *values = &now->settings.values;
  for (int i = 0; i < SLOT_PRESETS; i++)
    if (now->controls.blend[i] > 0 && !is_encoded(loop, values, SLOT_PRESET_1 + i))
      return false;
  return is_encoded(loop, values, now->controls.prompt) && is_encoded(loop, values, SLOT_NEGATIVE);
}

/* Encodes the texts that the next frame needs: its prompt, the prompts blended with it, and the negative prompt. Does
 * nothing while the engine still encodes an earlier text, because otherwise texts that change with every frame would
 * pile up. */
static void need_prompts(struct loop *loop, const struct moment *now) {
  if (engine_is_busy(loop->engine) || engine_is_behind(loop->engine))
    return;
  need_prompt(loop, &now->settings.values, now->controls.prompt);
  for (int i = 0; i < SLOT_PRESETS; i++)
    if (now->controls.blend[i] > 0)
      need_prompt(loop, &now->settings.values, SLOT_PRESET_1 + i);
  need_negative(loop, now);
}

/* Encodes one text that the next frame does not need. Called while the engine has no other background work, so that a
 * later change to that text takes no time. */
static void encode_ahead(struct loop *loop, const struct moment *now) {
  const struct parameters *values = &now->settings.values;
  int slot = 0;
  while (slot < SLOTS && is_encoded(loop, values, slot))
    slot++;
  if (slot == SLOTS)
    loop->encoded_texts = values->texts;
  else if (slot == SLOT_NEGATIVE)
    need_negative(loop, now);
  else
    need_prompt(loop, values, slot);
}

/* --- taking frames, and submitting them to the engine --- */

bool loop_waits_long(const struct loop *loop) {
  return platform_now_ns() - loop->taken_ns > QUIET_MS * INT64_C(1000000);
}

static bool is_quiet(const struct loop *loop, const struct parameters *values) {
  return values->pause || !loop->in || loop->ended || loop_waits_long(loop);
}

/* Returns true if a picture made now would differ from the last one, because controls, texts, the handle (prepared size
 * and step count), the engine or files have changed, or the last frame was dropped. Returns false before the source's
 * first frame. */
static bool is_stale(const struct loop *loop, const struct moment *now) {
  const struct parameters *values = &now->settings.values;
  if (loop->in && !loop->newest)
    return false;
  return !loop->submitted || loop->passed || !moment_equal(now, &loop->last) ||
         (values->split && !loop->last.settings.values.split) || loop->changes != loop->last_changes ||
         (!engine_is_busy(loop->engine) && (engine_is_behind(loop->engine) || !has_texts(loop, now)));
}

static void take_newest(struct loop *loop, int wait_ms) {
  if (!loop->in)
    return;
  const struct mail *mail;
  int got = mailbox_take(loop->in, &mail, wait_ms);
  if (got == 1) {
    if (loop->fresh)
      loop_count_dropped(loop, 1);
    loop->newest = mail;
    loop->fresh = true;
    loop->taken_ns = platform_now_ns();
  }
  loop->ended = got < 0;
}

/* Returns true if the frame does not continue the one submitted last, so that data of earlier frames must not be used.
 * That is so for another source, repetition or position, and after a freeze or bypass. */
static bool restarts(const struct loop *loop, const struct moment *now) {
  const struct parameters *values = &now->settings.values, *last = &loop->last.settings.values;
  return (loop->newest && loop->newest->frame.stretch != loop->stretch) || (last->freeze && !values->freeze) ||
         (last->bypass && !values->bypass);
}

static int submit(struct loop *loop, const struct moment *now) {
  const struct frame *frame = loop->newest ? &loop->newest->frame : NULL;
  struct companion *companion = &loop->companions[loop->submitted % COMPANIONS];
  struct engine_request request = {.prepared = handles_used(&loop->handles),
                                   .controls = &now->controls,
                                   .frame = frame,
                                   .on_device = loop->on_device,
                                   .restart = restarts(loop, now),
                                   .opaque = companion};
  need_prompts(loop, now);
  /* releases the input of an earlier frame that got no picture, because its handle was replaced before all of its steps
   * were done */
  frame_release(&companion->input);
  companion->again = !loop->fresh && !loop->passed;
  companion->put_ns = loop->newest ? loop->newest->put_ns : 0;
  companion->rung = loop_rung(loop);
  companion->ladder = loop->ladders;
  companion->handle = loop->handles_used;
  companion->applied = loop->applied;
  companion->has_texts = has_texts(loop, now);
  if (frame)
    request.identity = frame_identity(frame);
  if (loop->params.before && loop->params.before(loop->params.opaque, loop->engine, &request, &loop->err))
    return -1;
  loop->busy_ns = platform_now_ns();
  int status = engine_submit(loop->engine, &request, &loop->err);
  loop->busy_ns = 0;
  if (status)
    return -1;
  if (now->settings.values.split && frame)
    companion->input = frame_hold(frame);
  loop->submitted++;
  loop->stretch = frame ? frame->stretch : 0;
  loop->fresh = loop->passed = false;
  if (!loop->kept)
    moment_copy(&loop->last, now);
  loop->kept = true;
  loop->last_changes = loop->changes;
  return 0;
}

/* Drops the newest frame without submitting it, because its picture would be too late. The frame after it is submitted
 * even if it is late, so that pictures never stop. */
static void pass(struct loop *loop) {
  loop->fresh = false;
  loop->passed = true;
  pthread_mutex_lock(&loop->lock);
  loop->status.dropped++;
  loop->status.left_out++;
  pthread_mutex_unlock(&loop->lock);
}

static bool newest_is_late(const struct loop *loop) {
  if (loop->params.budget_ms <= 0 || !loop->fresh || loop->ended || loop->passed || loop_rung(loop) < 0)
    return false;
  int64_t now_ns = platform_now_ns();
  const struct loop_timing timing = {
      .budget_ms = loop->params.budget_ms,
      .frame_ms = governor_frame_ms(&loop->governor),
      .waited_ms = (double)(now_ns - loop->newest->put_ns) * 1e-6,
      .busy_ms = (double)(now_ns - loop->last_finished_ns) * 1e-6,
      .in_flight = engine_in_flight(loop->engine),
  };
  return loop_is_late(&timing);
}

/* Returns the largest number of frames that may be in the engine now: one if the window draws on the same GPU,
 * otherwise loop->depth. */
static int depth_now(const struct loop *loop) {
  return loop->drawn_there ? 1 : loop->depth;
}

/* Returns the time until which the loop waits for the window to draw the last picture: drawing_ms after the picture was
 * finished, or earlier if the newest frame would otherwise miss the time budget. */
static int64_t drawn_by_ns(const struct loop *loop) {
  const struct loop_params *params = &loop->params;
  double spare_ms = params->budget_ms - governor_frame_ms(&loop->governor);
  int64_t until_ns = loop->last_finished_ns + (int64_t)(params->drawing_ms * 1e6);
  int64_t late_ns = loop->newest->put_ns + (int64_t)(spare_ms * 1e6);
  return params->budget_ms > 0 && late_ns < until_ns ? late_ns : until_ns;
}

/* If the window draws on the engine's GPU, waits until the window has drawn the last picture. A newer frame that
 * arrives meanwhile replaces the one that was to be submitted. */
static void let_draw(struct loop *loop) {
  if (loop->drawn_there && loop->fresh && mailbox_wait_done(loop->out, drawn_by_ns(loop)))
    take_newest(loop, 0);
}

/* Submits a run without a new frame, which advances each frame in the stream batch by one denoising step. Returns 0, or
 * -1 with loop->err. */
static int drain(struct loop *loop, const struct moment *now) {
  const struct engine_request request = {.prepared = handles_used(&loop->handles),
                                         .controls = &now->controls,
                                         .drain = true,
                                         .on_device = loop->on_device};
  need_prompts(loop, now);
  if (engine_submit(loop->engine, &request, &loop->err))
    return -1;
  loop->submitted++;
  return 0;
}

/* --- one pass of the loop, and the function of its thread --- */

struct mailbox *loop_waited_at(struct loop *loop) {
  return loop->in ? loop->in : &loop->nothing;
}

/* Returns how many ms the thread waits for a frame before it looks for changes. While frames are coming it need not
 * wake for a changed value, because the next frame will use that. */
static int idle_ms(const struct loop *loop, const struct parameters *values) {
  bool busy = loop->handles.preparer.errand.busy || loop->opener.errand.busy || loop->former_engine;
  int64_t quiet_in_ns = loop->taken_ns + QUIET_MS * INT64_C(1000000) - platform_now_ns();
  if (!is_quiet(loop, values))
    return busy ? IDLE_MS : (int)(quiet_in_ns / 1000000) + 1;
  return busy || loop->moves || loop->glides ? IDLE_MS : REST_MS;
}

/* Does one slice of the engine's background work, such as encoding texts. If there is none, waits for a frame. Returns
 * 0, or -1 on failure. */
static int wait_for_frame(struct loop *loop, const struct moment *now) {
  const struct parameters *values = &now->settings.values;
  int left = engine_go_on(loop->engine, &loop->err);
  if (left < 0)
    return -1;
  if (!left)
    encode_ahead(loop, now);
  if (left) {
    platform_sleep_ns(SLICE_REST_NS);
    take_newest(loop, 0);
  } else if (values->pause || !loop->in) {
    mailbox_rest(loop_waited_at(loop), idle_ms(loop, values));
  } else {
    take_newest(loop, idle_ms(loop, values));
  }
  return 0;
}

/* Reads the files that parameters name (such as style pictures) without delaying frames. Gives the engine the files
 * that a background thread has read, and starts to read those whose names have changed. Adds to loop->changes if the
 * engine got something new. Returns 0, or -1 with loop->err. */
static int read_files(struct loop *loop, const struct parameters *values) {
  const struct loop_params *params = &loop->params;
  if (!params->read_files)
    return 0;
  const struct frame *newest = loop->newest ? &loop->newest->frame : NULL;
  int came = params->read_files(params->opaque, loop->engine, &loop->opened_with, values, newest, &loop->err);
  if (came < 0)
    return -1;
  loop->changes += came;
  pthread_mutex_lock(&loop->lock);
  uint64_t texts = loop->settings.values.texts;
  params->put_back(params->opaque, &loop->opened_with, &loop->settings.values);
  if (loop->settings.values.texts != texts)
    loop->looked_ns = 0;
  pthread_mutex_unlock(&loop->lock);
  return 0;
}

/* Returns true if something may change although nobody sets a value: a background task may end (preparing a handle,
 * opening or closing an engine, encoding texts), or a handle that is not in use may have to be released. */
static bool is_on_its_way(const struct loop *loop) {
  return loop->handles.count > 1 || loop->handles.preparer.errand.busy || loop->opener.errand.busy ||
         loop->next.engine || loop->former_engine || engine_is_busy(loop->engine) || engine_is_behind(loop->engine);
}

/* Returns true if the copy of the current values (struct moment) is still valid: it is recent, nobody has sent changes,
 * and no background work is going on. A new copy takes half as long as launching a frame if the processor core has
 * slept. */
static bool still_holds(const struct loop *loop, int64_t now_ns) {
  return loop->looked_ns && now_ns - loop->looked_ns < LOOK_NS && loop->applied == loop->sent && !is_on_its_way(loop);
}

/* Copies the current values to *now, and changes the engine or its handle (prepared size and step count) if the values
 * ask for others. Returns 0; 1 if the values must be copied again; -1 on failure. */
static int look(struct loop *loop, struct moment *now, int64_t now_ns) {
  current_moment(loop, now);
  loop_change_handle(loop, now);
  int again = loop_change_engine(loop, &now->settings.values);
  bool moves = loop->moves || loop->glides || settings_moves(&now->settings, now_ns),
       governed = loop->params.budget_ms > 0;
  loop->looked_ns = again || moves || governed ? 0 : now_ns;
  loop->ever_new = moves || governed;
  return again;
}

/* Copies the current values of parameters to *now unless the copy there is still valid, and lets a background thread
 * read files that parameters name, such as style pictures. Returns 0; 1 if the function must be called again; or -1 on
 * failure. */
static int take_moment(struct loop *loop, struct moment *now) {
  int64_t now_ns = platform_now_ns();
  long changes = loop->changes;
  int again = still_holds(loop, now_ns) ? 0 : look(loop, now, now_ns);
  if (again)
    return again;
  if (read_files(loop, &now->settings.values))
    return -1;
  if (loop->changes != changes)
    loop->looked_ns = 0;
  return 0;
}

/* Returns the facts from which loop_decide chooses the next action, as far as they are known without copying the
 * parameters' values. `quiet` (no frames are coming) needs the clock, so it is determined only if no frame is in flight
 * or waiting. */
static struct loop_situation see_frames(const struct loop *loop, const struct parameters *values) {
  struct loop_situation s = {.in_flight = engine_in_flight(loop->engine),
                             .depth = depth_now(loop),
                             .fresh = loop->fresh && (!values->pause || loop->jumped),
                             .asked = loop->applied != loop->sent,
                             .ended = loop->ended && !values->pause};
  s.batched = s.in_flight > 0 && engine_under_way(handles_used(&loop->handles)) > 0;
  s.quiet = s.in_flight == 0 && !s.fresh && !s.asked && is_quiet(loop, values);
  return s;
}

/* Collects all facts (struct loop_situation) by which loop_decide chooses the next action. Called after the current
 * values were copied. */
static struct loop_situation see_all(const struct loop *loop, const struct moment *now) {
  const struct parameters *values = &now->settings.values;
  struct loop_situation s = {.looked = true,
                             .in_flight = engine_in_flight(loop->engine),
                             .depth = depth_now(loop),
                             .fresh = loop->fresh && (!values->pause || loop->jumped),
                             .late = newest_is_late(loop),
                             .ended = loop->ended && !values->pause};
  s.quiet = !s.fresh && is_quiet(loop, values);
  s.batched = s.quiet && engine_under_way(handles_used(&loop->handles)) > 0;
  s.stale = s.quiet && is_stale(loop, now);
  return s;
}

/* Carries out the action that loop_decide has chosen. Returns 0; 1 if no more frames will come; -1 if the engine
 * failed. */
static int act(struct loop *loop, const struct moment *now, enum loop_action action) {
  switch (action) {
  case LOOP_END:
    return 1;
  case LOOP_WAIT:
    return wait_for_frame(loop, now);
  case LOOP_PASS:
    pass(loop);
    return 0;
  case LOOP_DRAIN:
    return drain(loop, now);
  case LOOP_COLLECT:
    return loop_collect(loop);
  default:
    return submit(loop, now);
  }
}

/* True if a waiting frame is to be taken. During a pause, only a frame from another source or after a seek is taken, so
 * that the user sees its picture although the video is paused. */
static bool takes_frames(const struct loop *loop, const struct parameters *values) {
  struct frame next;
  if (!values->pause)
    return true;
  if (!loop->in || !mailbox_peek(loop->in, &next))
    return false;
  bool jumps = !loop->newest || next.stretch != loop->newest->frame.stretch;
  frame_release(&next);
  return jumps;
}

/* Runs one pass of the loop. The current values are copied after the frame was taken, so that changes sent before the
 * frame came apply to it. Returns 0; 1 if no more frames will come; -1 if the engine failed. */
static int take_turn(struct loop *loop, struct moment *now) {
  const struct parameters *values = &now->settings.values;
  if (engine_in_flight(loop->engine) < depth_now(loop) && takes_frames(loop, values)) {
    loop->jumped = values->pause;
    take_newest(loop, 0);
    let_draw(loop);
  }
  struct loop_situation situation = see_frames(loop, values);
  enum loop_action action = loop_decide(&situation);
  if (action == LOOP_LOOK) {
    int again = take_moment(loop, now);
    if (again)
      return again < 0 ? -1 : 0;
    situation = see_all(loop, now);
    action = loop_decide(&situation);
  }
  return act(loop, now, action);
}

/* Repeats take_turn until the loop is stopped or no more frames come. Returns 0, or -1 if the engine failed. */
static int run(struct loop *loop) {
  struct moment now = {0};
  int result = 0;
  current_moment(loop, &now);
  while (!loop->stop && !result)
    result = take_turn(loop, &now);
  return result < 0 ? -1 : 0;
}

/* Runs the loop until its end. If the device fails, opens another engine and continues; any other failure ends the
 * loop. Returns 0, or -1 with loop->err. */
static int run_on(struct loop *loop) {
  while (run(loop))
    if (!loop->params.recovers || loop->err.status != STATUS_DEVICE || loop_recover(loop))
      return -1;
  return 0;
}

static void *loop_main(void *opaque) {
  struct loop *loop = opaque;
  /* A loop that is stopped while the engine is being opened has not failed. */
  loop->failed = loop_begin(loop) ? !loop->stop : run_on(loop) && loop->err.status != STATUS_INTERRUPTED;
  loop_close_engines(loop);
  mailbox_close(loop->out);
  loop->through = true;
  return NULL;
}

static void loop_free(struct loop *loop) {
  for (int i = 0; i < COMPANIONS; i++)
    frame_release(&loop->companions[i].input);
  mailbox_free(&loop->nothing);
  pthread_mutex_destroy(&loop->lock);
  free(loop);
}

int loop_start(struct loop **out, const struct loop_params *params, struct mailbox *in, struct mailbox *pictures,
               struct error *err) {
  struct loop *loop = calloc(1, sizeof *loop);
  if (!loop)
    return error_set(err, STATUS_FAILED, "no memory for the frame loop");
  loop->params = *params;
  if (!loop->params.told)
    loop->params.told = params->log;
  loop->opener = (struct opener){.open = params->open, .opaque = params->opaque};
  parameters_init(&loop->settings.values);
  loop->in = in;
  loop->out = pictures;
  mailbox_init(&loop->nothing);
  platform_lock_init(&loop->lock);
  int code = pthread_create(&loop->thread, NULL, loop_main, loop);
  if (code) {
    loop_free(loop);
    return error_set(err, STATUS_FAILED, "cannot start the engine thread: %s", strerror(code));
  }
  *out = loop;
  return 0;
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
