/* Opens the loop's first engine, and opens it again after a failure. The model and other values that decide the engine
 * are those of the failed one; all others are the current ones. If this process cannot use the device any more, the
 * engine is closed, so that another process can open it. */
#include <stdio.h>
#include <string.h>

#include "app/run/loop_impl.h"
#include "unet/base/platform.h"

enum { STEP_MS = 20 };
/* An engine that fails within lasting_ns after it was opened counts as failing again: the pause before the next attempt
 * then doubles, from pause_least_ns up to pause_most_ns. */
static const int64_t lasting_ns = 30 * INT64_C(1000000000), pause_least_ns = 500000000,
                     pause_most_ns = 30 * INT64_C(1000000000);

static void publish_away(struct loop *loop, bool away) {
  pthread_mutex_lock(&loop->lock);
  loop->status.away = away;
  snprintf(loop->status.why_away, sizeof loop->status.why_away, "%.199s", away ? loop->err.message : "");
  pthread_mutex_unlock(&loop->lock);
}

/* Closes the engine with its handles (prepared sizes and step counts), and engines that are being opened. Frames in
 * flight are lost. */
static void leave_engine(struct loop *loop) {
  loop_close_engines(loop);
  if (loop->params.left)
    loop->params.left(loop->params.opaque);
  for (int i = 0; i < COMPANIONS; i++)
    frame_release(&loop->companions[i].input);
  loop->handles = (struct handles){0};
  loop->opener = (struct opener){.open = loop->params.open, .opaque = loop->params.opaque};
  loop->submitted = loop->collected = 0;
  loop->fresh = loop->newest != NULL;
}

static void wait_while(const struct loop *loop, int64_t ns) {
  for (int64_t until = platform_now_ns() + ns; !loop->stop && platform_now_ns() < until;)
    platform_sleep_ns(STEP_MS * INT64_C(1000000));
}

static int64_t next_pause(int64_t pause_ns) {
  return pause_ns < pause_least_ns ? pause_least_ns : pause_ns * 2 < pause_most_ns ? pause_ns * 2 : pause_most_ns;
}

/* Opens the first engine, and applies the changes that were sent before it was open. Returns 0, or -1 with err. */
static int open_first(struct loop *loop, struct error *err) {
  struct opened opened = {0};
  struct settings settings;
  const struct parameters *values = &opened.beginning.values;
  parameters_init(&opened.beginning.values);
  if (loop->params.open(loop->params.opaque, NULL, &opened, err))
    return -1;
  loop_use_engine(loop, &opened);
  settings_begin(&settings, values);
  memcpy(settings.values.marks, values->marks, sizeof values->marks);
  pthread_mutex_lock(&loop->lock);
  settings_apply(&settings, &loop->settings.values, platform_now_ns());
  loop->settings = settings;
  pthread_mutex_unlock(&loop->lock);
  loop->engines = 1;
  loop_publish_engine(loop);
  return 0;
}

/* Tries once to open the engine again. Parameters that decide which engine is opened have the values with which the
 * failed engine was opened; all others have their current values. Returns 0, or -1 with err. */
static int open_once(struct loop *loop, struct error *err) {
  struct opened opened = {0};
  struct engine_info used;
  pthread_mutex_lock(&loop->lock);
  opened.beginning.values = loop->settings.values;
  used = loop->status.info;
  pthread_mutex_unlock(&loop->lock);
  parameters_copy(&opened.beginning.values, &loop->opened_with, 1u << NEED_ENGINE | 1u << NEED_READING);
  used.device_bytes = 0; /* the failed engine is closed, so its memory is not subtracted from what the new engine may
                          * use */
  if (loop->params.open(loop->params.opaque, &used, &opened, err))
    return -1;
  loop_replace_engine(loop, &opened);
  return 0;
}

/* Closes the engine whose device is lost, and waits until loop_end is called. Returns -1, as for any engine that
 * failed. */
static int leave_lost(struct loop *loop) {
  pthread_mutex_lock(&loop->lock);
  loop->status.lost = true;
  pthread_mutex_unlock(&loop->lock);
  leave_engine(loop);
  while (!loop->stop)
    wait_while(loop, lasting_ns);
  return -1;
}

static bool is_lost(const struct loop *loop) {
  return loop->params.leaves_lost && loop->err.lost;
}

/* Logs a failure to open the engine, unless its message equals that of the failure before, and makes the pause before
 * the next attempt longer. */
static void note_failure(struct loop *loop, const struct error *err) {
  if (strcmp(err->message, loop->err.message))
    log_line(loop->params.log, LOG_WARNING, "%s; it is tried again", err->message);
  loop->err = *err;
  publish_away(loop, true);
  loop->pause_ns = next_pause(loop->pause_ns);
}

int loop_recover(struct loop *loop) {
  struct error err;
  bool lasted = platform_now_ns() - loop->recovered_ns > lasting_ns;
  publish_away(loop, true);
  if (is_lost(loop))
    return leave_lost(loop);
  log_line(loop->params.log, LOG_WARNING, "%s; the engine is opened again", loop->err.message);
  leave_engine(loop);
  loop->pause_ns = lasted ? 0 : next_pause(loop->pause_ns);
  for (wait_while(loop, loop->pause_ns); !loop->stop; wait_while(loop, loop->pause_ns)) {
    bool failed = open_once(loop, &err);
    if (loop->stop) /* loop_end was called meanwhile; loop_stop will report why the engine cannot be opened */
      return -1;
    if (!failed) {
      loop->recovered_ns = platform_now_ns();
      publish_away(loop, false);
      log_line(loop->params.log, LOG_WARNING, "the engine is there again");
      return 0;
    }
    note_failure(loop, &err);
    if (is_lost(loop))
      return leave_lost(loop);
  }
  return -1;
}

int loop_begin(struct loop *loop) {
  struct error err;
  while (open_first(loop, &err)) {
    if (!loop->params.retries_start || loop->stop) {
      loop->err = err;
      return -1;
    }
    note_failure(loop, &err);
    if (is_lost(loop))
      return leave_lost(loop);
    wait_while(loop, loop->pause_ns);
  }
  publish_away(loop, false);
  return 0;
}
