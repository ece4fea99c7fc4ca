#include <limits.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>

#include "app/bench/bench.h"
#include "app/bench/sweep.h"
#include "app/bench/trace_json.h"
#include "app/platform/app_platform.h"
#include "app/run/control_source.h"
#include "app/run/pipeline.h"
#include "app/run/setup.h"
#include "unet/base/platform.h"

/* seconds that each measurement takes if --frames is not given; the constants below limit its number of frames */
static const double row_seconds = 5;
static const double profile_seconds = 15, paced_seconds = 2;
enum { FRAMES_MIN = 50, FRAMES_MAX = 2000, WARMUP = 5, TRACED_MAX = 200, SPANS_A_FRAME = 8 };

/* The sources of input frames and of control frames, which are opened again for each measurement. */
struct inputs {
  struct source *source;
  struct source_info info;
  struct control_source *control;
};

static void close_inputs(struct inputs *inputs) {
  control_source_close(&inputs->control);
  source_close(&inputs->source);
}

static int open_inputs(struct bench *bench, struct inputs *inputs, struct error *err) {
  *inputs = (struct inputs){0};
  if (source_open(&inputs->source, "pattern", &bench->source_options, err))
    return -1;
  source_get_info(inputs->source, &inputs->info);
  const struct control_source_params control = {bench->options->control_source, &bench->source_options, &inputs->info,
                                                SETUP_PATIENCE_MS};
  if (!control_source_open(&inputs->control, &control, err))
    return 0;
  close_inputs(inputs);
  return -1;
}

/* Fills in bench->batch requests, one for each frame of one run of the engine. All have the same input frame and
 * control frame. */
static void fill_requests(const struct bench *bench, const struct frame *frame, const struct frame *control,
                          struct engine_request requests[BATCH_MAX]) {
  for (int i = 0; i < bench->batch; i++)
    requests[i] = (struct engine_request){.prepared = bench->prepared,
                                          .controls = &bench->controls,
                                          .frame = frame,
                                          .control_frame = control,
                                          .identity = frame_identity(frame),
                                          .next = i + 1 < bench->batch ? &requests[i + 1] : NULL};
}

static const struct frame *control_still(const struct bench *bench) {
  return bench->control_still.width ? &bench->control_still : NULL;
}

static int once_with_result(struct bench *bench, const struct frame *frame, const struct frame *control,
                            struct engine_result *result, struct error *err) {
  struct engine_request requests[BATCH_MAX];
  fill_requests(bench, frame, control, requests);
  if (engine_submit(bench->engine, requests, err))
    return -1;
  for (result->left = 1; result->left;) {
    if (engine_collect(bench->engine, result, err))
      return -1;
    frame_release(&result->picture);
  }
  return 0;
}

static int once(struct bench *bench, const struct frame *frame, const struct frame *control, struct error *err) {
  struct engine_result result;
  return once_with_result(bench, frame, control, &result, err);
}

static int once_still(struct bench *bench, struct error *err) {
  return once(bench, &bench->still, control_still(bench), err);
}

int bench_take_still(struct bench *bench, struct error *err) {
  struct inputs inputs;
  if (open_inputs(bench, &inputs, err))
    return -1;
  snprintf(bench->source, sizeof bench->source, "%s", inputs.info.description);
  int status = source_read(inputs.source, &bench->still, err) == 1 ? 0 : -1;
  const struct frame *control = status ? NULL : control_source_at(inputs.control, &bench->still);
  if (control)
    bench->control_still = frame_hold(control);
  close_inputs(&inputs);
  return status;
}

int bench_warm_up(struct bench *bench, struct error *err) {
  const struct options *options = bench->options;
  long warmup = options->warmup >= 0 ? options->warmup : WARMUP;
  double fastest_ms = 0;
  if (once_still(bench, err))
    return -1;
  bench->report.first_frame_ms = platform_process_age_ms();
  for (long i = 0; i < warmup && !atomic_load(&setup_stop); i++) {
    int64_t begin = platform_now_ns();
    if (once_still(bench, err))
      return -1;
    double ms = (double)(platform_now_ns() - begin) * 1e-6 / bench->batch;
    if (!i || ms < fastest_ms)
      fastest_ms = ms;
  }
  long fitting = fastest_ms > 0 ? (long)(row_seconds * 1e3 / fastest_ms) : FRAMES_MIN;
  bench->frames = options->frames        ? options->frames
                  : fitting < FRAMES_MIN ? FRAMES_MIN
                  : fitting > FRAMES_MAX ? FRAMES_MAX
                                         : fitting;
  return 0;
}

void bench_add_row(struct bench *bench, const char *name, const char *meaning, const struct stats *stats,
                   double seconds) {
  struct report_row *row = &bench->report.rows[bench->report.row_count++];
  row->name = name;
  row->meaning = meaning;
  row->fps = seconds > 0 ? (double)stats->count / seconds : 0;
  stats_summarise(stats, &row->times);
}

/* Stores in the report how many launches, waits, allocations and copied bytes the device has counted since `before`,
 * divided by `frames`, the number of frames made since. */
static void count_calls(struct bench *bench, const struct engine_info *before, long frames) {
  struct engine_info after;
  engine_get_info(bench->engine, &after);
  if (frames < 1)
    return;
  bench->report.launches = (double)(after.device_launches - before->device_launches) / (double)frames;
  bench->report.waits = (double)(after.device_waits - before->device_waits) / (double)frames;
  bench->report.up = (double)(after.copied_up - before->copied_up) / (double)frames;
  bench->report.down = (double)(after.copied_down - before->copied_down) / (double)frames;
  bench->report.staged = (double)(after.staged - before->staged) / (double)frames;
  if (after.device_energy_j > before->device_energy_j && before->device_energy_j > 0)
    bench->report.joules = (after.device_energy_j - before->device_energy_j) / (double)frames;
  bench->report.allocations = (double)(after.device_allocations - before->device_allocations) / (double)frames;
}

int bench_compute(struct bench *bench, struct error *err) {
  struct stats stats = {0}, device = {0};
  struct engine_info info;
  engine_get_info(bench->engine, &info);
  int64_t begin = platform_now_ns();
  while (stats.count < bench->frames && !atomic_load(&setup_stop)) {
    int64_t before = platform_now_ns();
    struct engine_result result;
    if (once_with_result(bench, &bench->still, control_still(bench), &result, err))
      return -1;
    double ms = (double)(platform_now_ns() - before) * 1e-6 / bench->batch;
    for (int i = 0; i < bench->batch; i++) {
      stats_add(&stats, ms);
      if (result.device_ms > 0)
        stats_add(&device, result.device_ms);
    }
  }
  double seconds = (double)(platform_now_ns() - begin) * 1e-9;
  count_calls(bench, &info, stats.count);
  if (device.count)
    bench_add_row(bench, "on the device", "from planes to picture in the device's own memory, by its clock", &device,
                  device.sum_ms * 1e-3);
  bench_add_row(bench, "compute only",
                "the engine on one still picture in memory, one run at a time; a GPU's copies included", &stats,
                seconds);
  return 0;
}

int bench_paced(struct bench *bench, double fps, struct error *err) {
  struct stats stats = {0}, device = {0};
  int64_t begin = platform_now_ns(), due = begin;
  for (long i = 0; (double)i < paced_seconds * fps && !atomic_load(&setup_stop); i++) {
    struct engine_result result;
    platform_sleep_until_ns(due += (int64_t)(1e9 / fps));
    int64_t before = platform_now_ns();
    if (once_with_result(bench, &bench->still, control_still(bench), &result, err))
      return -1;
    stats_add(&stats, (double)(platform_now_ns() - before) * 1e-6);
    if (result.device_ms > 0)
      stats_add(&device, result.device_ms);
  }
  double seconds = (double)(platform_now_ns() - begin) * 1e-9;
  if (device.count)
    bench_add_row(bench, "on the device, paced", "as above, so many a second as the source has", &device, seconds);
  bench_add_row(bench, "compute only, paced", "likewise the engine alone, between whose frames processor and GPU rest",
                &stats, seconds);
  return 0;
}

int bench_latency(struct bench *bench, struct error *err) {
  struct stats stats = {0};
  struct prepared_info prepared;
  int64_t begun[STREAM_BATCH_MAX];
  prepared_get_info(bench->prepared, &prepared);
  struct inputs inputs;
  struct frame frame = {0};
  if (open_inputs(bench, &inputs, err))
    return -1;
  int64_t begin = platform_now_ns();
  int status = 0;
  for (long i = 0; i < bench->frames && !status && !atomic_load(&setup_stop); i++) {
    begun[i % STREAM_BATCH_MAX] = platform_now_ns();
    status = source_read(inputs.source, &frame, err) == 1
                 ? once(bench, &frame, control_source_at(inputs.control, &frame), err)
                 : -1;
    frame_release(&frame);
    long of = i - prepared.frames_behind;
    if (of >= 0)
      stats_add(&stats, (double)(platform_now_ns() - begun[of % STREAM_BATCH_MAX]) * 1e-6);
  }
  close_inputs(&inputs);
  bench_add_row(bench, "end to end, one by one",
                prepared.frames_behind
                    ? "source, engine and sink in turn: the latency of a frame, which comes later by the steps but one"
                    : "source, engine and sink in turn: the latency of a frame",
                &stats, (double)(platform_now_ns() - begin) * 1e-9);
  return status;
}

/* Data for the functions of bench that the pipeline (source, engine and sink on threads of their own) calls. */
struct bench_run {
  const struct bench *bench;
  struct inputs inputs;
};

static int open_null(void *opaque, struct sink **sink, struct error *err) {
  (void)opaque;
  return sink_open(sink, "null:", &(struct sink_options){0}, err);
}

static int controls_at(void *opaque, struct engine *engine, double seconds, struct controls *controls,
                       struct error *err) {
  const struct bench_run *run = opaque;
  (void)engine, (void)seconds, (void)err;
  *controls = run->bench->controls;
  return 0;
}

static int before(void *opaque, struct engine *engine, struct engine_request *request, double seconds,
                  struct error *err) {
  const struct bench_run *run = opaque;
  (void)engine, (void)seconds, (void)err;
  request->control_frame = control_source_at(run->inputs.control, request->frame);
  return 0;
}

static int run_pipeline(struct bench *bench, long frames, struct trace *trace, struct pipeline_result *result,
                        struct error *err) {
  struct bench_run run = {.bench = bench};
  if (open_inputs(bench, &run.inputs, err))
    return -1;
  const struct engines engines = {.count = 1, .of = {{bench->engine, bench->prepared}}};
  const struct pipeline pipeline = {
      .source = run.inputs.source,
      .engines = &engines,
      .frames = frames,
      .open_sink = open_null,
      .controls_at = controls_at,
      .before = before,
      .opaque = &run,
      .trace = trace,
  };
  int status = pipeline_run(&pipeline, result, err);
  close_inputs(&run.inputs);
  return status;
}

int bench_pipeline(struct bench *bench, struct error *err) {
  struct pipeline_result result;
  int status = run_pipeline(bench, bench->frames, NULL, &result, err);
  bench_add_row(bench, "end to end, overlapped", "source, engine and sink at the same time, as render runs them",
                &result.frame_ms, result.seconds);
  return status;
}

int bench_trace(struct bench *bench, struct error *err) {
  struct pipeline_result result;
  struct trace trace;
  long frames = bench->frames < TRACED_MAX ? bench->frames : TRACED_MAX;
  if (trace_init(&trace, TRACED_MAX * SPANS_A_FRAME, err))
    return -1;
  int status = run_pipeline(bench, frames, &trace, &result, err);
  if (!status && !atomic_load(&setup_stop))
    status = trace_json(&trace, bench->options->trace, err);
  trace_free(&trace);
  return status;
}

static bool is_stopped(void) {
  return atomic_load(&setup_stop);
}

int bench_profile(struct bench *bench, struct error *err) {
  const struct profile_request request = {
      .repeats = (int)fmin((double)bench->options->frames, INT_MAX), .seconds = profile_seconds, .stop = is_stopped};
  struct engine_request requests[BATCH_MAX];
  fill_requests(bench, &bench->still, control_still(bench), requests);
  return engine_profile(bench->engine, requests, &request, &bench->report.profile, err);
}

int bench_sweep(struct bench *bench, struct error *err) {
  const struct options *options = bench->options;
  const struct sweep_request request = {.by = options->sweep,
                                        .controls = &bench->controls,
                                        .frame = &bench->still,
                                        .control_frame = control_still(bench),
                                        .frames = options->frames,
                                        .stop = is_stopped};
  return sweep_run(&bench->report.sweep, bench->engine, bench->prepared, &request, err);
}
