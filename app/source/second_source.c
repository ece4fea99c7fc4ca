#include "app/source/second_source.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/flow/wait.h"
#include "unet/base/platform.h"

enum { AHEAD = 4 };

/* Times that containers round may differ by so much from equal ones. */
static const double rounding_most = 1e-3, rounding_least = 1e-6;
/* Behind for so long although nobody waits: worth a notice. */
static const int64_t behind_ns = 2000000000;

struct timed_frame {
  struct frame frame;
  double at; /* seconds */
};

struct follower {
  pthread_t thread;
  struct source *source;
  double time_base, fps; /* of its frames; the larger rate of the two, 0: unknown */
  double rounding;
  int patience_ms;

  /* The caller's alone */
  struct timed_frame shown; /* no size: none yet */
  int64_t behind_since_ns;  /* 0: it is not */

  pthread_mutex_t lock;
  pthread_cond_t changed;
  /* Protected by lock */
  struct timed_frame ahead[AHEAD];
  int count;
  long read;
  double first_at, last_at; /* of the frames that it has read */
  double step;              /* between the last two */
  double begun;             /* the first moment asked for; NAN: none was yet */
  double shift;             /* of moments to its own times */
  double wanted;            /* asked for last, in its own times */
  bool stop, ended, failed;
  struct error err;
};

/* --- what is ahead, under the lock --- */

static void pop(struct follower *f, struct timed_frame *first) {
  *first = f->ahead[0];
  memmove(f->ahead, f->ahead + 1, (size_t)--f->count * sizeof *f->ahead);
}

/* Whoever is behind does not show every frame. */
static void drop_passed(struct follower *f) {
  while (f->count > 1 && f->ahead[1].at <= f->wanted) {
    struct timed_frame passed;
    pop(f, &passed);
    frame_release(&passed.frame);
  }
}

/* Whether nothing that is still to come changes what belongs to the moment asked for. */
static bool is_settled(const struct follower *f) {
  return f->ended || (f->count > 0 && f->ahead[f->count - 1].at > f->wanted);
}

static void add(struct follower *f, const struct frame *frame, double at) {
  f->step = at - f->last_at;
  f->last_at = at;
  if (!f->read++)
    f->first_at = at;
  f->ahead[f->count++] = (struct timed_frame){*frame, at};
}

/* --- the thread --- */

static void *read_ahead(void *opaque) {
  struct follower *f = opaque;
  bool go_on = true;
  while (go_on) {
    struct frame frame;
    struct error err;
    int got = source_read(f->source, &frame, &err);
    pthread_mutex_lock(&f->lock);
    drop_passed(f);
    while (got == 1 && !f->stop && f->count == AHEAD) {
      pthread_cond_wait(&f->changed, &f->lock);
      drop_passed(f);
    }
    go_on = got == 1 && !f->stop;
    if (go_on)
      add(f, &frame, (double)frame.pts * f->time_base);
    else if (got == 1)
      frame_release(&frame);
    f->ended = !go_on;
    f->failed = got < 0;
    if (f->failed)
      f->err = err;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
  }
  return NULL;
}

/* --- the caller --- */

/* Once, when both have begun. */
static void align(struct follower *f, double seconds) {
  if (isnan(f->begun))
    f->begun = seconds;
  bool together = f->read && f->fps > 0 && fabs(f->first_at - f->begun) < 1 / f->fps;
  f->shift = together ? f->first_at - f->begun : 0;
}

static void show_newest(struct follower *f, double seconds) {
  align(f, seconds);
  f->wanted = seconds + f->shift + f->rounding;
  drop_passed(f);
  if (f->count && (!f->shown.frame.width || f->ahead[0].at <= f->wanted)) {
    frame_release(&f->shown.frame);
    pop(f, &f->shown);
    pthread_cond_broadcast(&f->changed);
  }
}

static bool patience_is_left(const struct follower *f, int64_t now_ns) {
  return now_ns - f->behind_since_ns < (int64_t)f->patience_ms * 1000000;
}

/* Under the lock. */
static void wait_until_settled(struct follower *f, double seconds) {
  for (;;) {
    show_newest(f, seconds);
    int64_t now_ns = platform_now_ns();
    if (is_settled(f)) {
      f->behind_since_ns = 0;
      return;
    }
    if (!f->behind_since_ns)
      f->behind_since_ns = now_ns;
    if (!patience_is_left(f, now_ns))
      return;
    struct timespec deadline = wait_deadline(f->behind_since_ns + (int64_t)f->patience_ms * 1000000);
    pthread_cond_timedwait(&f->changed, &f->lock, &deadline);
  }
}

/* Under the lock. */
static enum follower_state state_of(const struct follower *f) {
  if (f->failed && !f->count)
    return FOLLOWER_FAILED;
  if (f->ended && !f->count && f->read != 1 && f->wanted >= f->shown.at + f->step)
    return FOLLOWER_ENDED;
  int64_t behind = f->behind_since_ns ? platform_now_ns() - f->behind_since_ns : 0;
  int64_t most = f->patience_ms ? (int64_t)f->patience_ms * 1000000 : behind_ns;
  return behind >= most ? FOLLOWER_BEHIND : FOLLOWER_IN_STEP;
}

enum follower_state follower_at(struct follower *f, double seconds, const struct frame **frame, struct error *err) {
  pthread_mutex_lock(&f->lock);
  wait_until_settled(f, seconds);
  enum follower_state state = state_of(f);
  if (state == FOLLOWER_FAILED)
    *err = f->err;
  pthread_mutex_unlock(&f->lock);
  *frame = f->shown.frame.width ? &f->shown.frame : NULL;
  return state;
}

/* --- beginning and end --- */

static void follower_free(struct follower *f) {
  source_close(&f->source);
  frame_release(&f->shown.frame);
  for (int i = 0; i < f->count; i++)
    frame_release(&f->ahead[i].frame);
  pthread_cond_destroy(&f->changed);
  pthread_mutex_destroy(&f->lock);
  free(f);
}

int follower_start(struct follower **out, struct source **source, const struct follower_options *options,
                   struct error *err) {
  struct source_info info;
  struct follower *f = calloc(1, sizeof *f);
  if (!f)
    return error_set(err, STATUS_FAILED, "no memory for a second source");
  source_get_info(*source, &info);
  f->source = *source;
  *source = NULL;
  f->time_base = source_tick(&info);
  f->fps = options->first ? fmax(options->first->fps, info.fps) : info.fps;
  double other = options->first ? source_tick(options->first) : 0;
  f->rounding = fmin(fmax((f->time_base + other) / 2, rounding_least), rounding_most);
  f->patience_ms = options->patience_ms;
  f->begun = NAN;
  f->wanted = -INFINITY;
  platform_lock_init(&f->lock);
  wait_init(&f->changed);
  int code = pthread_create(&f->thread, NULL, read_ahead, f);
  if (code) {
    follower_free(f);
    return error_set(err, STATUS_FAILED, "cannot start a second source's thread: %s", strerror(code));
  }
  *out = f;
  return 0;
}

void follower_stop(struct follower **pointer) {
  struct follower *f = *pointer;
  *pointer = NULL;
  if (!f)
    return;
  pthread_mutex_lock(&f->lock);
  f->stop = true;
  pthread_cond_broadcast(&f->changed);
  pthread_mutex_unlock(&f->lock);
  source_interrupt(f->source);
  pthread_join(f->thread, NULL);
  follower_free(f);
}
