#include "app/source/second_source.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/flow/wait.h"
#include "unet/base/platform.h"

enum { AHEAD = 4 };

/* Times of the two sources count as equal if they differ by at most half the sum of their time bases' units, because
 * containers round times. These are the limits of that tolerance, in seconds. */
static const double rounding_most = 1e-3, rounding_least = 1e-6;
/* If callers do not wait (patience_ms is 0), SECOND_SOURCE_BEHIND is reported after frames have been late for this many
 * nanoseconds. */
static const int64_t behind_ns = 2000000000;

struct timed_frame {
  struct frame frame;
  double at; /* the frame's time in seconds */
};

struct second_source {
  pthread_t thread;
  struct source *source;
  /* time_base: unit of frame.pts in seconds. fps: the higher rate of the two sources; 0: unknown. */
  double time_base, fps;
  double rounding;
  int patience_ms;

  /* The following fields are used only by the thread that calls second_source_at. */
  struct timed_frame shown; /* the frame that second_source_at returned last; its width is 0 before the first one */
  int64_t behind_since_ns;  /* time (platform_now_ns) since which frames have come too late; 0: they come in time */

  pthread_mutex_t lock;
  pthread_cond_t changed;
  /* The following fields are protected by lock. ahead: frames that the thread has read in advance and that
   * second_source_at has not returned yet, oldest first. */
  struct timed_frame ahead[AHEAD];
  int count;
  long read;
  /* times in seconds of the first frame (first_at) and of the frame that was read last (last_at) */
  double first_at, last_at;
  double step;  /* time in seconds between the last two frames read */
  double begun; /* time of the first requested frame, in seconds of the first source; NaN: none was requested yet */
  double shift; /* seconds to be added to a time of the first source to get the second source's own time */
  /* time of the last requested frame, in seconds of the second source (first source's time plus `shift`) */
  double wanted;
  bool stop, ended, failed;
  struct error err;
};

/* --- the frames in `ahead`, which were read in advance; callers hold the lock --- */

static void pop(struct second_source *second, struct timed_frame *first) {
  *first = second->ahead[0];
  memmove(second->ahead, second->ahead + 1, (size_t)--second->count * sizeof *second->ahead);
}

/* Drops the first frame of `ahead` as long as the frame after it is due, too (not later than `wanted`). So a caller
 * that asks seldom gets only the newest frame that is due. */
static void drop_passed(struct second_source *second) {
  while (second->count > 1 && second->ahead[1].at <= second->wanted) {
    struct timed_frame passed;
    pop(second, &passed);
    frame_release(&passed.frame);
  }
}

/* True if the newest frame that is not later than `wanted` is known: a later frame has been read, too, or the source
 * has ended. */
static bool is_settled(const struct second_source *second) {
  return second->ended || (second->count > 0 && second->ahead[second->count - 1].at > second->wanted);
}

static void add(struct second_source *second, const struct frame *frame, double at) {
  second->step = at - second->last_at;
  second->last_at = at;
  if (!second->read++)
    second->first_at = at;
  second->ahead[second->count++] = (struct timed_frame){*frame, at};
}

/* --- the thread that reads in advance --- */

static void *read_ahead(void *opaque) {
  struct second_source *second = opaque;
  bool go_on = true;
  while (go_on) {
    struct frame frame;
    struct error err;
    int got = source_read(second->source, &frame, &err);
    pthread_mutex_lock(&second->lock);
    drop_passed(second);
    while (got == 1 && !second->stop && second->count == AHEAD) {
      pthread_cond_wait(&second->changed, &second->lock);
      drop_passed(second);
    }
    go_on = got == 1 && !second->stop;
    if (go_on)
      add(second, &frame, (double)frame.pts * second->time_base);
    else if (got == 1)
      frame_release(&frame);
    second->ended = !go_on;
    second->failed = got < 0;
    if (second->failed)
      second->err = err;
    pthread_cond_broadcast(&second->changed);
    pthread_mutex_unlock(&second->lock);
  }
  return NULL;
}

/* --- functions for the thread that asks for frames --- */

/* Sets second->shift, the seconds added to a time of the first source to get the second source's time: the difference
 * of the sources' first frames if it is less than one frame period, else 0. seconds: time of the first source's frame;
 * the first call stores it in second->begun. */
static void align(struct second_source *second, double seconds) {
  if (isnan(second->begun))
    second->begun = seconds;
  bool together = second->read && second->fps > 0 && fabs(second->first_at - second->begun) < 1 / second->fps;
  second->shift = together ? second->first_at - second->begun : 0;
}

static void show_newest(struct second_source *second, double seconds) {
  align(second, seconds);
  second->wanted = seconds + second->shift + second->rounding;
  drop_passed(second);
  if (second->count && (!second->shown.frame.width || second->ahead[0].at <= second->wanted)) {
    frame_release(&second->shown.frame);
    pop(second, &second->shown);
    pthread_cond_broadcast(&second->changed);
  }
}

static bool patience_is_left(const struct second_source *second, int64_t now_ns) {
  return now_ns - second->behind_since_ns < (int64_t)second->patience_ms * 1000000;
}

/* Waits until the second source's frame for the time `seconds` of the first source is known. If frames are late, gives
 * up patience_ms after they began to be late. The caller holds the lock. */
static void wait_until_settled(struct second_source *second, double seconds) {
  for (;;) {
    show_newest(second, seconds);
    int64_t now_ns = platform_now_ns();
    if (is_settled(second)) {
      second->behind_since_ns = 0;
      return;
    }
    if (!second->behind_since_ns)
      second->behind_since_ns = now_ns;
    if (!patience_is_left(second, now_ns))
      return;
    struct timespec deadline = wait_deadline(second->behind_since_ns + (int64_t)second->patience_ms * 1000000);
    pthread_cond_timedwait(&second->changed, &second->lock, &deadline);
  }
}

/* Returns the state that second_source_at reports. The caller holds the lock. */
static enum second_source_state state_of(const struct second_source *second) {
  if (second->failed && !second->count)
    return SECOND_SOURCE_FAILED;
  if (second->ended && !second->count && second->read != 1 && second->wanted >= second->shown.at + second->step)
    return SECOND_SOURCE_ENDED;
  int64_t behind = second->behind_since_ns ? platform_now_ns() - second->behind_since_ns : 0;
  int64_t most = second->patience_ms ? (int64_t)second->patience_ms * 1000000 : behind_ns;
  return behind >= most ? SECOND_SOURCE_BEHIND : SECOND_SOURCE_IN_STEP;
}

enum second_source_state second_source_at(struct second_source *second, double seconds, const struct frame **frame,
                                          struct error *err) {
  pthread_mutex_lock(&second->lock);
  wait_until_settled(second, seconds);
  enum second_source_state state = state_of(second);
  if (state == SECOND_SOURCE_FAILED)
    *err = second->err;
  pthread_mutex_unlock(&second->lock);
  *frame = second->shown.frame.width ? &second->shown.frame : NULL;
  return state;
}

/* --- starting and stopping the thread that reads in advance --- */

static void second_source_free(struct second_source *second) {
  source_close(&second->source);
  frame_release(&second->shown.frame);
  for (int i = 0; i < second->count; i++)
    frame_release(&second->ahead[i].frame);
  pthread_cond_destroy(&second->changed);
  pthread_mutex_destroy(&second->lock);
  free(second);
}

int second_source_start(struct second_source **out, struct source **source, const struct second_source_options *options,
                        struct error *err) {
  struct source_info info;
  struct second_source *second = calloc(1, sizeof *second);
  if (!second)
    return error_set(err, STATUS_FAILED, "no memory for a second source");
  source_get_info(*source, &info);
  second->source = *source;
  *source = NULL;
  second->time_base = source_tick(&info);
  second->fps = options->first ? fmax(options->first->fps, info.fps) : info.fps;
  double other = options->first ? source_tick(options->first) : 0;
  second->rounding = fmin(fmax((second->time_base + other) / 2, rounding_least), rounding_most);
  second->patience_ms = options->patience_ms;
  second->begun = NAN;
  second->wanted = -INFINITY;
  platform_lock_init(&second->lock);
  wait_init(&second->changed);
  int code = pthread_create(&second->thread, NULL, read_ahead, second);
  if (code) {
    second_source_free(second);
    return error_set(err, STATUS_FAILED, "cannot start a second source's thread: %s", strerror(code));
  }
  *out = second;
  return 0;
}

void second_source_stop(struct second_source **pointer) {
  struct second_source *second = *pointer;
  *pointer = NULL;
  if (!second)
    return;
  pthread_mutex_lock(&second->lock);
  second->stop = true;
  pthread_cond_broadcast(&second->changed);
  pthread_mutex_unlock(&second->lock);
  source_interrupt(second->source);
  pthread_join(second->thread, NULL);
  second_source_free(second);
}
