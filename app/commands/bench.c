/* bench: how fast, and how steadily, on a pattern that is the same everywhere. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/platform/app_platform.h"
#include "app/run/compare.h"
#include "app/run/control_source.h"
#include "app/run/html_report.h"
#include "app/options/options.h"
#include "app/run/pipeline.h"
#include "app/run/report.h"
#include "app/commands/setup.h"
#include "app/live/probe.h"
#include "app/run/trace_json.h"
#include "app/window/window.h"
#include "unet/base/platform.h"

/* Without --frames a row runs for about so long, within these bounds. */
static const double row_seconds = 5;
static const double profile_seconds = 15;
/* --live, without --frames and --duration; without --warmup; without --input-fps. */
static const double live_seconds = 10, paced_seconds = 2;
enum { LIVE_WARMUP = 30, LIVE_FPS = 60 };
enum { FRAMES_MIN = 50, FRAMES_MAX = 2000, WARMUP = 5, TRACED_MAX = 200, SPANS_A_FRAME = 8 };

struct bench {
  const struct options *options;
  struct log log;
  struct source_options source_options;
  struct engine *engine;
  struct prepared *prepared;
  struct controls controls;
  struct frame still, control_still;
  long frames;
  int batch; /* frames of a run */
  struct report report;
  struct compare *compare; /* NULL: with nothing */
  char source[160];
};

/* Where frames come from, each time from the beginning. */
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

/* A run of this frame, as often as a run has frames. */
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

static int take_still(struct bench *bench, struct error *err) {
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

/* Runs the first frames, whose times do not count, and sees how many the rows should have. */
static int warm_up(struct bench *bench, struct error *err) {
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

static void add_row(struct bench *bench, const char *name, const char *meaning, const struct stats *stats,
                    double seconds) {
  struct report_row *row = &bench->report.rows[bench->report.row_count++];
  row->name = name;
  row->meaning = meaning;
  row->fps = seconds > 0 ? (double)stats->count / seconds : 0;
  stats_summarise(stats, &row->times);
}

/* What the device was asked to do between two moments, a frame. */
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

static int measure_compute(struct bench *bench, struct error *err) {
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
    add_row(bench, "on the device", "from planes to picture in the device's own memory, by its clock", &device,
            device.sum_ms * 1e-3);
  add_row(bench, "compute only",
          "the engine on one still picture in memory, one run at a time; a GPU's copies included", &stats, seconds);
  return 0;
}

/* The engine alone, as often as a source has frames: between them processor and GPU rest, and the next one finds both
 * slower. What it takes then is not the window's doing. */
static int measure_paced(struct bench *bench, double fps, struct error *err) {
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
    add_row(bench, "on the device, paced", "as above, so many a second as the source has", &device, seconds);
  add_row(bench, "compute only, paced", "likewise the engine alone, between whose frames processor and GPU rest",
          &stats, seconds);
  return 0;
}

/* What one frame takes from the source to the sink when nothing runs at the same time. In a stream batch it comes so
 * many frames later; the first ones to come are those that were under way. */
static int measure_latency(struct bench *bench, struct error *err) {
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
  add_row(bench, "end to end, one by one",
          prepared.frames_behind ? "source, engine and sink in turn: the latency of a frame, which comes later by the "
                                   "steps but one"
                                 : "source, engine and sink in turn: the latency of a frame",
          &stats, (double)(platform_now_ns() - begin) * 1e-9);
  return status;
}

/* A run of the pipeline. */
struct bench_run {
  const struct bench *bench;
  struct inputs inputs;
};

static int open_null(void *opaque, struct sink **sink, struct error *err) {
  (void)opaque;
  return sink_open(sink, "null:", &(struct sink_options){0}, err);
}

static int controls_at(void *opaque, double seconds, struct controls *controls, struct error *err) {
  const struct bench_run *run = opaque;
  (void)seconds, (void)err;
  *controls = run->bench->controls;
  return 0;
}

static int before(void *opaque, struct engine_request *request, double seconds, struct error *err) {
  const struct bench_run *run = opaque;
  (void)seconds, (void)err;
  request->control_frame = control_source_at(run->inputs.control, request->frame);
  return 0;
}

static int run_pipeline(struct bench *bench, long frames, struct trace *trace, struct pipeline_result *result,
                        struct error *err) {
  struct bench_run run = {.bench = bench};
  if (open_inputs(bench, &run.inputs, err))
    return -1;
  const struct pipeline pipeline = {
      .source = run.inputs.source,
      .engine = bench->engine,
      .prepared = bench->prepared,
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

static int measure_pipeline(struct bench *bench, struct error *err) {
  struct pipeline_result result;
  int status = run_pipeline(bench, bench->frames, NULL, &result, err);
  add_row(bench, "end to end, overlapped", "source, engine and sink at the same time, as render runs them",
          &result.frame_ms, result.seconds);
  return status;
}

/* A run of its own: what is traced is not what is measured. */
static int write_trace(struct bench *bench, struct error *err) {
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

static int measure_profile(struct bench *bench, struct error *err) {
  const struct profile_request request = {
      .repeats = (int)fmin((double)bench->options->frames, INT_MAX), .seconds = profile_seconds, .stop = is_stopped};
  struct engine_request requests[BATCH_MAX];
  fill_requests(bench, &bench->still, control_still(bench), requests);
  return engine_profile(bench->engine, requests, &request, &bench->report.profile, err);
}

static int measure_sweep(struct bench *bench, struct error *err) {
  const struct options *options = bench->options;
  const struct sweep_request request = {.by = options->sweep,
                                        .controls = &bench->controls,
                                        .frame = &bench->still,
                                        .control_frame = control_still(bench),
                                        .frames = options->frames,
                                        .stop = is_stopped};
  return sweep_run(&bench->report.sweep, bench->engine, bench->prepared, &request, err);
}

/* --- live --- */

/* The window that shows a source with a marker, in the picture's size, so that both stand in it pixel by pixel. */
static int show_options(const struct bench *bench, char *source, size_t size, struct options *show, struct error *err) {
  const struct options *options = bench->options;
  const struct engine_shape *shape = &bench->report.prepared.shape;
  int width = options->input_width ? options->input_width : shape->width;
  int height = options->input_height ? options->input_height : shape->height;
  snprintf(source, size, "pattern-marked:%dx%d", width, height);
  *show = *options;
  show->command = COMMAND_LIVE;
  show->input = source;
  show->frames = 0;
  show->duration = 0;
  show->input_width = show->input_height = 0;
  show->input_fps = options->input_fps > 0 ? options->input_fps : LIVE_FPS;
  struct parameters *values = &show->values;
  return parameters_set_size(values, PARAMETER_SIZE, 0, shape->width, shape->height, err) ||
                 parameters_set_number(values, PARAMETER_HUD, 0, false, err) ||
                 parameters_set_number(values, PARAMETER_FIT, 0, FIT_STRETCH, err) ||
                 parameters_set_number(values, PARAMETER_SPLIT, 0, true, err) ||
                 parameters_set_number(values, PARAMETER_SPLIT_AT, 0,
                                       fmin(1, marker_width((double)shape->width / shape->height)), err)
             ? -1
             : 0;
}

static void add_probed(struct bench *bench, const struct live_probe *probe) {
  const struct sightings *seen = &probe->seen;
  double rate = sightings_rate(seen), seconds = rate > 0 ? (double)seen->presented / rate : 0;
  add_row(bench, "engine, in the window", "its own time for a frame while the window shows it", &seen->frame, seconds);
  add_row(bench, "capture to engine", "from the frame's capture until the engine takes it", &seen->taken, seconds);
  add_row(bench, "engine to picture", "from then until the picture is there", &seen->finished, seconds);
  add_row(bench, "picture to presented", "from then until it was read back from the window", &seen->shown, seconds);
  add_row(bench, "capture to presented", "all of that: the latency as a user sees it", &seen->latency, seconds);
  add_row(bench, "prompt to visible", "from a new prompt until a picture that shows it is presented",
          &probe->change[CHANGE_PROMPT].ms, 0);
  add_row(bench, "strength to visible", "likewise, of another strength", &probe->change[CHANGE_STRENGTH].ms, 0);
}

static void report_live(struct bench *bench, const struct live_probe *probe, double source_fps, double compute_ms) {
  static const char *const names[PROBE_CHANGES] = {"prompt", "strength"};
  const struct sightings *seen = &probe->seen;
  struct report_live *live = &bench->report.live;
  *live = (struct report_live){
      .measured = true,
      .source_fps = source_fps,
      .shown_fps = sightings_rate(seen),
      .deadline_ms = seen->deadline_ms,
      .presented = seen->presented,
      .missed = seen->missed,
      .missed_by = {seen->missed_by[MISS_WAITING], seen->missed_by[MISS_ENGINE], seen->missed_by[MISS_WINDOW]},
      .dropped = seen->dropped,
      .repeated = seen->repeated,
      .unread = seen->unread,
      .is_front = !probe->reads_back,
      .engine_cpu_us = probe->engine_cpu_us,
      .window_cpu_us = probe->window_cpu_us,
      .engine_bytes = probe->engine_bytes,
      .window_bytes = probe->window_bytes,
      .shared = probe->shared,
      .uploaded = probe->uploaded,
      .engine_ms = stats_quantile(&seen->frame, 0.5),
      .compute_ms = compute_ms,
      .paced_ms = bench->report.rows[bench->report.row_count - 1].times.median_ms};
  for (int i = 0; i < PROBE_CHANGES; i++) {
    const struct stats *frames = &probe->change[i].frames;
    live->change[i] =
        (struct report_change){names[i], frames->count, round(stats_quantile(frames, 0.5)), frames->max_ms};
  }
}

/* After the engine alone, which makes room for the window's. */
static int measure_live(struct bench *bench, struct error *err) {
  const struct options *options = bench->options;
  struct options show;
  char source[64];
  if (measure_compute(bench, err))
    return -1;
  double compute_ms = bench->report.rows[bench->report.row_count - 1].times.median_ms;
  engine_get_info(bench->engine, &bench->report.engine);
  prepared_get_info(bench->prepared, &bench->report.prepared);
  if (show_options(bench, source, sizeof source, &show, err) || measure_paced(bench, show.input_fps, err))
    return -1;
  engine_close(&bench->engine);
  struct live_probe probe = {.warmup = options->warmup >= 0 ? options->warmup : LIVE_WARMUP,
                             .frames = options->frames,
                             .seconds = options->duration > 0 ? options->duration
                                        : options->frames     ? 0
                                                              : live_seconds,
                             .seen = {.engine_ms = compute_ms, .deadline_ms = 1e3 / show.input_fps + compute_ms + 1}};
  if (live_perform(&show, &probe, err))
    return -1;
  if (!probe.ended)
    return error_set(err, STATUS_FAILED, "--live: the window was closed before all was measured");
  if (!probe.seen.latency.count)
    return error_set(err, STATUS_OUTPUT, "--live: the window shows no frame's number (the marker is not to be read)");
  report_live(bench, &probe, show.input_fps, compute_ms);
  add_probed(bench, &probe);
  snprintf(bench->source, sizeof bench->source, "test pattern with a marker, %s, %g fps", strchr(source, ':') + 1,
           show.input_fps);
  return 0;
}

/* What was asked for: a profile, a sweep, or frame rates where it was neither. */
static int measure(struct bench *bench, struct error *err) {
  const struct options *options = bench->options;
  if (options->live)
    return measure_live(bench, err);
  if ((options->profile && measure_profile(bench, err)) || (options->sweep && measure_sweep(bench, err)))
    return -1;
  if (options->profile || options->sweep)
    return 0;
  if (measure_compute(bench, err))
    return -1;
  /* Frames that go by fours come one by one to nobody. */
  if (bench->batch == 1 && measure_latency(bench, err))
    return -1;
  return measure_pipeline(bench, err);
}

static int write_report(struct bench *bench, struct error *err) {
  struct report *report = &bench->report;
  if (bench->engine) {
    engine_get_info(bench->engine, &report->engine);
    prepared_get_info(bench->prepared, &report->prepared);
  }
  report->peak_bytes = platform_peak_memory();
  report->source = bench->source;
  bool json_alone = bench->options->json && !strcmp(bench->options->json, "-");
  if (!json_alone && bench->options->verbose >= 0) {
    report_table(report, stdout);
    if (report->row_count)
      setup_print_behind(stdout, &report->prepared, report->rows[report->row_count - 1].fps);
    if (bench->compare)
      compare_table(bench->compare, report, stdout);
  }
  if (bench->options->report && html_report(report, bench->options->report, err))
    return -1;
  if (bench->options->save && report_json(report, bench->options->save, err))
    return -1;
  if (bench->options->json && report_json(report, bench->options->json, err))
    return -1;
  return fflush(stdout) ? error_set(err, STATUS_OUTPUT, "standard output cannot be written") : 0;
}

static int run(struct bench *bench, struct error *err) {
  const struct setup setup = {
      .options = bench->options, .output = PIXEL_RGBA, .pictures = PIPELINE_HOLDS, .log = &bench->log};
  struct engine_info info;
  struct prepared_info prepared;
  if ((bench->options->compare && compare_open(&bench->compare, bench->options->compare, err)) ||
      setup_engine(&bench->engine, &bench->prepared, &setup, err))
    return -1;
  engine_get_info(bench->engine, &info);
  prepared_get_info(bench->prepared, &prepared);
  bench->batch = prepared.shape.batch;
  setup_controls(&bench->controls, bench->options, &info, &prepared);
  bool failed = take_still(bench, err) || warm_up(bench, err) || measure(bench, err) ||
                (bench->options->trace && write_trace(bench, err));
  /* That a source gave no more frames is then no failure of its own. */
  if (atomic_load(&setup_stop))
    return error_set(err, STATUS_INTERRUPTED, "interrupted: no figures");
  return failed ? -1 : write_report(bench, err);
}

/* Whether there can be one is known before anything is measured. */
static int try_window(struct error *err) {
  struct window *window;
  int status = window_create(&window, NULL, false, err);
  window_close(&window);
  return status;
}

static int check_live(const struct options *options, struct error *err) {
  const struct {
    bool given;
    const char *name;
  } alone[] = {{options->input_fps > 0, "input-fps"},
               {options->duration > 0, "duration"},
               {options->window_width > 0, "window"}};
  for (size_t i = 0; !options->live && i < sizeof alone / sizeof *alone; i++)
    if (alone[i].given)
      return error_set(err, STATUS_USAGE, "--%s is for bench --live, which shows the pattern in a window",
                       alone[i].name);
  if (options->live && (options->profile || options->sweep || options->trace))
    return error_set(err, STATUS_USAGE, "--live measures the window: --profile, --sweep and --trace go without it");
  if (options->live && options->batch > 1)
    return error_set(err, STATUS_USAGE, "--live shows each frame as it comes: --batch goes without it");
  if (options->live && !setup_needs_input(options))
    return error_set(err, STATUS_USAGE, "--live follows frames through the window: --text-to-image has none");
  return options->live ? try_window(err) : 0;
}

/* Before anything is measured: whether what it is to be written to may be written. */
static int check_files(const struct options *options, struct error *err) {
  const char *const files[] = {options->json, options->save, options->trace, options->report};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    if (files[i] && strcmp(files[i], "-") && sink_check_file(files[i], options->overwrite, err))
      return -1;
  return 0;
}

int command_bench(const struct options *options, struct error *err) {
  struct bench bench = {.options = options};
  setup_log(&bench.log, options);
  if (setup_source_options(&bench.source_options, options, false, &bench.log, err))
    return -1;
  if (check_live(options, err) || check_files(options, err))
    return -1;
  int status = run(&bench, err);
  engine_close(&bench.engine);
  frame_release(&bench.still);
  frame_release(&bench.control_still);
  profile_free(&bench.report.profile);
  compare_close(&bench.compare);
  return status;
}
