#include "app/run/pipeline.h"

#include <stdio.h>

#include "app/run/pipeline_impl.h"
#include "unet/base/platform.h"

/* Puts a frame into the queue before the engines, and adds up, for the statistics, how long the reading thread has
 * waited for room in the queue. Returns false if the queue is closed. */
static bool put_decoded(struct run *run, const struct frame *frame) {
  int64_t begin = platform_now_ns();
  bool put = queue_put(&run->decoded, frame);
  run->read_waited_ns += platform_now_ns() - begin;
  return put;
}

static void *read_frames(void *opaque) {
  struct run *run = opaque;
  const struct pipeline *pipeline = run->pipeline;
  int64_t begun = platform_now_ns();
  for (long count = 0; !pipeline->frames || count < pipeline->frames; count++) {
    struct frame frame;
    int64_t begin = platform_now_ns();
    int got = source_read(pipeline->source, &frame, &run->read_error);
    run->whole = got == 0 && !source_interrupted(pipeline->source);
    run->read_failed = got < 0;
    if (got > 0 && frame.duration > 0 && frame.pts + frame.duration > run->end)
      run->end = frame.pts + frame.duration;
    trace_add(pipeline->trace, TRACK_CAPTURE, "capture", count, begin, platform_now_ns());
    if (got <= 0 || !put_decoded(run, &frame))
      break;
    if (count + 1 == pipeline->frames)
      run->read_failed = source_check(pipeline->source, &run->read_error) < 0;
  }
  run->read_ns = platform_now_ns() - begun;
  struct source_info info;
  source_get_info(pipeline->source, &info);
  if (run->whole && info.end > run->end)
    run->end = info.end;
  /* After an interrupt, frames that are still in the queue are dropped, so that the user need not wait for them. */
  run->interrupted = source_interrupted(pipeline->source);
  if (run->interrupted) {
    run->end = 0;
    queue_abort(&run->decoded);
  } else
    queue_close(&run->decoded);
  return NULL;
}

/* Takes the next picture, and adds the time for which the writing thread waited for it. Returns false if no more
 * pictures come. */
static bool take_made(struct run *run, struct frame *picture) {
  int64_t begin = platform_now_ns();
  bool got = in_order_take(&run->made, picture);
  run->write_waited_ns += platform_now_ns() - begin;
  return got;
}

static void *write_frames(void *opaque) {
  struct run *run = opaque;
  struct frame picture;
  int64_t begun = platform_now_ns();
  while (take_made(run, &picture)) {
    int64_t begin = platform_now_ns();
    run->write_failed = sink_write(run->sink, &picture, &run->write_error) < 0;
    frame_release(&picture);
    trace_add(run->pipeline->trace, TRACK_PRESENT, "present", run->written, begin, platform_now_ns());
    if (run->write_failed) {
      in_order_end(&run->made, 0);
      queue_abort(&run->decoded);
      break;
    }
    run->written++;
  }
  run->write_ns = platform_now_ns() - begun;
  return NULL;
}

int pipeline_start(pthread_t *thread, bool *running, void *(*function)(void *), void *opaque, struct error *err) {
  if (pthread_create(thread, NULL, function, opaque))
    return error_set(err, STATUS_FAILED, "no thread can be started");
  *running = true;
  return 0;
}

/* --- starting the threads, waiting for their end, and the results --- */

static void join(struct run *run) {
  in_order_end(&run->made, run->dealt);
  if (run->writing)
    pthread_join(run->writer, NULL);
  queue_abort(&run->decoded);
  if (run->reading) {
    source_interrupt(run->pipeline->source);
    pthread_join(run->reader, NULL);
  }
}

static int run_all(struct run *run, struct error *err) {
  const struct pipeline *pipeline = run->pipeline;
  if (pipeline_start(&run->reader, &run->reading, read_frames, run, err))
    return -1;
  struct frame first;
  if (!queue_take(&run->decoded, &first))
    return 0;
  if (pipeline->open_sink(pipeline->opaque, &run->sink, err) ||
      pipeline_start(&run->writer, &run->writing, write_frames, run, err)) {
    frame_release(&first);
    return -1;
  }
  return pipeline_make_pictures(run, &first, err);
}

static double part(int64_t waited_ns, int64_t all_ns) {
  return all_ns > 0 ? 1 - (double)waited_ns / (double)all_ns : 0;
}

/* Computes for each stage (decoder, engines, encoder) the fraction of time, from 0 to 1, in which it did not wait for
 * another stage. */
static void find_busy(const struct run *run, double busy[PIPELINE_STAGES]) {
  int count = run->pipeline->engines->count;
  busy[STAGE_DECODER] = part(run->read_waited_ns, run->read_ns);
  busy[STAGE_ENCODER] = part(run->write_waited_ns, run->write_ns);
  busy[STAGE_ENGINES] = 0;
  for (int i = 0; i < count && run->started_ns; i++)
    busy[STAGE_ENGINES] += part(run->workers[i].waited_ns, run->workers[i].ended_ns - run->started_ns) / count;
}

enum pipeline_stage pipeline_limit(const struct pipeline_result *result) {
  enum pipeline_stage limit = STAGE_ENGINES;
  for (enum pipeline_stage i = 0; i < PIPELINE_STAGES; i++)
    if (result->busy[i] > result->busy[limit])
      limit = i;
  return limit;
}

/* Adds to the message of a write error how many frames of the incomplete file can be played. */
static void say_kept(const struct sink *sink, struct error *err) {
  const struct error failed = *err;
  long kept = sink_pictures(sink);
  const char *part = sink_part(sink);
  if (kept == 0)
    error_set(err, failed.status, "%s; no frame is in it", failed.message);
  else if (kept > 0)
    error_set(err, failed.status, "%s; %ld frame%s in %s", failed.message, kept, kept == 1 ? " is" : "s are",
              part ? part : "it");
}

/* Returns how many frames the output has. ended: true: the sink has finished without an error, and is asked; false: the
 * output is not read again, and all written pictures count. */
static long count_in_output(const struct run *run, bool ended) {
  long frames = run->sink && ended ? sink_pictures(run->sink) : -1;
  return frames >= 0 ? frames : run->written;
}

int pipeline_run(const struct pipeline *pipeline, struct pipeline_result *result, struct error *err) {
  *result = (struct pipeline_result){0};
  struct run run = {.pipeline = pipeline, .result = result};
  queue_init(&run.decoded, PIPELINE_DEPTH);
  in_order_init(&run.made, pipeline_room(pipeline->engines->count));
  pthread_mutex_init(&run.dealing, NULL);
  pthread_mutex_init(&run.counting, NULL);
  int status = run_all(&run, err);
  join(&run);
  if (!status && run.write_failed) {
    *err = run.write_error;
    status = -1;
  }
  if (!status && run.read_failed) {
    *err = run.read_error;
    status = -1;
  }
  result->whole = run.whole && !status;
  result->written = run.written;
  find_busy(&run, result->busy);
  /* Even after a failure the sink is finished, so that what was written can be played. */
  struct error finish_error;
  if (run.sink && run.end && !run.read_failed)
    sink_set_end(run.sink, run.end);
  if (run.sink && (status ? err->status != STATUS_INPUT : run.interrupted))
    sink_set_broken(run.sink);
  if (run.sink && sink_finish(run.sink, result->whole, &finish_error) && !status) {
    *err = finish_error;
    status = -1;
  }
  if (run.sink && status && err->status == STATUS_OUTPUT)
    say_kept(run.sink, err);
  result->in_output = count_in_output(&run, !status || err->status == STATUS_INPUT);
  if (run.sink && sink_part(run.sink))
    snprintf(result->part, sizeof result->part, "%s", sink_part(run.sink));
  if (run.started_ns)
    result->seconds = (double)(platform_now_ns() - run.started_ns) * 1e-9;
  sink_close(&run.sink);
  if (run.has_first)
    frame_release(&run.first);
  queue_free(&run.decoded);
  in_order_free(&run.made);
  pthread_mutex_destroy(&run.dealing);
  pthread_mutex_destroy(&run.counting);
  return status;
}
