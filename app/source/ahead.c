#include "app/source/ahead.h"

#include <stdlib.h>
#include <string.h>

#include "app/platform/app_platform.h"
#include "unet/base/platform.h"

/* The result of a call of source_read: its return value (got), the frame, and the source's info after the call. */
struct reading {
  int got;
  struct frame frame;
  struct source_info info;
  struct error err;
};

struct ahead {
  pthread_t thread;
  struct source *source;
  bool may_be_urgent;
  bool urgent; /* true: the reading thread runs at an urgent priority */
  pthread_mutex_t lock;
  pthread_cond_t changed;
  /* The following fields are protected by `lock`. has_next: `next` has a frame that was read and that ahead_read has
   * not returned yet. */
  struct reading next;
  bool has_next, stop;
};

/* Sets the priority of the reading thread. It is urgent if the caller of ahead_start asked for it and hardware
 * decodes (info->hardware), otherwise usual. info NULL: usual. */
static void follow_urgency(struct ahead *ahead, const struct source_info *info) {
  bool wanted = ahead->may_be_urgent && info && info->hardware;
  if (wanted != ahead->urgent)
    platform_be_urgent(wanted);
  ahead->urgent = wanted;
}

/* Waits until ahead_read has returned the frame in `next`. Returns false if the reading thread has to stop. */
static bool wait_for_room(struct ahead *ahead) {
  pthread_mutex_lock(&ahead->lock);
  while (ahead->has_next && !ahead->stop)
    pthread_cond_wait(&ahead->changed, &ahead->lock);
  bool go_on = !ahead->stop;
  pthread_mutex_unlock(&ahead->lock);
  return go_on;
}

static void put(struct ahead *ahead, const struct reading *reading) {
  pthread_mutex_lock(&ahead->lock);
  ahead->next = *reading;
  ahead->has_next = true;
  pthread_cond_broadcast(&ahead->changed);
  pthread_mutex_unlock(&ahead->lock);
}

static void *read_ahead(void *opaque) {
  struct ahead *ahead = opaque;
  struct reading reading = {.got = 1};
  while (reading.got == 1 && wait_for_room(ahead)) {
    reading = (struct reading){0};
    reading.got = source_read(ahead->source, &reading.frame, &reading.err);
    source_get_info(ahead->source, &reading.info);
    follow_urgency(ahead, &reading.info);
    put(ahead, &reading);
  }
  follow_urgency(ahead, NULL);
  return NULL;
}

static void ahead_free(struct ahead *ahead) {
  pthread_cond_destroy(&ahead->changed);
  pthread_mutex_destroy(&ahead->lock);
  free(ahead);
}

int ahead_start(struct ahead **out, struct source *source, bool urgent, struct error *err) {
  struct ahead *ahead = *out = calloc(1, sizeof *ahead);
  if (!ahead)
    return error_set(err, STATUS_FAILED, "no memory to read ahead");
  ahead->source = source;
  ahead->may_be_urgent = urgent;
  platform_lock_init(&ahead->lock);
  pthread_cond_init(&ahead->changed, NULL);
  int code = pthread_create(&ahead->thread, NULL, read_ahead, ahead);
  if (!code)
    return 0;
  ahead_free(ahead);
  *out = NULL;
  return error_set(err, STATUS_FAILED, "cannot start the thread that reads ahead: %s", strerror(code));
}

int ahead_read(struct ahead *ahead, struct frame *frame, struct source_info *info, struct error *err) {
  pthread_mutex_lock(&ahead->lock);
  while (!ahead->has_next)
    pthread_cond_wait(&ahead->changed, &ahead->lock);
  const struct reading *reading = &ahead->next;
  int got = reading->got;
  *frame = reading->frame;
  *info = reading->info;
  if (got < 0 && err)
    *err = reading->err;
  ahead->has_next = got != 1;
  pthread_cond_broadcast(&ahead->changed);
  pthread_mutex_unlock(&ahead->lock);
  return got;
}

void ahead_stop(struct ahead **pointer) {
  struct ahead *ahead = *pointer;
  if (!ahead)
    return;
  pthread_mutex_lock(&ahead->lock);
  ahead->stop = true;
  pthread_cond_broadcast(&ahead->changed);
  pthread_mutex_unlock(&ahead->lock);
  pthread_join(ahead->thread, NULL);
  if (ahead->has_next)
    frame_release(&ahead->next.frame);
  ahead_free(ahead);
  *pointer = NULL;
}
