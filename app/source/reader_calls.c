/* The functions by which other threads start, steer, ask and stop a reader. */
#include "app/source/reader_impl.h"

#include <stdlib.h>
#include <string.h>

#include "app/flow/wait.h"
#include "app/platform/app_platform.h"

static void reader_free(struct reader *reader) {
  extra_reader_close(&reader->leaving);
  closer_finish(&reader->closer);
  origin_free(&reader->now);
  origin_free(&reader->next);
  origin_free(&reader->replaced);
  pthread_cond_destroy(&reader->changed);
  pthread_mutex_destroy(&reader->lock);
  free(reader);
}

static int start(struct reader **out, struct source **source, const char *spec, const struct source_options *options,
                 const struct outlet *outlet, bool goes_on, struct error *err) {
  struct reader *reader = calloc(1, sizeof *reader);
  if (!reader)
    return error_set(err, STATUS_FAILED, "no memory for the reader");
  platform_lock_init(&reader->lock);
  wait_init(&reader->changed);
  reader->outlet = *outlet;
  reader->goes_on = goes_on;
  reader->speed = 1;
  reader->rounds = true;
  reader->until = options->until;
  reader->retry_ms = RETRY_FIRST_MS;
  reader->status.sources = 1;
  reader->status.place = options->resume;
  struct source *given = *source;
  if (origin_set(&reader->now, &reader->cut, source, spec, options, err))
    goto fail;
  if (given) {
    source_get_info(given, &reader->info);
    reader->knows = reader->info.shape > 0;
    reader->opened = true;
    reader->status.opened = reader->status.reached = true;
  }
  int code = pthread_create(&reader->thread, NULL, reader_main, reader);
  if (code) {
    error_set(err, STATUS_FAILED, "cannot start the reader thread: %s", strerror(code));
    goto fail;
  }
  *out = reader;
  return 0;
fail:
  reader_free(reader);
  return -1;
}

int reader_start(struct reader **reader, struct source **source, const char *spec, const struct source_options *options,
                 struct mailbox *mailbox, struct error *err) {
  return start(reader, source, spec, options, &(struct outlet){.mailbox = mailbox}, false, err);
}

int reader_start_list(struct reader **reader, struct source **source, const char *spec,
                      const struct source_options *options, struct mailbox *mailbox, struct error *err) {
  return start(reader, source, spec, options, &(struct outlet){.mailbox = mailbox}, true, err);
}

int reader_start_mixed(struct reader **reader, struct source **source, const char *spec,
                       const struct source_options *options, bool goes_on, struct mixer *mixer, enum mixer_input input,
                       struct error *err) {
  return start(reader, source, spec, options, &(struct outlet){.mixer = mixer, .input = input}, goes_on, err);
}

/* Makes the thread leave the current source, even if a read of it blocks. A source that is to fade out is still read
 * during the fade, so it is interrupted only if a read has blocked for 0.2 s. The caller holds the lock. */
static void call_away(struct reader *reader) {
  const int64_t blocks_ns = 200000000;
  int64_t since_ns = reader->reading_ns;
  bool blocks = since_ns && platform_now_ns() - since_ns > blocks_ns;
  reader->away = true;
  if (reader->now.source && !reader->stop && !blocks && reader_fades(reader))
    return;
  reader->cut = true;
  if (reader->now.source)
    source_interrupt(reader->now.source);
}

void reader_tend(struct reader *reader) {
  pthread_mutex_lock(&reader->lock);
  if (reader->leaving.reader && reader->given && !mixer_fades(reader->outlet.mixer))
    extra_reader_end(&reader->leaving);
  pthread_mutex_unlock(&reader->lock);
}

int reader_switch(struct reader *reader, struct source **source, const char *spec, const struct source_options *options,
                  enum reader_when when, struct error *err) {
  struct origin next, before;
  if (origin_set(&next, &reader->cut, source, spec, options, err))
    return -1;
  pthread_mutex_lock(&reader->lock);
  /* The source in `next` will never begin. It is moved to `replaced`, and the reader's thread frees it. A source that
   * an earlier call moved there, and that is not freed yet, is freed by this call (`before`). */
  before = reader->replaced;
  reader->replaced = reader->next;
  reader->next = next;
  reader->next_when = when;
  reader->has_next = true;
  if (when == READER_NOW)
    call_away(reader);
  closer_take(&reader->closer, &before);
  pthread_cond_broadcast(&reader->changed);
  pthread_mutex_unlock(&reader->lock);
  origin_free(&before);
  return 0;
}

bool reader_withdraw(struct reader *reader, struct source **source) {
  struct origin back = {0};
  pthread_mutex_lock(&reader->lock);
  bool has = reader->has_next && reader->next_when == READER_AT_END;
  if (has) {
    back = reader->next;
    reader->next = (struct origin){0};
    reader->has_next = false;
  }
  pthread_mutex_unlock(&reader->lock);
  *source = back.source;
  back.source = NULL;
  origin_free(&back);
  return has;
}

void reader_leave(struct reader *reader) {
  pthread_mutex_lock(&reader->lock);
  reader->next_when = READER_NOW;
  if (reader->has_next)
    call_away(reader);
  pthread_cond_broadcast(&reader->changed);
  pthread_mutex_unlock(&reader->lock);
}

/* Sets one of the reader's flags. Called in each pass of the main loop; the reader's thread is woken only if the flag
 * changes. */
static void set(struct reader *reader, bool *what, bool value) {
  pthread_mutex_lock(&reader->lock);
  if (*what != value)
    pthread_cond_broadcast(&reader->changed);
  *what = value;
  pthread_mutex_unlock(&reader->lock);
}

void reader_end_at(struct reader *reader, int number, double until, bool rounds) {
  pthread_mutex_lock(&reader->lock);
  if (reader->status.sources == number) {
    reader->until = until;
    reader->rounds = rounds;
  }
  pthread_mutex_unlock(&reader->lock);
}

void reader_set_speed(struct reader *reader, double speed) {
  pthread_mutex_lock(&reader->lock);
  if (reader->speed != speed)
    pthread_cond_broadcast(&reader->changed);
  reader->speed = speed;
  if (reader->leaving.reader)
    reader_set_speed(reader->leaving.reader, speed);
  pthread_mutex_unlock(&reader->lock);
}

void reader_go_on(struct reader *reader, bool go_on) {
  set(reader, &reader->goes_on, go_on);
}

void reader_pause(struct reader *reader, bool paused) {
  set(reader, &reader->paused, paused);
}

/* Copies the reader's present state. The caller holds the lock. */
static void copy_status(const struct reader *reader, struct reader_status *status) {
  *status = reader->status;
  status->next = reader->has_next;
}

void reader_get_status(struct reader *reader, struct reader_status *status) {
  pthread_mutex_lock(&reader->lock);
  copy_status(reader, status);
  pthread_mutex_unlock(&reader->lock);
}

bool reader_look(struct reader *reader, struct reader_status *status, struct source_info *info) {
  pthread_mutex_lock(&reader->lock);
  copy_status(reader, status);
  bool known = reader->knows;
  if (known)
    *info = reader->info;
  pthread_mutex_unlock(&reader->lock);
  return known;
}

static bool get_info(struct reader *reader, struct source_info *info, bool wait) {
  pthread_mutex_lock(&reader->lock);
  while (wait && !reader->knows && !reader->ended)
    pthread_cond_wait(&reader->changed, &reader->lock);
  bool known = reader->knows;
  if (known)
    *info = reader->info;
  pthread_mutex_unlock(&reader->lock);
  return known;
}

bool reader_get_info(struct reader *reader, struct source_info *info) {
  return get_info(reader, info, false);
}

bool reader_wait_info(struct reader *reader, struct source_info *info) {
  return get_info(reader, info, true);
}

void reader_end(struct reader *reader) {
  if (!reader)
    return;
  pthread_mutex_lock(&reader->lock);
  reader->stop = true;
  call_away(reader);
  reader_end(reader->leaving.reader);
  pthread_cond_broadcast(&reader->changed);
  pthread_mutex_unlock(&reader->lock);
}

int reader_stop(struct reader **pointer, struct error *err) {
  struct reader *reader = *pointer;
  if (!reader)
    return 0;
  reader_end(reader);
  pthread_join(reader->thread, NULL);
  int result = reader->failed ? -1 : 0;
  if (reader->failed && err)
    *err = reader->err;
  reader_free(reader);
  *pointer = NULL;
  return result;
}
