/* The workers of a pipeline: each gives frames to an engine, and takes its pictures. */
#include "app/run/pipeline_impl.h"
#include "unet/base/platform.h"

enum { IN_FLIGHT_MAX = 2 };

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

int pipeline_make_pictures(struct run *run, const struct frame *first, struct error *err) {
  int count = run->pipeline->engines->count, status = 0;
  begin(run, first);
  for (int i = 1; i < count && !status; i++)
    status = pipeline_start(&run->workers[i].thread, &run->workers[i].running, work, &run->workers[i], err);
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
