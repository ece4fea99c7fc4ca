#include "app/run/pipeline.h"

#include <string.h>

#include "app/flow/queue.h"
#include "unet/base/platform.h"

enum { IN_FLIGHT_MAX = 2 };

struct run {
  const struct pipeline *pipeline;
  struct pipeline_result *result;
  struct queue decoded, made;
  struct sink *sink;
  pthread_t reader, writer;
  bool reading, writing;
  /* Written by the reading or the writing thread, and read by the calling thread after that thread has ended. */
  struct error read_error, write_error;
  bool read_failed, write_failed, whole;
  int64_t end; /* largest end time of the frames that were read, in units of pts; 0: unknown */
  long written;
  /* Used by the calling thread alone, which calls the engine. */
  int in_flight_max;
  struct controls last; /* controls of the last frame submitted, used again to empty the stream batch */
  /* frame.stretch of the last frame submitted; it differs in the next frame if that does not follow in time */
  uint64_t stretch;
  int batch; /* number of frames that are submitted together in one run of the engine */
  long submitted, collected;
  int64_t started_ns, last_ns;
  double time_base; /* seconds per unit of pts */
};

static void *read_frames(void *opaque) {
  struct run *run = opaque;
  const struct pipeline *pipeline = run->pipeline;
  for (long count = 0; !pipeline->frames || count < pipeline->frames; count++) {
    struct frame frame;
    int64_t begin = platform_now_ns();
    int got = source_read(pipeline->source, &frame, &run->read_error);
    run->whole = got == 0 && !source_interrupted(pipeline->source);
    run->read_failed = got < 0;
    if (got > 0 && frame.duration > 0 && frame.pts + frame.duration > run->end)
      run->end = frame.pts + frame.duration;
    trace_add(pipeline->trace, TRACK_CAPTURE, "capture", count, begin, platform_now_ns());
    if (got <= 0 || !queue_put(&run->decoded, &frame))
      break;
    if (count + 1 == pipeline->frames)
      run->read_failed = source_check(pipeline->source, &run->read_error) < 0;
  }
  struct source_info info;
  source_get_info(pipeline->source, &info);
  if (run->whole && info.end > run->end)
    run->end = info.end;
  /* After an interrupt the frames in the queue are dropped, so that the user does not wait for them. */
  if (source_interrupted(pipeline->source)) {
    run->end = 0;
    queue_abort(&run->decoded);
  } else
    queue_close(&run->decoded);
  return NULL;
}

static void *write_frames(void *opaque) {
  struct run *run = opaque;
  struct frame picture;
  while (queue_take(&run->made, &picture)) {
    int64_t begin = platform_now_ns();
    run->write_failed = sink_write(run->sink, &picture, &run->write_error) < 0;
    frame_release(&picture);
    trace_add(run->pipeline->trace, TRACK_PRESENT, "present", run->written, begin, platform_now_ns());
    if (run->write_failed) {
      queue_abort(&run->made);
      break;
    }
    run->written++;
  }
  return NULL;
}

static int start(pthread_t *thread, bool *running, void *(*function)(void *), struct run *run, struct error *err) {
  if (pthread_create(thread, NULL, function, run))
    return error_set(err, STATUS_FAILED, "no thread can be started");
  *running = true;
  return 0;
}

/* Fills the engine's request and the controls for one frame. Returns 0, or -1 with err. */
static int ask(const struct run *run, const struct frame *frame, struct controls *controls,
               struct engine_request *request, struct error *err) {
  const struct pipeline *pipeline = run->pipeline;
  double seconds = (double)frame->pts * run->time_base;
  *request = (struct engine_request){.prepared = pipeline->prepared,
                                     .controls = controls,
                                     .frame = frame,
                                     .restart = frame->stretch != run->stretch,
                                     .identity = frame_identity(frame)};
  if (pipeline->controls_at(pipeline->opaque, seconds, controls, err))
    return -1;
  return pipeline->before ? pipeline->before(pipeline->opaque, request, seconds, err) : 0;
}

/* Submits one run of the engine with `count` frames. Returns 0, or -1 with err. */
static int submit(struct run *run, const struct frame *frames, int count, struct error *err) {
  struct controls controls[BATCH_MAX];
  struct engine_request requests[BATCH_MAX];
  for (int i = 0; i < count; i++) {
    if (ask(run, &frames[i], &controls[i], &requests[i], err))
      return -1;
    requests[i].next = i + 1 < count ? &requests[i + 1] : NULL;
  }
  int64_t begin = platform_now_ns();
  if (engine_submit(run->pipeline->engine, &requests[0], err))
    return -1;
  run->last = controls[count - 1];
  run->stretch = frames[count - 1].stretch;
  trace_add(run->pipeline->trace, TRACK_ENGINE, "submit", run->submitted, begin, platform_now_ns());
  run->submitted += count;
  return 0;
}

/* Submits a run without a new frame, which advances the frames in the stream batch by one step. */
static int drain(struct run *run, struct error *err) {
  const struct pipeline *pipeline = run->pipeline;
  const struct engine_request request = {.prepared = pipeline->prepared, .controls = &run->last, .drain = true};
  return engine_submit(pipeline->engine, &request, err);
}

/* Returns the engine's time for a run in ms, divided by the number of pictures that the run gave. */
static double share_ms(const struct run *run, const struct engine_result *first) {
  int64_t begin = run->last_ns > first->submitted_ns ? run->last_ns : first->submitted_ns;
  return (double)(first->finished_ns - begin) * 1e-6 / (first->left + 1);
}

static void account(struct run *run, const struct engine_result *made, double ms) {
  struct pipeline_result *result = run->result;
  stats_add(&result->frame_ms, ms);
  if (!run->collected)
    result->first_frame_ms = (double)(made->finished_ns - run->started_ns) * 1e-6;
  run->last_ns = made->finished_ns;
  run->collected++;
  const struct pipeline_progress progress = {run->collected, (double)(made->finished_ns - run->started_ns) * 1e-9};
  if (run->pipeline->progress)
    run->pipeline->progress(run->pipeline->opaque, &progress);
}

static void trace_collect(const struct run *run, int64_t begin_ns, const struct engine_result *made) {
  struct trace *trace = run->pipeline->trace;
  const struct run_stamps *stamps = &made->stamps;
  trace_add(trace, TRACK_ENGINE, "wait for the picture", run->collected, begin_ns, made->finished_ns);
  trace_add(trace, TRACK_UPLOAD, "upload", run->collected, stamps->upload_ns, stamps->uploaded_ns);
  trace_add(trace, TRACK_GRAPH, "graph", run->collected, stamps->begun_ns, stamps->computed_ns);
  if (stamps->downloaded_ns)
    trace_add(trace, TRACK_DOWNLOAD, "download", run->collected, stamps->computed_ns, stamps->downloaded_ns);
}

/* Takes the pictures of the oldest run from the engine, and puts them into the writer's queue. Returns 0, 1 if the
 * writer has failed, or -1 with err if the engine has. */
static int collect(struct run *run, struct error *err) {
  struct engine_result made = {.left = 1};
  double ms = -1;
  while (made.left) {
    int64_t begin = platform_now_ns();
    if (engine_collect(run->pipeline->engine, &made, err))
      return -1;
    if (made.pending)
      return 0;
    if (ms < 0) {
      ms = share_ms(run, &made);
      trace_collect(run, begin, &made);
    }
    account(run, &made, ms);
    if (!queue_put(&run->made, &made.picture))
      return 1;
  }
  return 0;
}

/* Takes decoded frames until there are `batch` of them; `count` are in the array already. Returns their number, which
 * is less than `batch` when the source has ended. */
static int take_frames(struct run *run, struct frame frames[BATCH_MAX], int count) {
  while (count < run->batch && queue_take(&run->decoded, &frames[count]))
    count++;
  return count;
}

static void begin(struct run *run) {
  struct engine_info info;
  struct prepared_info prepared;
  struct source_info source;
  engine_get_info(run->pipeline->engine, &info);
  prepared_get_info(run->pipeline->prepared, &prepared);
  source_get_info(run->pipeline->source, &source);
  run->in_flight_max = info.depth < IN_FLIGHT_MAX ? info.depth : IN_FLIGHT_MAX;
  run->batch = prepared.shape.batch > 1 ? prepared.shape.batch : 1;
  run->time_base = source_tick(&source);
  run->started_ns = run->last_ns = platform_now_ns();
}

static int collect_if_full(struct run *run, struct error *err) {
  return engine_in_flight(run->pipeline->engine) == run->in_flight_max ? collect(run, err) : 0;
}

/* Submits frames and collects pictures, on the calling thread. Returns -1 on failure; 0 otherwise, even if the writer
 * has failed. */
static int make_pictures(struct run *run, struct frame *first, struct error *err) {
  struct frame frames[BATCH_MAX] = {*first};
  int state = 0;
  begin(run);
  for (int count = take_frames(run, frames, 1); count; count = state ? 0 : take_frames(run, frames, 0)) {
    state = submit(run, frames, count, err);
    for (int i = 0; i < count; i++)
      frame_release(&frames[i]);
    if (!state)
      state = collect_if_full(run, err);
  }
  while (!state && engine_under_way(run->pipeline->prepared)) {
    state = drain(run, err);
    if (!state)
      state = collect_if_full(run, err);
  }
  while (engine_in_flight(run->pipeline->engine) && !state)
    state = collect(run, err);
  return state < 0 ? -1 : 0;
}

static void join(struct run *run) {
  queue_close(&run->made);
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
  if (start(&run->reader, &run->reading, read_frames, run, err))
    return -1;
  struct frame first;
  if (!queue_take(&run->decoded, &first))
    return 0;
  if (pipeline->open_sink(pipeline->opaque, &run->sink, err) ||
      start(&run->writer, &run->writing, write_frames, run, err)) {
    frame_release(&first);
    return -1;
  }
  return make_pictures(run, &first, err);
}

/* Appends to a write error's message how many frames of the incomplete file can be played. */
static void say_kept(const struct sink *sink, struct error *err) {
  const struct error failed = *err;
  long kept = sink_pictures(sink);
  if (kept == 0)
    error_set(err, failed.status, "%s; no frame is in it", failed.message);
  else if (kept > 0)
    error_set(err, failed.status, "%s; %ld frame%s in it", failed.message, kept, kept == 1 ? " is" : "s are");
}

int pipeline_run(const struct pipeline *pipeline, struct pipeline_result *result, struct error *err) {
  *result = (struct pipeline_result){0};
  struct run run = {.pipeline = pipeline, .result = result};
  queue_init(&run.decoded, PIPELINE_DEPTH);
  queue_init(&run.made, PIPELINE_DEPTH);
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
  /* The file is completed even after a failure. */
  struct error finish_error;
  if (run.sink && run.end && !run.read_failed)
    sink_set_end(run.sink, run.end);
  if (run.sink && sink_finish(run.sink, result->whole, &finish_error) && !status) {
    *err = finish_error;
    status = -1;
  }
  if (run.sink && status && err->status == STATUS_OUTPUT)
    say_kept(run.sink, err);
  if (run.started_ns)
    result->seconds = (double)(platform_now_ns() - run.started_ns) * 1e-9;
  sink_close(&run.sink);
  queue_free(&run.decoded);
  queue_free(&run.made);
  return status;
}
