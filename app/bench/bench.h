/* bench's parts: the command (bench.c), the engine and the pipeline (bench_measure.c), the window (bench_live.c). */
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
  struct frame still, control_still; /* the second: none where controls have no source of their own */
  long frames;                       /* of a row */
  int batch;                         /* of a run */
  struct report report;
  struct compare *compare; /* NULL: with nothing */
  struct source_info clip; /* that --live shows; zeros: the pattern */
  char source[240];
};

/* The first frame of the pattern, which is measured with where none is read anew. */
int bench_take_still(struct bench *bench, struct error *err);
/* Runs the first frames, whose times do not count, and sees how many the rows should have. */
int bench_warm_up(struct bench *bench, struct error *err);

/* Each adds a row of the report or more. */
int bench_compute(struct bench *bench, struct error *err);
/* The engine alone, as often as a source has frames: between them processor and GPU rest, and the next one finds both
 * slower. What it takes then is not the window's doing. */
int bench_paced(struct bench *bench, double fps, struct error *err);
/* What one frame takes from the source to the sink when nothing runs at the same time. In a stream batch it comes so
 * many frames later; the first ones to come are those that were under way. */
int bench_latency(struct bench *bench, struct error *err);
int bench_pipeline(struct bench *bench, struct error *err);
void bench_add_row(struct bench *bench, const char *name, const char *meaning, const struct stats *stats,
                   double seconds);

int bench_profile(struct bench *bench, struct error *err);
int bench_sweep(struct bench *bench, struct error *err);
/* A run of its own: what is traced is not what is measured. */
int bench_trace(struct bench *bench, struct error *err);

/* --live: after the engine alone, which makes room for the window's. */
int bench_live(struct bench *bench, struct error *err);
/* Whether it goes with the other options and the clip, and there can be a window: known before anything is measured. */
int bench_check_live(struct bench *bench, struct error *err);

#endif
