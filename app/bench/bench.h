/* Declarations that the files of the command bench share: the command itself (bench.c), measurements of the engine and
 * the pipeline (bench_measure.c), of the window (bench_live.c), and of how much pictures change from frame to frame
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
  /* still: the input frame of all measurements of the engine alone; control_still: the control source's frame for it,
   * empty without --control-source */
  struct frame still, control_still;
  long frames; /* number of frames that are measured for each row of the report */
  int batch;   /* number of frames in one run of the engine */
  struct report report;
  struct compare *compare; /* the earlier report that --compare names; NULL: none is given */
  struct source_info clip; /* description of the clip that --live shows; zeros: --live shows the test pattern */
  char source[240];
};

/* Stores the first frame of the test pattern in bench->still, and the control source's first frame in control_still.
 * All measurements that leave the source out run the engine on these. Returns 0, or -1 with err. */
int bench_take_still(struct bench *bench, struct error *err);
/* Runs the engine on some frames whose times are not reported, and computes from their times bench->frames, the number
 * of frames that each measurement takes. Returns 0, or -1 with err. */
int bench_warm_up(struct bench *bench, struct error *err);

/* Measures the engine with one and the same frame in every run, each run after the one before has ended, and adds the
 * rows "on the device" and "compute only" to the report. Returns 0, or -1 with err. */
int bench_compute(struct bench *bench, struct error *err);
/* Measures the engine alone at `fps` frames per second. The engine rests between frames, as it does in the window, so
 * the processor and the GPU lower their clocks and each frame takes longer. The report of --live tells by how much
 * frames in the window take longer than these. Returns 0, or -1 with err. */
int bench_paced(struct bench *bench, double fps, struct error *err);
/* Measures how long one frame takes from source to sink while no other frame is processed. In a stream batch, a frame's
 * picture comes frames_behind frames later, so the first pictures are not counted. Returns 0, or -1 with err. */
int bench_latency(struct bench *bench, struct error *err);
/* Measures source, engine and sink while they run at the same time, each on its own thread, as in the command render.
 * Returns 0, or -1 with err. */
int bench_pipeline(struct bench *bench, struct error *err);
/* Adds a row to the report. name and meaning are borrowed and must outlive the report. seconds: the time in which the
 * samples in stats were taken, from which the rate is computed; 0: no rate is printed. */
void bench_add_row(struct bench *bench, const char *name, const char *meaning, const struct stats *stats,
                   double seconds);

/* bench_profile measures the time of each op of the network (--profile), bench_sweep the time of a frame for several
 * sizes, step counts or batches (--sweep). They store the results in the report. Return 0, or -1 with err set. */
int bench_profile(struct bench *bench, struct error *err);
int bench_sweep(struct bench *bench, struct error *err);
/* Runs source, engine and sink once more, and writes to the file of --trace when each of them worked on which frame.
 * Recording takes time, so this run adds no row to the report. Returns 0, or -1 with err. */
int bench_trace(struct bench *bench, struct error *err);

/* Measures the engine alone, closes it to free its memory for the window's engine, and then measures the window
 * (--live). Returns 0, or -1 with err. */
int bench_live(struct bench *bench, struct error *err);
/* Returns -1 with err if --live does not fit the other options or the clip, or if no window can be opened; otherwise 0.
 * Called before anything is measured. */
int bench_check_live(struct bench *bench, struct error *err);

/* Returns -1 with err if --steadiness does not fit the other options; otherwise 0. */
int bench_check_steadiness(const struct bench *bench, struct error *err);
/* Runs the engine on drawn clips whose motion is known and on the user's clips, measures how steady the outputs are,
 * and stores the results in the report. Returns 0, or -1 with err. */
int bench_steadiness(struct bench *bench, struct error *err);

#endif
