#include "app/run/output.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>

#include "app/flow/wait.h"
#include "app/platform/app_platform.h"
#include "app/sink/target.h"
#include "unet/base/platform.h"

enum { RETRY_MOST = 32 };

/* If the receiver of a stream takes no data for this many seconds, it counts as gone. */
static const double patience_s = 10;
/* Units per second of a recording's time stamps: fine enough for any display's clock, and small enough for MP4's time
 * scale. */
static const int microseconds = 1000000;
/* If the last picture of a recording was shown for at least this many ns, it is written again with the time of its end;
 * otherwise a player would show it only for a moment. */
static const int64_t stood_ns = SECOND;
/* interval in ns at which the last picture is written again while there is no new one, so that the file still gets the
 * microphone's sound */
static const int64_t again_ns = SECOND / 5;

PRINTF_LIKE(3, 4) static void tell(struct output *output, enum log_level level, const char *format, ...);

/* Stores a message for the user in output->line, which the window's thread reads. An unread message is overwritten. */
static void tell(struct output *output, enum log_level level, const char *format, ...) {
  va_list args;
  va_start(args, format);
  pthread_mutex_lock(&output->lock);
  output->level = level;
  vsnprintf(output->line, sizeof output->line, format, args);
  pthread_mutex_unlock(&output->lock);
  va_end(args);
}

static bool is_ending(struct output *output) {
  pthread_mutex_lock(&output->lock);
  bool ending = output->ending;
  pthread_mutex_unlock(&output->lock);
  return ending;
}

/* Waits for the next picture and moves it from the queue to output->last. most_ns: longest wait; 0: no limit. *fresh:
 * true if there was a new picture. Returns false if no more pictures will come. */
static bool take_next(struct output *output, int64_t most_ns, bool *fresh) {
  int64_t until_ns = platform_now_ns() + most_ns;
  struct timespec deadline = wait_deadline(until_ns);
  pthread_mutex_lock(&output->lock);
  while (!output->count && !output->ending && !(most_ns && platform_now_ns() >= until_ns))
    if (most_ns)
      pthread_cond_timedwait(&output->changed, &output->lock, &deadline);
    else
      pthread_cond_wait(&output->changed, &output->lock);
  bool got = *fresh = output->count, go_on = got || !output->ending;
  if (got) {
    covered_release(&output->last.covered);
    output->last = output->queue[output->first];
    output->first = (output->first + 1) % OUTPUT_QUEUE;
    output->count--;
  }
  pthread_mutex_unlock(&output->lock);
  return go_on;
}

/* Sleeps until until_ns (on the clock of platform_now_ns). Returns true; or false, possibly before that time, if the
 * output has to end. */
static bool wait_until(struct output *output, int64_t until_ns) {
  struct timespec deadline = wait_deadline(until_ns);
  pthread_mutex_lock(&output->lock);
  while (!output->ending && platform_now_ns() < until_ns)
    pthread_cond_timedwait(&output->changed, &output->lock, &deadline);
  bool go_on = !output->ending;
  pthread_mutex_unlock(&output->lock);
  return go_on;
}

static double rate_shown(struct output *output) {
  pthread_mutex_lock(&output->lock);
  double interval_ns = output->interval_ns;
  pthread_mutex_unlock(&output->lock);
  return interval_ns > 0 ? fmin(SECOND / interval_ns, 1000) : USUAL_FPS;
}

/* Opens the named pipe output->spec for writing, so that FFmpeg writes to the open descriptor. Does not wait for a
 * reader. Returns 0, or -1 with err, also if nobody has the pipe open for reading. */
static int open_pipe(struct output *output, struct sink_options *options, struct error *err) {
  struct target target;
  if (target_choose(&target, output->spec, options->container, err))
    return -1;
  output->descriptor = platform_open_pipe_to_write(output->spec);
  if (output->descriptor < 0)
    return error_set(err, STATUS_OUTPUT, "%s: cannot be written: %s", output->spec,
                     errno == ENXIO ? "nobody reads it" : strerror(errno));
  options->container = target.container->name;
  options->name = output->spec;
  snprintf(output->pipe_name, sizeof output->pipe_name, "pipe:%d", output->descriptor);
  return 0;
}

static int open_sink(struct output *output, struct error *err) {
  const struct frame *frame = &output->last.covered.picture;
  bool recording = output->kind == OUTPUT_RECORDING;
  struct source_options no_source = {0};
  struct platform_entry entry;
  struct sink_options options = {
      .format = frame->format,
      .width = frame->width,
      .height = frame->height,
      .time_base_num = 1,
      .time_base_den = recording ? microseconds : output->fps,
      .fps = recording ? rate_shown(output) : output->fps,
      .codec = output->codec,
      .quality = output->quality,
      .pixel_format = output->pixel_format,
      .encoder_options = output->encoder_options,
      .realtime = true,
      .sound_options = &no_source,
      .tap = recording ? output->tap : NULL,
      .tap_by_clock = output->tap_by_clock,
      .patience = patience_s,
      /* `stop` interrupts the sink at once. A stream may end in this way, but a recording must first write the pictures
       * in its queue */
      .stop = recording ? NULL : &output->stop,
      .log = output->tries++ ? NULL : output->log,
  };
  bool named_pipe = !platform_look(&entry, output->spec) && entry.kind == ENTRY_PIPE;
  output->last_pts = -1;
  if (named_pipe && open_pipe(output, &options, err))
    return -1;
  return sink_open(&output->sink, named_pipe ? output->pipe_name : output->spec, &options, err);
}

static int write_at(struct output *output, int64_t pts, struct error *err) {
  struct frame frame;
  if (cover_pixels_apply(&output->cover_pixels, &output->last.covered, &frame, err))
    return -1;
  frame.pts = pts > output->last_pts ? pts : output->last_pts + 1;
  output->last_pts = frame.pts;
  /* the numbers of the source's frames have no meaning in a recording, which repeats and drops pictures */
  frame.numbered = false;
  int status = sink_write(output->sink, &frame, err);
  frame_release(&frame);
  if (status)
    return -1;
  pthread_mutex_lock(&output->lock);
  output->written++;
  pthread_mutex_unlock(&output->lock);
  return 0;
}

static int64_t since_first(const struct output *output, int64_t at_ns) {
  return (at_ns - output->first_ns) / (SECOND / microseconds);
}

/* Sets output->written to the number of pictures that are in the file, which may be less than the number given to the
 * sink. Leaves it unchanged if the sink does not know. */
static void count_pictures(struct output *output) {
  long kept = sink_pictures(output->sink);
  pthread_mutex_lock(&output->lock);
  if (kept >= 0)
    output->written = kept;
  pthread_mutex_unlock(&output->lock);
}

static int close_sink(struct output *output, struct error *err) {
  int status = output->sink ? sink_finish(output->sink, true, err) : 0;
  if (output->sink && output->kind == OUTPUT_RECORDING)
    count_pictures(output);
  sink_close(&output->sink);
  if (output->descriptor >= 0)
    platform_close_descriptor(output->descriptor);
  output->descriptor = -1;
  return status;
}

static int keep_standing_time(struct output *output, struct error *err) {
  pthread_mutex_lock(&output->lock);
  int64_t ended_ns = output->ended_ns;
  pthread_mutex_unlock(&output->lock);
  if (!output->sink || ended_ns - output->last.shown_ns < stood_ns)
    return 0;
  return write_at(output, since_first(output, ended_ns), err);
}

/* Writes output->last to the recording with the time stamp that follows from shown_ns, the time when it was shown.
 * Returns 0, or -1 with err. */
static int record_picture(struct output *output, int64_t shown_ns, struct error *err) {
  const struct frame *picture = &output->last.covered.picture;
  output->recorded_ns = shown_ns > output->recorded_ns ? shown_ns : output->recorded_ns;
  int64_t shown = since_first(output, output->recorded_ns);
  int64_t position = output->tap_by_clock ? heard_with(&output->heard, picture, output->recorded_ns) : picture->pts;
  sink_place_sound(output->sink, position, (double)shown / microseconds);
  return write_at(output, shown, err);
}

static void record(struct output *output) {
  struct error err, later;
  int status = 0;
  bool fresh;
  while (!status && take_next(output, output->sink && output->tap_by_clock ? again_ns : 0, &fresh)) {
    if (!output->sink) {
      output->first_ns = output->last.shown_ns;
      status = open_sink(output, &err);
    }
    if (!status)
      status = record_picture(output, fresh ? output->last.shown_ns : platform_now_ns(), &err);
  }
  if (!status)
    status = keep_standing_time(output, &err);
  if (close_sink(output, &later) && !status) {
    err = later;
    status = -1;
  }
  pthread_mutex_lock(&output->lock);
  output->ending = true;
  output->broken = status;
  if (status)
    snprintf(output->why, sizeof output->why, "%.*s", OUTPUT_WHY_MAX - 1, err.message);
  long written = output->written, dropped = output->dropped;
  pthread_mutex_unlock(&output->lock);
  if (status)
    tell(output, LOG_WARNING, "%s; the recording ends after %ld picture%s", err.message, written,
         written == 1 ? "" : "s");
  else
    tell(output, LOG_INFO, "%s: %ld picture%s, %ld dropped", output->spec, written, written == 1 ? "" : "s", dropped);
}

/* Tells the user that a stream works again after a failure. lasted_ns: how long in ns the stream has been open again.
 * Nothing is reported before retry_ms have passed, because the stream may soon fail again. */
static void tell_when_back(struct output *output, int64_t lasted_ns) {
  if (lasted_ns < (int64_t)output->retry_ms * 1000000)
    return;
  pthread_mutex_lock(&output->lock);
  bool failing = output->failing;
  output->failing = false;
  pthread_mutex_unlock(&output->lock);
  if (failing)
    tell(output, LOG_WARNING, "%s: is sent to again", target_name(output->spec));
}

/* Writes pictures to the open stream at its constant rate; the last one is repeated if there is no new one. Returns 0
 * when the output has to end, -1 with err if writing failed. */
static int send_pictures(struct output *output, struct error *err) {
  int64_t begun_ns = platform_now_ns(), tick = 0;
  do {
    pthread_mutex_lock(&output->lock);
    bool fresh = output->count;
    pthread_mutex_unlock(&output->lock);
    if (fresh)
      take_next(output, 0, &fresh);
    if (write_at(output, tick, err))
      return -1;
    int64_t lasted_ns = platform_now_ns() - begun_ns, passed = lasted_ns * output->fps / SECOND;
    tell_when_back(output, lasted_ns);
    tick = passed > tick ? passed : tick + 1;
  } while (wait_until(output, begun_ns + tick * SECOND / output->fps));
  return 0;
}

/* Opens the stream and writes pictures to it. Returns 0 when the output has to end, -1 with err on failure. */
static int try_stream(struct output *output, struct error *err) {
  struct error ignored;
  int status = open_sink(output, err);
  if (!status)
    status = send_pictures(output, err);
  int closed = close_sink(output, status ? &ignored : err);
  return status ? status : closed;
}

/* Tells the user about a stream's failure, except repeated failures before the stream works again. Returns true if this
 * is such a repetition. */
static bool note_failure(struct output *output, const struct error *err) {
  pthread_mutex_lock(&output->lock);
  bool known = output->failing;
  output->failing = true;
  pthread_mutex_unlock(&output->lock);
  if (!known)
    tell(output, LOG_WARNING, "%s; %s", err->message, output->once ? "nothing more is sent" : "trying again");
  return known;
}

static void stream(struct output *output) {
  int64_t pauses = 1;
  struct error err;
  bool fresh;
  if (!take_next(output, 0, &fresh))
    return;
  while (try_stream(output, &err) && !is_ending(output)) {
    bool known = note_failure(output, &err);
    pauses = !known ? 1 : pauses * 2 < RETRY_MOST ? pauses * 2 : RETRY_MOST;
    if (output->once || !wait_until(output, platform_now_ns() + pauses * output->retry_ms * 1000000))
      break;
  }
}

void *output_main(void *opaque) {
  struct output *output = opaque;
  if (output->kind == OUTPUT_RECORDING)
    record(output);
  else
    stream(output);
  covered_release(&output->last.covered);
  cover_pixels_free(&output->cover_pixels);
  pthread_mutex_lock(&output->lock);
  output->ending = true;
  output->through = true;
  pthread_mutex_unlock(&output->lock);
  return NULL;
}
