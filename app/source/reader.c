#include "app/source/reader_impl.h"

#include <math.h>
#include <stdio.h>

#include "app/flow/wait.h"
#include "app/platform/app_platform.h"
#include "app/source/pipe_input.h"

enum { SECOND = 1000000000, RETRY_MOST_MS = 4000 };

/* Sets the priority of the reader's thread. wanted: true (urgent) while it hands a frame on in time, and while hardware
 * decodes, when it only passes packets on and waits; false (usual) while it opens, closes or decodes in software. If
 * the system has refused the urgent priority once, it is not asked again. */
static void be_urgent(struct reader *reader, bool wanted) {
  bool urgent = wanted && reader->now.options.urgent && !reader->refused;
  if (urgent != reader->urgent)
    reader->refused = platform_be_urgent(urgent) == URGENCY_USUAL && urgent;
  reader->urgent = urgent && !reader->refused;
}

/* Waits until platform_now_ns reaches until_ns. Returns false, without waiting longer, if the thread is to leave the
 * source. */
static bool wait_until(struct reader *reader, int64_t until_ns) {
  struct timespec deadline = wait_deadline(until_ns);
  pthread_mutex_lock(&reader->lock);
  while (!reader->away && platform_now_ns() < until_ns)
    pthread_cond_timedwait(&reader->changed, &reader->lock, &deadline);
  bool go_on = !reader->away;
  pthread_mutex_unlock(&reader->lock);
  return go_on;
}

/* Waits until a frame is due at until_ns, as wait_until does, but returns true at once if the speed changes. */
static bool wait_until_due(struct reader *reader, int64_t until_ns) {
  struct timespec deadline = wait_deadline(until_ns);
  pthread_mutex_lock(&reader->lock);
  while (!reader->away && reader->speed == reader->timetable.speed && platform_now_ns() < until_ns)
    pthread_cond_timedwait(&reader->changed, &reader->lock, &deadline);
  bool go_on = !reader->away;
  pthread_mutex_unlock(&reader->lock);
  return go_on;
}

/* Waits while a source that is not realtime is paused, except for the first frame of a source. Returns false if the
 * thread is to leave the source. *waited: the source was paused at the call. */
static bool wait_while_paused(struct reader *reader, bool *waited) {
  pthread_mutex_lock(&reader->lock);
  *waited = reader->paused;
  while (!reader->away && reader->paused && reader->from_here && !reader->info.realtime)
    pthread_cond_wait(&reader->changed, &reader->lock);
  bool go_on = !reader->away;
  pthread_mutex_unlock(&reader->lock);
  return go_on;
}

bool reader_fades(const struct reader *reader) {
  return reader->outlet.mixer && mixer_wants_fade(reader->outlet.mixer);
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

/* Stores the source's info. The info counts as known once it has the aspect ratio of the pictures, which a stream shows
 * only with its first frame. The caller holds the lock. */
static void note_info(struct reader *reader, const struct source_info *info) {
  reader->info = *info;
  reader->knows = info->shape > 0;
  pthread_cond_broadcast(&reader->changed);
}

/* Closes the current source and makes another one current; either may be NULL. The pointer changes under the lock,
 * because reader_stop interrupts the current source. */
static void swap_source(struct reader *reader, struct source *source) {
  struct source_info info;
  if (source)
    source_get_info(source, &info);
  pthread_mutex_lock(&reader->lock);
  struct source *old = reader->now.source;
  reader->now.source = source;
  if (source && reader->away)
    source_interrupt(source);
  if (source) {
    reader->opened = true;
    reader->status.opened = reader->status.reached = true;
    note_info(reader, &info);
  }
  pthread_mutex_unlock(&reader->lock);
  source_close(&old);
}

static bool is_told_to_stop(const struct reader *reader) {
  return reader->away || (reader->now.stop && atomic_load(reader->now.stop));
}

/* Waits until retry_ms after the begin of the last try to open, and doubles retry_ms. Returns false if the thread is to
 * leave the source. */
static bool wait_to_retry(struct reader *reader, int64_t begun_ns) {
  int64_t until_ns = begun_ns + (int64_t)reader->retry_ms * 1000000;
  reader->retry_ms = reader->retry_ms * 2 < RETRY_MOST_MS ? reader->retry_ms * 2 : RETRY_MOST_MS;
  return wait_until(reader, until_ns);
}

/* Opens now.spec. Tries again, with pauses, if the source was open before (was_there), may come later (SOURCE_NOT_YET),
 * or options.patient is set. Returns 0 if the source is open or the thread must leave it, or -1 with err. */
static int open_source(struct reader *reader, bool was_there, struct error *err) {
  be_urgent(reader, false);
  for (bool told = was_there;; told = true) {
    struct source *source = NULL;
    int64_t begun_ns = platform_now_ns();
    int code = source_open(&source, reader->now.spec, &reader->now.options, err);
    if (!code)
      swap_source(reader, source);
    if (!code || is_told_to_stop(reader))
      return 0;
    if (!was_there && code != SOURCE_NOT_YET && !reader->now.options.patient)
      return -1;
    if (!told)
      log_line(reader->now.options.log, LOG_WARNING, "%s; waiting for it", err->message);
    set_lost(reader, true, err->message);
    if (!wait_to_retry(reader, begun_ns))
      return 0;
  }
}

/* Closes a lost camera or stream, and opens it again after a pause. Returns what open_source returns. */
static int recover(struct reader *reader, struct error *err) {
  be_urgent(reader, false);
  log_line(reader->now.options.log, LOG_WARNING, "%s; trying to open it again", err->message);
  set_lost(reader, true, err->message);
  swap_source(reader, NULL);
  return wait_to_retry(reader, platform_now_ns()) ? open_source(reader, true, err) : 0;
}

/* Passes the speed that reader_set_speed has set to the timetable, which says when each frame is due. Returns that
 * speed. */
static double take_speed(struct reader *reader) {
  pthread_mutex_lock(&reader->lock);
  double speed = reader->speed;
  pthread_mutex_unlock(&reader->lock);
  timetable_set_speed(&reader->timetable, speed, platform_now_ns());
  return speed;
}

/* Waits until the frame is due; frames of a realtime source are due at once. Returns 1: the frame is due; 0: the caller
 * drops it, because the reader is paused and the source is realtime; -1: the thread must leave the source. */
static int await_time(struct reader *reader, struct frame *frame) {
  int64_t media_ns = media_time(reader, frame->pts);
  bool paused;
  if (!wait_while_paused(reader, &paused))
    return -1;
  if (reader->info.realtime)
    return !paused || !reader->from_here;
  if (paused)
    reader->timetable.started = false;
  int64_t due_ns;
  do {
    double speed = take_speed(reader);
    due_ns = timetable_due(&reader->timetable, media_ns, platform_now_ns(), reader->info.fps * speed);
    if (!wait_until_due(reader, due_ns))
      return -1;
  } while (platform_now_ns() < due_ns);
  /* The latency of a file's frame counts from the moment when the frame was due, because until then it was held back on
   * purpose. */
  frame->captured_ns = platform_now_ns();
  frame->late_ns = frame->captured_ns - due_ns;
  return 1;
}

/* Updates info from a frame: a stream may change its size, and hardware may hand over to software, at any frame.
 * hardware: name of the hardware that decoded the frame; NULL: software did. The caller holds the lock. */
static void follow_frame(struct reader *reader, const struct frame *frame, const char *hardware) {
  reader->info.hardware = hardware;
  struct source_info info = reader->info;
  if (info.width == frame->width && info.height == frame->height && reader->knows)
    return;
  if (reader->from_here > 1)
    log_line(reader->now.options.log, LOG_INFO, "%s is %dx%d now", reader->now.spec, frame->width, frame->height);
  info.width = frame->width;
  info.height = frame->height;
  info.shape = frame_aspect(frame);
  source_describe(&info);
  note_info(reader, &info);
}

/* Replaces frame->stretch (number of a stretch: frames that follow each other in time), which the source counts from
 * its own beginning, by a number counted over all sources that the reader has opened. */
static void follow_stretch(struct reader *reader, struct frame *frame) {
  if (reader->opened || frame->stretch != reader->own_stretch)
    reader->stretch++;
  reader->opened = false;
  reader->own_stretch = frame->stretch;
  frame->stretch = reader->stretch;
}

/* Returns the position of a frame in its file, in seconds. */
static double place_of(const struct reader *reader, const struct frame *frame) {
  return (double)(frame->pts - reader->round_pts) * source_tick(&reader->info);
}

/* True if the source ends before this frame. The frame is at or after the end set for the source, or begins another
 * pass through a source that ends with the present pass. Also notes where a pass begins. */
static bool is_beyond_end(struct reader *reader, const struct frame *frame) {
  bool round = reader->from_here && !reader->opened && frame->stretch != reader->own_stretch;
  pthread_mutex_lock(&reader->lock);
  double until = reader->info.realtime ? 0 : reader->until;
  bool rounds = reader->rounds;
  pthread_mutex_unlock(&reader->lock);
  if (!reader->from_here || reader->opened)
    reader->round_pts = 0;
  else if (round)
    reader->round_pts = frame->pts;
  double half = source_tick(&reader->info) / 2;
  return (round && !rounds) || (until > 0 && reader->from_here && place_of(reader, frame) >= until - half);
}

/* Puts a frame into the mailbox when the frame is due, or releases it if it is not wanted. hardware: name of the
 * hardware that decoded it; NULL: software did. */
static void deliver(struct reader *reader, struct frame *frame, const char *hardware) {
  be_urgent(reader, !reader->info.realtime || reader->info.hardware);
  bool begins = reader->opened && !reader->now.options.no_fade;
  double place = place_of(reader, frame);
  follow_stretch(reader, frame);
  int wanted = await_time(reader, frame);
  reader->from_here++;
  if (wanted != 1) {
    frame_release(frame);
    return;
  }
  frame->serial = reader->serial++;
  pthread_mutex_lock(&reader->lock);
  follow_frame(reader, frame, hardware);
  reader->status.frames++;
  reader->status.place = place;
  reader->status.moves = reader->from_here > 1;
  pthread_mutex_unlock(&reader->lock);
  outlet_put(&reader->outlet, frame, begins);
  pthread_mutex_lock(&reader->lock);
  /* `given` is set after outlet_put, which begins the fade; otherwise reader_tend could find no fade, and end the
   * previous source at once */
  reader->given = true;
  pthread_mutex_unlock(&reader->lock);
  be_urgent(reader, hardware || reader->ahead);
}

static void found_again(struct reader *reader) {
  reader->retry_ms = RETRY_FIRST_MS;
  if (!reader->status.lost)
    return;
  log_line(reader->now.options.log, LOG_WARNING, "%s is %s", reader->now.spec, reader->from_here ? "back" : "there");
  set_lost(reader, false, "");
}

/* True if a source that cannot be opened is a pipe from which another program has read before (options.begun). It
 * counts as ended, not as failed, because what may remain in the pipe is too little to be seen. Logs err's message. */
static bool had_ended(const struct reader *reader, const struct error *err) {
  bool ended = reader->now.options.begun && pipe_input_is(reader->now.spec);
  if (ended)
    log_line(reader->now.options.log, LOG_INFO, "%s; it has ended", err->message);
  return ended;
}

/* Reads the next frame. If hardware decodes a file, first waits until decoding least delays the engine
 * (timetable_read_at). Returns what source_read returns; 0 also if the thread is to leave the source. *decoder: name of
 * the decoding hardware; NULL: software decoded. */
static int read_frame(struct reader *reader, struct frame *frame, const char **decoder, struct error *err) {
  bool hardware = reader->info.hardware && !reader->info.realtime;
  int64_t at_ns = hardware ? timetable_read_at(&reader->timetable) : 0;
  if (at_ns && !wait_until(reader, at_ns))
    return 0;
  int64_t began_ns = platform_now_ns();
  struct source_info info;
  reader->reading_ns = began_ns;
  int got = reader->ahead ? ahead_read(reader->ahead, frame, &info, err) : source_read(reader->now.source, frame, err);
  reader->reading_ns = 0;
  timetable_note_reading(&reader->timetable, platform_now_ns() - began_ns);
  if (!reader->ahead)
    source_get_info(reader->now.source, &info);
  *decoder = info.hardware;
  return got;
}

/* Starts the thread that reads frames in advance. Called after the first frame was handed on, because a source's sound
 * begins when its second frame is read. Not started for realtime sources, sources that may come back, and pipes that
 * can be read only once (info.passes). If the thread cannot be started, the reader's thread reads each frame itself. */
static void begin_ahead(struct reader *reader) {
  struct source_info info;
  struct error err;
  source_get_info(reader->now.source, &info);
  if (source_is_file(&info) && ahead_start(&reader->ahead, reader->now.source, reader->now.options.urgent, &err))
    log_line(reader->now.options.log, LOG_DEBUG, "%s", err.message);
}

/* Reads the frames of an open source and puts them into the mailbox. Returns 0 if the source has ended or the thread is
 * to leave it, or -1 with err. */
static int read_frames(struct reader *reader, struct error *err) {
  while (!is_told_to_stop(reader)) {
    struct frame frame = {0};
    const char *hardware = NULL;
    int got = read_frame(reader, &frame, &hardware, err);
    bool ends = got == 1 && is_beyond_end(reader, &frame);
    if (is_told_to_stop(reader) || ends) {
      frame_release(&frame);
      if (ends)
        return 0;
    } else if (got == 1) {
      found_again(reader);
      deliver(reader, &frame, hardware);
      if (reader->from_here == 1 && !is_told_to_stop(reader))
        begin_ahead(reader);
    } else if (!reader->info.returns) {
      return got;
    } else {
      if (got == 0)
        error_set(err, STATUS_INPUT, "%s: the stream ended", reader->now.spec);
      if (recover(reader, err))
        return -1;
    }
  }
  return 0;
}

static int read_source(struct reader *reader, struct error *err) {
  if (!reader->now.source && open_source(reader, false, err))
    return had_ended(reader, err) ? 0 : -1;
  int got = read_frames(reader, err);
  ahead_stop(&reader->ahead);
  return got;
}

/* Makes the source in `next` the current one, and returns the former one, which the caller frees after it has released
 * the lock. The caller holds the lock. */
static struct origin begin_next(struct reader *reader) {
  struct origin former = reader->now;
  struct source_info info;
  former.options.until = reader->until;
  reader->now = reader->next;
  reader->next = (struct origin){0};
  reader->has_next = false;
  atomic_store(&reader->away, atomic_load(&reader->stop));
  atomic_store(&reader->cut, atomic_load(&reader->stop));
  reader->status.sources++;
  reader->status.stands = reader->status.picture = reader->status.lost = reader->status.moves = false;
  reader->status.reached = reader->now.source != NULL;
  reader->knows = false;
  timetable_follow(&reader->timetable, reader->next_when == READER_AT_END ? reader->info.fps * reader->speed : 0);
  reader->retry_ms = RETRY_FIRST_MS;
  reader->from_here = 0;
  reader->status.place = reader->now.options.resume;
  reader->until = reader->now.options.until;
  reader->rounds = true;
  reader->given = false;
  if (reader->now.source) {
    reader->opened = true;
    source_get_info(reader->now.source, &info);
    note_info(reader, &info);
  }
  return former;
}

/* Called when another source has begun. If the previous one has not ended, hands it to reader->leaving, which reads it
 * on while it fades out. The caller holds the lock, and closes former->source afterwards if it is not NULL. */
static void read_on(struct reader *reader, struct origin *former) {
  struct source_options options = former->options;
  struct error ignored;
  extra_reader_end(&reader->leaving);
  if (!former->source || source_interrupted(former->source) || !extra_reader_is_free(&reader->leaving))
    return;
  options.stop = former->stop;
  if (!extra_reader_start(&reader->leaving, &former->source, former->spec, &options, reader->outlet.mixer,
                          MIXER_LEAVING, &ignored))
    reader_set_speed(reader->leaving.reader, reader->speed);
}

/* Called when a source has ended or failed. Starts the next source, if there is one, and returns true. Waits for a next
 * source if more may follow (reader_go_on) or the last one gave a single frame. Returns false if the thread must end.
 * got: 0: the source has ended or was left; -1: it failed with err. */
static bool go_on_with_next(struct reader *reader, int got, const struct error *err) {
  struct origin former = {0}, replaced = {0};
  be_urgent(reader, false);
  pthread_mutex_lock(&reader->lock);
  bool is_single = got == 0 && reader->from_here == 1;
  if (got < 0 && (reader->goes_on || reader->has_next))
    log_line(reader->now.options.log, LOG_WARNING, "%s", err->message);
  reader->status.stands = !reader->has_next;
  reader->status.picture = is_single && reader->info.length * fmax(reader->info.fps, 1) < 1.5;
  while (!reader->stop && !reader->has_next && (reader->goes_on || is_single))
    pthread_cond_wait(&reader->changed, &reader->lock);
  bool more = !reader->stop && reader->has_next, left = reader->away;
  if (more) {
    former = begin_next(reader);
    if (left && reader_fades(reader))
      read_on(reader, &former);
    replaced = reader->replaced;
    reader->replaced = (struct origin){0};
    closer_take(&reader->closer, &former);
    closer_take(&reader->closer, &replaced);
  }
  pthread_mutex_unlock(&reader->lock);
  origin_free(&former);
  origin_free(&replaced);
  return more;
}

void *reader_main(void *opaque) {
  struct reader *reader = opaque;
  int got;
  do
    got = read_source(reader, &reader->err);
  while (go_on_with_next(reader, got, &reader->err));
  reader->failed = got < 0 && !reader->stop;
  pthread_mutex_lock(&reader->lock);
  reader->ended = true;
  pthread_cond_broadcast(&reader->changed);
  pthread_mutex_unlock(&reader->lock);
  outlet_end(&reader->outlet);
  return NULL;
}
