/* The parts of bench: the command (bench.c), measurements of the engine and the pipeline (bench_measure.c), of the
 * window (bench_live.c), and of how steady pictures are (bench_steadiness.c). One thread calls all of them. */
#ifndef APP_BENCH_BENCH_H
#define APP_BENCH_BENCH_H

#include "app/bench/compare.h"
#include "app/bench/report.h"
#include "app/options/options.h"
#include "app/source/source.h"
#include "unet/engine.h"

struct bench {
  const struct options *options;
  struct log log;
  struct source_options source_options;
  struct engine *engine;
  struct prepared *prepared;
  struct controls controls;
  struct frame still, control_still; /* control_still is empty if no --control-source is given */
  long frames;                       /* frames that each row measures */
  int batch;                         /* frames in one run of the engine */
  struct report report;
  struct compare *compare; /* the report of --compare; NULL: none is given */
  struct source_info clip; /* the clip that --live shows; zeros: it shows the pattern */
  char source[240];
};

/* Reads the first frame of the pattern (and of the control source). The rows that do not measure the source use it for
 * every run. */
int bench_take_still(struct bench *bench, struct error *err);
/* Runs the first frames, whose times are not counted, and derives from them how many frames each row measures. */
int bench_warm_up(struct bench *bench, struct error *err);

/* Measures the engine on the still frame, one run after the other: the rows "on the device" and "compute only". */
int bench_compute(struct bench *bench, struct error *err);
/* Measures the engine alone, but at a source's rate: between frames processor and GPU rest, so that the next frame
 * finds both slower. --live compares its times with this row, because the window does not cause this difference. */
int bench_paced(struct bench *bench, double fps, struct error *err);
/* Measures the time of one frame from source to sink while nothing else runs. In a stream batch a frame's picture comes
 * frames_behind frames later; the first pictures, which belong to earlier frames, are not counted. */
int bench_latency(struct bench *bench, struct error *err);
/* Measures source, engine and sink on their threads at the same time, as render runs them. */
int bench_pipeline(struct bench *bench, struct error *err);
/* Adds a row to the report. seconds: the wall time in which the samples of stats were taken; 0: no rate is printed. The
 * strings are borrowed. */
void bench_add_row(struct bench *bench, const char *name, const char *meaning, const struct stats *stats,
                   double seconds);

/* Measure for --profile and --sweep, and fill the report's profile or sweep. */
int bench_profile(struct bench *bench, struct error *err);
int bench_sweep(struct bench *bench, struct error *err);
/* Runs the pipeline once more and writes the file of --trace. Recording costs time, so this run is in no row. */
int bench_trace(struct bench *bench, struct error *err);

/* Measures the engine alone, closes it to free its memory for the window's engine, and then measures the window
 * (--live). */
int bench_live(struct bench *bench, struct error *err);
/* Fails if --live does not fit the other options or the clip, or if no window can be opened. Called before anything is
 * measured. */
int bench_check_live(struct bench *bench, struct error *err);

/* Fails if --steadiness does not fit the other options. */
int bench_check_steadiness(const struct bench *bench, struct error *err);
/* Runs clips of known motion and the real clips, and fills the report's steadiness. */
int bench_steadiness(struct bench *bench, struct error *err);

#endif
