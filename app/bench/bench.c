/* The command bench: measures how fast frames are made and how much their times vary, on a drawn pattern that is the
 * same on every machine. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/bench/bench.h"
#include "app/bench/html_report.h"
#include "app/platform/app_platform.h"
#include "app/run/pipeline.h"
#include "app/run/setup.h"

/* Runs the measurements that the options ask for: how steady pictures are (--steadiness), the window (--live), the
 * network's ops (--profile), several sizes or batches (--sweep), or by default frame rates. Returns 0, or -1 with
 * err. */
static int measure(struct bench *bench, struct error *err) {
  const struct options *options = bench->options;
  if (options->steadiness)
    return bench_steadiness(bench, err);
  if (bench_take_still(bench, err) || bench_warm_up(bench, err))
    return -1;
  if (options->live)
    return bench_live(bench, err);
  if ((options->profile && bench_profile(bench, err)) || (options->sweep && bench_sweep(bench, err)))
    return -1;
  if (options->profile || options->sweep)
    return 0;
  if (bench_compute(bench, err))
    return -1;
  /* with several frames in one run no latency is measured: all of them are finished at the same time */
  if (bench->batch == 1 && bench_latency(bench, err))
    return -1;
  return bench_pipeline(bench, err);
}

static int write_report(struct bench *bench, struct error *err) {
  struct report *report = &bench->report;
  if (bench->engine) {
    engine_get_info(bench->engine, &report->engine);
    prepared_get_info(bench->prepared, &report->prepared);
    if (engine_get_timings(bench->engine, &report->timings, err))
      return -1;
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

/* Width and height of the pictures of --steadiness if --size is not given, in pixels. */
enum { STEADINESS_SIDE = 256 };

static int run(struct bench *bench, struct error *err) {
  const struct source_info square = {.shape = 1};
  const struct setup setup = {.options = bench->options,
                              .info = bench->options->steadiness ? &square : NULL,
                              .longest = bench->options->steadiness ? STEADINESS_SIDE : 0,
                              .output = PIXEL_RGBA,
                              .pictures = pipeline_holds(1),
                              .log = &bench->log};
  struct engine_info info;
  struct prepared_info prepared;
  if ((bench->options->compare &&
       compare_open(&bench->compare, bench->options->compare, &setup_stop, &bench->log, err)) ||
      setup_engine(&bench->engine, &bench->prepared, &setup, err))
    return -1;
  engine_get_info(bench->engine, &info);
  prepared_get_info(bench->prepared, &prepared);
  bench->batch = prepared.shape.batch;
  setup_controls(&bench->controls, bench->options, &info, &prepared);
  bool failed = measure(bench, err) || (bench->options->trace && bench_trace(bench, err));
  /* A source that was interrupted (Ctrl-C) gives no more frames. That is no success: bench reports the interruption. */
  if (atomic_load(&setup_stop))
    return error_set(err, STATUS_INTERRUPTED, "interrupted: no figures");
  return failed ? -1 : write_report(bench, err);
}

/* Fails if a file that bench is to write exists and must not be overwritten, or cannot be written. Called before the
 * measurements. */
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
  if (bench_check_steadiness(&bench, err) || bench_check_live(&bench, err) || check_files(options, err))
    return -1;
  int status = run(&bench, err);
  engine_close(&bench.engine);
  frame_release(&bench.still);
  frame_release(&bench.control_still);
  profile_free(&bench.report.profile);
  free(bench.report.timings);
  free(bench.report.steadiness.clips);
  compare_close(&bench.compare);
  return status;
}
