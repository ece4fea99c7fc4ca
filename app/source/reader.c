#include "app/source/reader.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unet/base/platform.h"
#include "app/flow/wait.h"

enum {
  SECOND = 1000000000,
  RETRY_FIRST_MS = 250,
  RETRY_MOST_MS = 4000,
};

/* A frame due so long ago or so far ahead means that the pace no longer fits: decoding is too slow, the machine slept,
 * a stream was spliced. The pace then starts anew. */
static const int64_t behind_ns = SECOND, ahead_ns = 10 * (int64_t)SECOND;

/* Which moment on the clock belongs to which timestamp. */
struct pace {
  bool started;
  int64_t clock_ns, media_ns;
  int64_t last_due_ns, last_media_ns; /* of the frame before */
};

struct reader {
  pthread_t thread;
  struct source *source;
  struct source_info info;
  const char *spec;
  struct source_options options; /* its stop is the one below */
  struct mailbox *mailbox;
  struct pace pace;
  int retry_ms; /* the next pause before a lost camera is opened again; grows until a frame comes */
  bool failed;
  struct error err; /* valid after the thread's end if failed */

  atomic_bool stop; /* set under the lock */
  pthread_mutex_t lock;
  pthread_cond_t changed;
  /* Protected by lock, and so is the pointer source, which the thread alone changes */
  bool paused;
  struct reader_status status;
};

/* Waits until the clock says until_ns. False: the reader is to stop. */
static bool wait_until(struct reader *reader, int64_t until_ns) {
  struct timespec deadline = wait_deadline(until_ns);
  pthread_mutex_lock(&reader->lock);
  while (!reader->stop && platform_now_ns() < until_ns)
    pthread_cond_timedwait(&reader->changed, &reader->lock, &deadline);
  bool go_on = !reader->stop;
  pthread_mutex_unlock(&reader->lock);
  return go_on;
}

/* Returns false when the reader is to stop. *waited: it stood still. */
static bool wait_while_paused(struct reader *reader, bool *waited) {
  pthread_mutex_lock(&reader->lock);
  *waited = reader->paused;
  while (!reader->stop && reader->paused && !reader->info.realtime)
    pthread_cond_wait(&reader->changed, &reader->lock);
  bool go_on = !reader->stop;
  pthread_mutex_unlock(&reader->lock);
  return go_on;
}

static void set_lost(struct reader *reader, bool lost, const char *reason) {
  pthread_mutex_lock(&reader->lock);
  reader->status.lost = lost;
  snprintf(reader->status.reason, sizeof reader->status.reason, "%s", reason);
  pthread_mutex_unlock(&reader->lock);
}

static int64_t media_time(const struct reader *reader, int64_t pts) {
  if (reader->info.time_base_den <= 0)
    return 0;
  return (int64_t)((double)pts * reader->info.time_base_num / reader->info.time_base_den * SECOND);
}

/* When a frame of this media time is due. A clip that starts again does so one frame period after its last frame. */
static int64_t pace_due(struct pace *pace, int64_t media_ns, int64_t now_ns, double fps) {
  int64_t due = pace->clock_ns + (media_ns - pace->media_ns);
  if (pace->started && media_ns < pace->last_media_ns && fps > 0)
    due = pace->last_due_ns + (int64_t)(SECOND / fps);
  bool fits = pace->started && due >= now_ns - behind_ns && due <= now_ns + ahead_ns;
  if (!fits)
    due = now_ns;
  if (!fits || media_ns < pace->last_media_ns)
    *pace = (struct pace){.started = true, .clock_ns = due, .media_ns = media_ns};
  pace->last_due_ns = due;
  pace->last_media_ns = media_ns;
  return due;
}

/* Replaces the source. The old one may be NULL. Under the lock, because reader_stop interrupts whatever is there. */
static void swap_source(struct reader *reader, struct source *source) {
  pthread_mutex_lock(&reader->lock);
  struct source *old = reader->source;
  reader->source = source;
  if (source && reader->stop)
    source_interrupt(source);
  pthread_mutex_unlock(&reader->lock);
  source_close(&old);
}

/* Opens the lost camera again, for as long as it takes. False: the reader is to stop. */
static bool recover(struct reader *reader, const char *reason) {
  log_line(reader->options.log, LOG_WARNING, "%s; trying to open it again", reason);
  set_lost(reader, true, reason);
  swap_source(reader, NULL);
  for (;;) {
    if (!wait_until(reader, platform_now_ns() + (int64_t)reader->retry_ms * 1000000))
      return false;
    reader->retry_ms = reader->retry_ms * 2 < RETRY_MOST_MS ? reader->retry_ms * 2 : RETRY_MOST_MS;
    struct source *source = NULL;
    struct error err = {0};
    if (source_open(&source, reader->spec, &reader->options, &err) == 0) {
      swap_source(reader, source);
      source_get_info(source, &reader->info);
      return !reader->stop;
    }
    set_lost(reader, true, err.message);
  }
}

/* Waits until the frame's time has come. 1: it has; 0: the frame is not wanted; -1: the reader is to stop. */
static int await_time(struct reader *reader, struct frame *frame) {
  int64_t media_ns = media_time(reader, frame->pts);
  bool paused;
  if (!wait_while_paused(reader, &paused))
    return -1;
  if (reader->info.realtime)
    return !paused;
  if (paused)
    reader->pace.started = false;
  if (!wait_until(reader, pace_due(&reader->pace, media_ns, platform_now_ns(), reader->info.fps)))
    return -1;
  /* A file's frame counts as captured when it is due: until then it waited on purpose. */
  frame->captured_ns = platform_now_ns();
  return 1;
}

/* Hands one frame on when its time has come. False: the reader is to stop. */
static bool deliver(struct reader *reader, struct frame *frame) {
  int wanted = await_time(reader, frame);
  if (wanted == 1) {
    mailbox_put(reader->mailbox, &(struct mail){.frame = *frame});
    pthread_mutex_lock(&reader->lock);
    reader->status.frames++;
    pthread_mutex_unlock(&reader->lock);
  } else {
    frame_release(frame);
  }
  return wanted >= 0;
}

/* Reads and delivers frames until the end, which is stored as a failure where it is one. */
static void read_frames(struct reader *reader) {
  for (;;) {
    struct frame frame = {0};
    struct error err = {0};
    int got = source_read(reader->source, &frame, &err);
    if (reader->stop) {
      frame_release(&frame);
      return;
    }
    if (got == 1) {
      reader->retry_ms = RETRY_FIRST_MS;
      if (reader->status.lost) {
        log_line(reader->options.log, LOG_WARNING, "%s is back", reader->spec);
        set_lost(reader, false, "");
      }
      if (!deliver(reader, &frame))
        return;
    } else if (reader->info.realtime) {
      if (got == 0)
        error_set(&err, STATUS_INPUT, "%s: the stream ended", reader->spec);
      if (!recover(reader, err.message))
        return;
    } else {
      reader->failed = got < 0;
      reader->err = err;
      return;
    }
  }
}

static void *reader_main(void *opaque) {
  struct reader *reader = opaque;
  read_frames(reader);
  mailbox_close(reader->mailbox);
  return NULL;
}

static void reader_free(struct reader *reader) {
  source_close(&reader->source);
  pthread_cond_destroy(&reader->changed);
  pthread_mutex_destroy(&reader->lock);
  free(reader);
}

int reader_start(struct reader **out, struct source **source, const char *spec, const struct source_options *options,
                 struct mailbox *mailbox, struct error *err) {
  struct reader *reader = calloc(1, sizeof *reader);
  if (!reader)
    return error_set(err, STATUS_FAILED, "no memory for the reader");
  reader->source = *source;
  reader->spec = spec;
  reader->options = *options;
  reader->options.stop = &reader->stop;
  reader->mailbox = mailbox;
  reader->retry_ms = RETRY_FIRST_MS;
  *source = NULL;
  source_get_info(reader->source, &reader->info);
  pthread_mutex_init(&reader->lock, NULL);
  wait_init(&reader->changed);
  int code = pthread_create(&reader->thread, NULL, reader_main, reader);
  if (code) {
    reader_free(reader);
    return error_set(err, STATUS_FAILED, "cannot start the reader thread: %s", strerror(code));
  }
  *out = reader;
  return 0;
}

void reader_pause(struct reader *reader, bool paused) {
  pthread_mutex_lock(&reader->lock);
  reader->paused = paused;
  pthread_cond_signal(&reader->changed);
  pthread_mutex_unlock(&reader->lock);
}

void reader_get_status(struct reader *reader, struct reader_status *status) {
  pthread_mutex_lock(&reader->lock);
  *status = reader->status;
  pthread_mutex_unlock(&reader->lock);
}

int reader_stop(struct reader **pointer, struct error *err) {
  struct reader *reader = *pointer;
  if (!reader)
    return 0;
  pthread_mutex_lock(&reader->lock);
  reader->stop = true;
  if (reader->source)
    source_interrupt(reader->source);
  pthread_cond_signal(&reader->changed);
  pthread_mutex_unlock(&reader->lock);
  pthread_join(reader->thread, NULL);
  int result = reader->failed ? -1 : 0;
  if (reader->failed && err)
    *err = reader->err;
  reader_free(reader);
  *pointer = NULL;
  return result;
}
