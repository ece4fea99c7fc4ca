/* The command bench, in four files: the command (bench.c), measurements of the engine and the pipeline
 * (bench_measure.c), of the window (bench_live.c), and of how steady pictures are from frame to frame
 * (bench_steadiness.c). All functions are called on the main thread. */
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
  long frames;                       /* frames that are measured for each row of the report */
  int batch;                         /* frames in one run of the engine */
  struct report report;
  struct compare *compare; /* the earlier report that --compare names; NULL: none is given */
  struct source_info clip; /* the clip that --live shows; zeros: it shows the pattern */
  char source[240];
};

/* Stores the first frame of the pattern in bench->still (and of the control source in control_still). All rows that do
 * not measure the source run the engine on this frame. */
int bench_take_still(struct bench *bench, struct error *err);
/* Runs some frames whose times are not counted, and computes bench->frames from their times. */
int bench_warm_up(struct bench *bench, struct error *err);

/* Measures the engine on the still frame, one run after the other, and adds the rows "on the device" and "compute
 * only". */
int bench_compute(struct bench *bench, struct error *err);
/* Measures the engine alone at a frame rate of `fps`. It rests between frames, so that the processor and the GPU lower
 * their clocks and each frame takes longer. --live compares the window's times with these, to leave out the part of the
 * slowdown that the window does not cause. */
int bench_paced(struct bench *bench, double fps, struct error *err);
/* Measures how long one frame takes from source to sink while no other frame is processed. In a stream batch the
 * picture of a frame comes frames_behind frames later; the first pictures, which belong to earlier frames, are not
 * counted. */
int bench_latency(struct bench *bench, struct error *err);
/* Measures source, engine and sink while they run at the same time, each on its thread, as in render. */
int bench_pipeline(struct bench *bench, struct error *err);
/* Adds a row to the report. name and meaning are borrowed and must outlive the report. seconds: the time in which the
 * samples in stats were taken, from which the rate is computed; 0: no rate is printed. */
void bench_add_row(struct bench *bench, const char *name, const char *meaning, const struct stats *stats,
                   double seconds);

/* Measure what --profile and --sweep ask for, and fill the report's profile or sweep. Return 0, or -1 with err set. */
int bench_profile(struct bench *bench, struct error *err);
int bench_sweep(struct bench *bench, struct error *err);
/* Runs the pipeline once more and writes the file of --trace. Recording takes time, so this run adds no row. */
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
