#include "app/run/loop.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/flow/stats.h"

enum { MAX_DEPTH = 2, IDLE_MS = 10 };
/* So long without a new frame, a changed control shows on the old one. */
static const int64_t quiet_ns = 100000000;

/* A frame in the engine. */
struct flight {
  struct picture input; /* kept where the window wants it beside the result */
  bool has_input, again;
  int64_t submitted_ns;
};

struct loop {
  pthread_t thread;
  struct loop_params params;
  struct mailbox *in, *out;
  struct engine *engine;
  bool failed;
  struct error err; /* valid after the thread's end if failed */
  atomic_bool stop;

  /* The thread's alone */
  const struct mail *newest; /* the last frame taken; NULL: none yet */
  bool fresh;                /* the engine has not seen it */
  int64_t taken_ns;
  bool ended;
  struct loop_settings last; /* of the last frame submitted */
  struct flight flights[MAX_DEPTH];
  int in_flight, depth;
  long submitted, collected; /* flights[count % MAX_DEPTH] */
  int64_t last_finished_ns;
  int steps, refused_steps; /* as the engine is set; what it refused */
  bool encoded[SLOTS];

  pthread_mutex_t lock;
  /* Protected by lock */
  struct loop_settings settings;
  struct loop_status status;
};

enum loop_action loop_decide(const struct loop_situation *s) {
  if (s->in_flight >= s->depth)
    return LOOP_COLLECT;
  if (s->fresh)
    return LOOP_SUBMIT_FRESH;
  if (s->in_flight > 0)
    return LOOP_COLLECT;
  if (s->ended)
    return LOOP_END;
  return s->stale ? LOOP_SUBMIT_AGAIN : LOOP_WAIT;
}

static bool controls_equal(const struct controls *a, const struct controls *b) {
  return a->prompt == b->prompt && a->blend == b->blend && (a->blend == 0 || a->prompt_to == b->prompt_to) &&
         a->strength == b->strength && a->guidance == b->guidance && a->image_guidance == b->image_guidance &&
         a->mix == b->mix && a->seed == b->seed;
}

static void current_settings(struct loop *loop, struct loop_settings *settings) {
  pthread_mutex_lock(&loop->lock);
  *settings = loop->settings;
  pthread_mutex_unlock(&loop->lock);
  fade_apply(&settings->fade, clock_now_ns(), &settings->controls);
}

static void publish_status(struct loop *loop) {
  struct engine_info info;
  engine_get_info(loop->engine, &info);
  pthread_mutex_lock(&loop->lock);
  loop->status.ready = true;
  loop->status.info = info;
  loop->status.refused_steps = loop->refused_steps;
  pthread_mutex_unlock(&loop->lock);
  loop->depth = info.cuda ? MAX_DEPTH : 1;
  loop->steps = info.steps;
}

/* Encodes the prompt of a slot where that was not done yet. A prompt that cannot be encoded costs a line, not the
 * window. */
static void need_prompt(struct loop *loop, int slot) {
  if (loop->encoded[slot])
    return;
  loop->encoded[slot] = true;
  struct error err;
  if (loop->params.prompts[slot] && engine_set_prompt(loop->engine, slot, loop->params.prompts[slot], &err))
    log_line(loop->params.log, LOG_WARNING, "%s", err.message);
}

/* One more prompt, in spare time. */
static void encode_ahead(struct loop *loop) {
  for (int slot = 0; slot < SLOTS; slot++)
    if (!loop->encoded[slot]) {
      need_prompt(loop, slot);
      return;
    }
}

static bool steps_wanted(const struct loop *loop, const struct loop_settings *now) {
  return now->steps > 0 && now->steps != loop->steps && now->steps != loop->refused_steps;
}

/* Another step count is another plan, for which no frame may be in flight. */
static void change_steps(struct loop *loop, int steps) {
  struct error err;
  bool refused = engine_configure(loop->engine, 0, 0, steps, &err);
  if (refused)
    log_line(loop->params.log, LOG_WARNING, "%s", err.message);
  loop->refused_steps = refused ? steps : 0;
  publish_status(loop);
}

static bool is_stale(const struct loop *loop, const struct loop_settings *now) {
  bool quiet = now->paused || !loop->in || clock_now_ns() - loop->taken_ns > quiet_ns;
  if (!quiet || (loop->in && !loop->newest))
    return false;
  return !loop->submitted || !controls_equal(&now->controls, &loop->last.controls) ||
         (now->want_input && !loop->last.want_input) || steps_wanted(loop, now);
}

static void count_dropped(struct loop *loop) {
  pthread_mutex_lock(&loop->lock);
  loop->status.dropped++;
  pthread_mutex_unlock(&loop->lock);
}

static void take_newest(struct loop *loop, int wait_ms) {
  if (!loop->in)
    return;
  const struct mail *mail;
  int got = mailbox_take(loop->in, &mail, wait_ms);
  if (got == 1) {
    if (loop->fresh)
      count_dropped(loop);
    loop->newest = mail;
    loop->fresh = true;
    loop->taken_ns = clock_now_ns();
  }
  loop->ended = got < 0;
}

static int submit(struct loop *loop, const struct loop_settings *now) {
  const struct frame *frame = loop->newest ? &loop->newest->frame : NULL;
  struct flight *flight = &loop->flights[loop->submitted % MAX_DEPTH];
  need_prompt(loop, now->controls.prompt);
  if (now->controls.blend > 0)
    need_prompt(loop, now->controls.prompt_to);
  flight->has_input = now->want_input && frame;
  if (flight->has_input && picture_copy(&flight->input, frame, &loop->err))
    return -1;
  flight->again = !loop->fresh;
  flight->submitted_ns = clock_now_ns();
  if (engine_submit(loop->engine, &now->controls, frame, &loop->err))
    return -1;
  loop->submitted++;
  loop->in_flight++;
  loop->fresh = false;
  loop->last = *now;
  return 0;
}

static int collect(struct loop *loop) {
  struct flight *flight = &loop->flights[loop->collected % MAX_DEPTH];
  struct mail mail = {.submitted_ns = flight->submitted_ns, .again = flight->again};
  if (engine_collect(loop->engine, &mail.frame, &loop->err))
    return -1;
  mail.finished_ns = clock_now_ns();
  /* With two in flight the second waited for the first: its own time starts when that was done. */
  int64_t began = mail.submitted_ns > loop->last_finished_ns ? mail.submitted_ns : loop->last_finished_ns;
  mail.frame_ms = (double)(mail.finished_ns - began) / 1e6;
  if (flight->has_input)
    mail.input = flight->input.frame;
  loop->last_finished_ns = mail.finished_ns;
  loop->collected++;
  loop->in_flight--;
  pthread_mutex_lock(&loop->lock);
  loop->status.frames = loop->collected;
  pthread_mutex_unlock(&loop->lock);
  return mailbox_put(loop->out, &mail, &loop->err);
}

static void wait_for_frame(struct loop *loop, bool paused) {
  encode_ahead(loop);
  if (paused || !loop->in)
    usleep(IDLE_MS * 1000);
  else
    take_newest(loop, IDLE_MS);
}

/* The frame loop. Returns -1 when the engine failed. */
static int run(struct loop *loop) {
  while (!loop->stop) {
    struct loop_settings now;
    current_settings(loop, &now);
    /* A new step count waits until the engine is empty. */
    int depth = steps_wanted(loop, &now) ? 1 : loop->depth;
    if (loop->in_flight < depth && !now.paused)
      take_newest(loop, 0);
    struct loop_situation situation = {.in_flight = loop->in_flight,
                                       .depth = depth,
                                       .fresh = loop->fresh && !now.paused,
                                       .stale = is_stale(loop, &now),
                                       .ended = loop->ended && !now.paused};
    switch (loop_decide(&situation)) {
    case LOOP_END:
      return 0;
    case LOOP_WAIT:
      wait_for_frame(loop, now.paused);
      break;
    case LOOP_COLLECT:
      if (collect(loop))
        return -1;
      break;
    default:
      if (steps_wanted(loop, &now))
        change_steps(loop, now.steps);
      if (submit(loop, &now))
        return -1;
    }
  }
  return 0;
}

static int open_engine(struct loop *loop) {
  struct loop_settings settings = {0};
  if (loop->params.open(loop->params.opaque, &loop->engine, &settings, &loop->err))
    return -1;
  pthread_mutex_lock(&loop->lock);
  loop->settings = loop->status.settings = settings;
  pthread_mutex_unlock(&loop->lock);
  publish_status(loop);
  return 0;
}

static void *loop_main(void *opaque) {
  struct loop *loop = opaque;
  loop->failed = open_engine(loop) || run(loop);
  engine_close(&loop->engine);
  mailbox_close(loop->out);
  return NULL;
}

static void loop_free(struct loop *loop) {
  for (int i = 0; i < MAX_DEPTH; i++)
    picture_free(&loop->flights[i].input);
  pthread_mutex_destroy(&loop->lock);
  free(loop);
}

int loop_start(struct loop **out, const struct loop_params *params, struct mailbox *in, struct mailbox *pictures,
               struct error *err) {
  struct loop *loop = calloc(1, sizeof *loop);
  if (!loop)
    return error_set(err, STATUS_FAILED, "no memory for the frame loop");
  loop->params = *params;
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

void loop_set(struct loop *loop, const struct loop_settings *settings) {
  pthread_mutex_lock(&loop->lock);
  loop->settings = *settings;
  pthread_mutex_unlock(&loop->lock);
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
