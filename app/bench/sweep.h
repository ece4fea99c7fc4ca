/* Measures the time of a frame for several sizes, numbers of steps, or frames per run of the engine, and compares it
 * with the time that the arithmetic alone would take. */
#ifndef APP_BENCH_SWEEP_H
#define APP_BENCH_SWEEP_H

#include <stdio.h>

#include <cjson/cJSON.h>

#include "app/options/options.h"
#include "app/flow/stats.h"
#include "unet/engine.h"

enum { SWEEP_MAX = 8 };

struct sweep_row {
  int width, height, steps, batch;
  /* flops: floating-point operations of a frame; line_ms: the time in ms that these would take at the sweep's highest
   * rate */
  double flops, line_ms;
  struct stats_summary times;
};

struct sweep {
  enum sweep_by by;
  /* highest rate of any row, in floating-point operations per second; line_ms of all rows is the time at this rate */
  double rate;
  struct sweep_row rows[SWEEP_MAX];
  int count;
};

struct sweep_request {
  enum sweep_by by;
  const struct controls *controls;
  const struct frame *frame, *control_frame;
  long frames; /* number of frames measured per row; 0: as many as fit into about a second */
  bool (*stop)(void);
};

/* Measures each row of the sweep: prepares a handle (struct prepared) that differs from `prepared` only in size, step
 * count or batch, and releases it afterwards. Returns 0, or -1 with err set. */
int sweep_run(struct sweep *sweep, struct engine *engine, const struct prepared *prepared,
              const struct sweep_request *request, struct error *err);

/* sweep_table prints the rows of the sweep as a table; sweep_json adds them to a JSON array. */
void sweep_table(const struct sweep *sweep, FILE *out);
void sweep_json(const struct sweep *sweep, cJSON *rows);

#endif
