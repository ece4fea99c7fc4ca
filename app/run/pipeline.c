#include "app/run/pipeline.h"

#include <stdio.h>
#include <string.h>

#include "app/flow/in_order.h"
#include "app/flow/queue.h"
#include "unet/base/platform.h"

enum { IN_FLIGHT_MAX = 2 };

struct run;

/* A thread that gives frames to one engine and takes its pictures. The first worker is the thread that called
 * pipeline_run. */
struct worker {
  struct run *run;
  int index;
  struct engine *engine;
  struct prepared *prepared;
  pthread_t thread;
  bool running; /* true: `thread` was started; false: this is the first worker, or it was not started yet */
  /* The following fields are used by the worker's own thread alone. */
  int in_flight_max;
  /* controls of the last frame submitted; used again at the end, in runs without a new frame that finish the stream
   * batch */
  struct controls last;
  int64_t last_ns;   /* time when the worker's last picture was finished */
  int64_t waited_ns; /* time in ns for which the worker waited for frames, or for room in the queue before the sink */
  int64_t ended_ns;
};

struct run {
  const struct pipeline *pipeline;
  struct pipeline_result *result;
  struct queue decoded;
  struct in_order made;
  struct sink *sink;
  pthread_t reader, writer;
  bool reading, writing;
  /* The following fields are written by the thread that reads frames or by the one that writes pictures. The calling
   * thread reads them when that thread has ended. */
  struct error read_error, write_error;
  bool read_failed, write_failed, whole;
  bool interrupted; /* true: the user has interrupted the render before all wanted frames were read */
  int64_t end;      /* latest end time of the frames that were read, in units of pts; 0: unknown */
  long written;
  /* Times in ns of the thread that reads the source and of the one that writes to the sink: how long each waited for
   * the engines (..._waited_ns), and how long it ran in all. */
  int64_t read_waited_ns, read_ns, write_waited_ns, write_ns;

  /* The following fields are set before the workers begin. Then only a worker's own element of workers[] changes. */
  struct worker workers[ENGINES_MAX];
  int batch; /* number of frames that an engine takes at once, in one run */
  int64_t started_ns;
  double time_base; /* seconds per unit of pts */

  /* Lock that is held while a worker takes the frames of its next run and calls functions of struct pipeline for them;
   * protects the following fields. */
  pthread_mutex_t dealing;
  /* frame.stretch of the frame that a worker took last; the next frame has another value if it does not continue that
   * one, for example after a loop of the file */
  uint64_t stretch;
  long dealt;         /* number of frames that workers have taken so far; the next picture gets this number */
  struct frame first; /* the first frame, which was read before the workers began, until a worker takes it */
  bool has_first;

  /* Lock that is held while results are counted; protects the following fields. */
  pthread_mutex_t counting;
  long collected;
  int64_t ended_ns; /* time when the last picture was finished */
  bool failed;      /* true: an engine has failed; `error` says why */
  struct error error;
};

/* The frames of an engine's next run, with controls and requests, before they are submitted. */
struct deal {
  int count;
  long number; /* number, from 0 over the whole render, of the picture of frames[0] */
  struct frame frames[BATCH_MAX];
  /* references to the frames that ControlNets read, which keep their pixels in memory (engine_request.control_frame) */
  struct frame held[BATCH_MAX];
  struct frame seen[BATCH_MAX]; /* copies of the structs of the frames for ControlNets; the engine's requests point to
                                 * these copies */
  struct controls controls[BATCH_MAX];
  struct engine_request requests[BATCH_MAX];
};

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

static int start(pthread_t *thread, bool *running, void *(*function)(void *), void *opaque, struct error *err) {
  if (pthread_create(thread, NULL, function, opaque))
    return error_set(err, STATUS_FAILED, "no thread can be started");
  *running = true;
  return 0;
}

/* --- taking the frames of a worker's next run --- */

/* Converts a picture's number to a value for engine_request.opaque; number_of converts it back. The value is never
 * NULL, because NULL marks a run without a picture. */
static void *mark_of(long number) {
  return (void *)(intptr_t)(number + 1);
}

/* Returns the number of the picture that the engine gave, or of the one that was due if it gave none or failed. With
 * several engines made->opaque has the number. With a single engine pictures are counted, because in a stream batch
 * made->opaque belongs to a later frame. */
static long number_of(const struct run *run, const struct engine_result *made) {
  bool counted = run->pipeline->engines->count == 1 || !made->opaque;
  return counted ? run->collected : (long)(intptr_t)made->opaque - 1;
}

/* Fills the engine's request and the controls for one frame. Returns 0, or -1 with err. */
static int fill(const struct worker *worker, const struct frame *frame, struct controls *controls,
                struct engine_request *request, struct error *err) {
  const struct run *run = worker->run;
  const struct pipeline *pipeline = run->pipeline;
  double seconds = (double)frame->pts * run->time_base;
  *request = (struct engine_request){.prepared = worker->prepared,
                                     .controls = controls,
                                     .frame = frame,
                                     .restart = frame->stretch != run->stretch,
                                     .identity = frame_identity(frame)};
  if (pipeline->controls_at(pipeline->opaque, worker->engine, seconds, controls, err))
    return -1;
  return pipeline->before ? pipeline->before(pipeline->opaque, worker->engine, request, seconds, err) : 0;
}

/* Fills the engine's request for the frame that was just stored at deal->frames[deal->count], and increments count.
 * Returns 0, or -1 with err. */
static int ask(const struct worker *worker, struct deal *deal, struct error *err) {
  int i = deal->count++;
  struct engine_request *request = &deal->requests[i];
  if (fill(worker, &deal->frames[i], &deal->controls[i], request, err))
    return -1;
  request->opaque = mark_of(deal->number + i);
  if (i)
    deal->requests[i - 1].next = request;
  if (request->control_frame) {
    deal->held[i] = frame_hold(request->control_frame);
    deal->seen[i] = *request->control_frame;
    request->control_frame = &deal->seen[i];
  }
  return 0;
}

static void deal_release(struct deal *deal) {
  for (int i = 0; i < BATCH_MAX; i++) {
    frame_release(&deal->frames[i]);
    frame_release(&deal->held[i]);
  }
}

/* Takes the next decoded frame, and adds the time for which the worker waited for it. Returns false if no more frames
 * come. */
static bool take_frame(struct worker *worker, struct frame *frame) {
  struct run *run = worker->run;
  bool got = run->has_first;
  int64_t begin = platform_now_ns();
  if (got)
    *frame = run->first;
  run->has_first = false;
  got = got || queue_take(&run->decoded, frame);
  worker->waited_ns += platform_now_ns() - begin;
  return got;
}

/* Result of a step of a worker's thread. The worker continues (GOES_ON), or it ends: because the source has no more
 * frames (ENDED), because no more pictures are wanted after a failure elsewhere (UNWANTED), or because of an error
 * (FAILED). */
enum state { GOES_ON, ENDED /* no frame is left */, UNWANTED /* no more pictures are wanted */, FAILED };

static enum state collect(struct worker *worker);

/* Lets the engine compute only the motion of a frame whose picture is left out, because later pictures need it. First
 * collects all pictures of earlier frames. Called only if there is a single engine. Returns FAILED with err after an
 * error. */
static enum state follow(struct worker *worker, const struct frame *frame, struct error *err) {
  struct controls controls;
  struct engine_request request;
  if (fill(worker, frame, &controls, &request, err))
    return FAILED;
  while (engine_in_flight(worker->engine))
    if (collect(worker) != GOES_ON)
      return UNWANTED;
  return engine_follow(worker->engine, &request, err) ? FAILED : GOES_ON;
}

/* Leaves out a frame's picture. Values that change over time, and the motion that the engine knows, are updated as if
 * the picture had been made. Returns FAILED with err after an error. */
static enum state pass(struct worker *worker, struct frame *frame, struct error *err) {
  struct run *run = worker->run;
  const struct pipeline *pipeline = run->pipeline;
  struct controls controls;
  enum state state = GOES_ON;
  if (engine_follows(worker->prepared)) {
    state = follow(worker, frame, err);
    run->stretch = frame->stretch;
  } else if (pipeline->controls_at(pipeline->opaque, worker->engine, (double)frame->pts * run->time_base, &controls,
                                   err))
    state = FAILED;
  frame_release(frame);
  pthread_mutex_lock(&run->counting);
  run->result->skipped++;
  pthread_mutex_unlock(&run->counting);
  return state;
}

/* Adds a frame to the worker's next run, unless pipeline.skips says that its picture is left out. Returns FAILED with
 * err after an error. */
static enum state deal_frame(struct worker *worker, struct deal *deal, struct frame *frame, struct error *err) {
  struct run *run = worker->run;
  const struct pipeline *pipeline = run->pipeline;
  int skips = pipeline->skips ? pipeline->skips(pipeline->opaque, frame, err) : 0;
  if (skips > 0)
    return pass(worker, frame, err);
  deal->frames[deal->count] = *frame;
  if (skips < 0 || ask(worker, deal, err))
    return FAILED;
  run->stretch = frame->stretch;
  return GOES_ON;
}

/* Takes the frames of the worker's next run from the queue: as many as a run has room for, or fewer at the end of the
 * source. Returns FAILED with err after an error. */
static enum state deal_frames(struct worker *worker, struct deal *deal, struct error *err) {
  struct run *run = worker->run;
  struct frame frame;
  enum state state = GOES_ON;
  int64_t begin = platform_now_ns();
  *deal = (struct deal){0};
  pthread_mutex_lock(&run->dealing);
  worker->waited_ns += platform_now_ns() - begin;
  deal->number = run->dealt;
  while (state == GOES_ON && deal->count < run->batch && take_frame(worker, &frame))
    state = deal_frame(worker, deal, &frame, err);
  run->dealt += deal->count;
  pthread_mutex_unlock(&run->dealing);
  return state == GOES_ON && !deal->count ? ENDED : state;
}

/* --- submitting runs to an engine, and collecting the pictures --- */

/* Submits one run of the engine. Returns 0, or -1 with err. */
static int submit(struct worker *worker, const struct deal *deal, struct error *err) {
  int64_t begin = platform_now_ns();
  if (engine_submit(worker->engine, &deal->requests[0], err))
    return -1;
  worker->last = deal->controls[deal->count - 1];
  trace_add(worker->run->pipeline->trace, TRACK_ENGINE, "submit", deal->number, begin, platform_now_ns());
  return 0;
}

/* Submits a run without a new frame, which advances each frame in the stream batch by one denoising step. Returns 0, or
 * -1 with err. */
static int drain(struct worker *worker, struct error *err) {
  const struct engine_request request = {.prepared = worker->prepared, .controls = &worker->last, .drain = true};
  return engine_submit(worker->engine, &request, err);
}

/* Returns the time in ms that the engine needed for the oldest run, divided by the number of the run's pictures. */
static double share_ms(const struct worker *worker, const struct engine_result *first) {
  int64_t begin = worker->last_ns > first->submitted_ns ? worker->last_ns : first->submitted_ns;
  return (double)(first->finished_ns - begin) * 1e-6 / (first->left + 1);
}

static void account(struct worker *worker, const struct engine_result *made, double ms) {
  struct run *run = worker->run;
  struct pipeline_result *result = run->result;
  worker->last_ns = made->finished_ns;
  pthread_mutex_lock(&run->counting);
  stats_add(&result->frame_ms, ms);
  if (!run->collected)
    result->first_frame_ms = (double)(made->finished_ns - run->started_ns) * 1e-6;
  run->ended_ns = made->finished_ns > run->ended_ns ? made->finished_ns : run->ended_ns;
  run->collected++;
  const struct pipeline_progress progress = {run->collected, result->skipped,
                                             (double)(run->ended_ns - run->started_ns) * 1e-9};
  if (run->pipeline->progress)
    run->pipeline->progress(run->pipeline->opaque, &progress);
  pthread_mutex_unlock(&run->counting);
}

static void trace_collect(struct trace *trace, long number, int64_t begin_ns, const struct engine_result *made) {
  const struct run_stamps *stamps = &made->stamps;
  trace_add(trace, TRACK_ENGINE, "wait for the picture", number, begin_ns, made->finished_ns);
  trace_add(trace, TRACK_UPLOAD, "upload", number, stamps->upload_ns, stamps->uploaded_ns);
  trace_add(trace, TRACK_GRAPH, "graph", number, stamps->begun_ns, stamps->computed_ns);
  if (stamps->downloaded_ns)
    trace_add(trace, TRACK_DOWNLOAD, "download", number, stamps->computed_ns, stamps->downloaded_ns);
}

/* Ends the render because picture `number` cannot be made. Stores the error unless there was an earlier one. Pictures
 * before that number are still made and written. Returns -1. */
static int fail(struct worker *worker, long number, struct error *err) {
  struct run *run = worker->run;
  const struct engines *engines = run->pipeline->engines;
  pthread_mutex_lock(&run->counting);
  if (!run->failed) {
    run->error = *err;
    if (engines->count > 1 && err->status == STATUS_DEVICE)
      error_prefix(&run->error, "%s, engine %d of %d: ", engines->names.name[worker->index], worker->index + 1,
                   engines->count);
  }
  run->failed = true;
  pthread_mutex_unlock(&run->counting);
  in_order_end(&run->made, number);
  queue_abort(&run->decoded);
  return -1;
}

/* Puts a picture into the queue before the sink; waits while the queue is full, and adds the wait to worker->waited_ns.
 * Returns false if the queue does not accept this picture because an earlier one has failed; the picture is then
 * released. */
static bool put_made(struct worker *worker, long number, const struct frame *picture) {
  int64_t begin = platform_now_ns();
  bool wanted = in_order_put(&worker->run->made, number, picture);
  worker->waited_ns += platform_now_ns() - begin;
  return wanted;
}

/* Waits for the oldest run of the engine, and puts its pictures into the queue before the sink. Returns GOES_ON, even
 * if the run gave no picture; UNWANTED if the queue accepts no more; or FAILED after a call of `fail`. */
static enum state collect(struct worker *worker) {
  struct engine_result made = {.left = 1};
  struct error err;
  double ms = -1;
  while (made.left) {
    int64_t begin = platform_now_ns();
    int failed = engine_collect(worker->engine, &made, &err);
    long number = number_of(worker->run, &made);
    if (failed) {
      fail(worker, number, &err);
      return FAILED;
    }
    if (made.pending)
      return GOES_ON;
    if (ms < 0) {
      ms = share_ms(worker, &made);
      trace_collect(worker->run->pipeline->trace, number, begin, &made);
    }
    account(worker, &made, ms);
    if (!put_made(worker, number, &made.picture))
      return UNWANTED;
  }
  return GOES_ON;
}

static enum state collect_if_full(struct worker *worker) {
  return engine_in_flight(worker->engine) == worker->in_flight_max ? collect(worker) : GOES_ON;
}

/* Submits one run to the engine, and collects the pictures of an earlier run if the engine has no room for another
 * one. */
static enum state work_once(struct worker *worker) {
  struct deal deal;
  struct error err;
  enum state state = deal_frames(worker, &deal, &err);
  if (state == GOES_ON && submit(worker, &deal, &err))
    state = FAILED;
  deal_release(&deal);
  if (state == FAILED)
    fail(worker, deal.number, &err);
  return state == GOES_ON ? collect_if_full(worker) : state;
}

static enum state drain_once(struct worker *worker) {
  struct error err;
  if (!drain(worker, &err))
    return collect_if_full(worker);
  fail(worker, worker->run->collected, &err);
  return FAILED;
}

/* The function of a worker's thread: submits frames and collects pictures until there are no more frames. If submitting
 * fails, the pictures of runs in flight are still collected. */
static void *work(void *opaque) {
  struct worker *worker = opaque;
  enum state state = GOES_ON;
  while (state == GOES_ON)
    state = work_once(worker);
  while (state == ENDED && engine_under_way(worker->prepared))
    state = drain_once(worker) == GOES_ON ? ENDED : FAILED;
  while (state != UNWANTED && engine_in_flight(worker->engine))
    state = collect(worker) == UNWANTED ? UNWANTED : state;
  worker->ended_ns = platform_now_ns();
  return NULL;
}

static void begin_worker(struct run *run, int index) {
  struct worker *worker = &run->workers[index];
  struct engine_info info;
  *worker = (struct worker){.run = run,
                            .index = index,
                            .engine = run->pipeline->engines->of[index].engine,
                            .prepared = run->pipeline->engines->of[index].prepared,
                            .last_ns = run->started_ns};
  engine_get_info(worker->engine, &info);
  worker->in_flight_max = info.depth < IN_FLIGHT_MAX ? info.depth : IN_FLIGHT_MAX;
}

static void begin(struct run *run, const struct frame *first) {
  struct prepared_info prepared;
  struct source_info source;
  prepared_get_info(run->pipeline->engines->of[0].prepared, &prepared);
  source_get_info(run->pipeline->source, &source);
  run->first = *first;
  run->has_first = true;
  run->batch = prepared.shape.batch > 1 ? prepared.shape.batch : 1;
  run->time_base = source_tick(&source);
  run->started_ns = run->ended_ns = platform_now_ns();
  for (int i = 0; i < run->pipeline->engines->count; i++)
    begin_worker(run, i);
}

/* Makes all pictures. The first engine works on the calling thread. Returns 0, or -1 with err. */
static int make_pictures(struct run *run, const struct frame *first, struct error *err) {
  int count = run->pipeline->engines->count, status = 0;
  begin(run, first);
  for (int i = 1; i < count && !status; i++)
    status = start(&run->workers[i].thread, &run->workers[i].running, work, &run->workers[i], err);
  if (status) {
    in_order_end(&run->made, 0);
    queue_abort(&run->decoded);
  } else
    work(&run->workers[0]);
  for (int i = 1; i < count; i++)
    if (run->workers[i].running)
      pthread_join(run->workers[i].thread, NULL);
  if (!status && run->failed) {
    *err = run->error;
    status = -1;
  }
  return status;
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
