/* The time of a frame over its size, its number of steps or the frames of a run, beside what its arithmetic alone would
 * take. */
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
  double flops, line_ms; /* at the sweep's rate */
  struct stats_summary times;
};

struct sweep {
  enum sweep_by by;
  double rate; /* FLOPs a second of the FLOP line: the best of the rows */
  struct sweep_row rows[SWEEP_MAX];
  int count;
};

struct sweep_request {
  enum sweep_by by;
  const struct controls *controls;
  const struct frame *frame, *control_frame;
  long frames; /* of each row; 0: chosen */
  bool (*stop)(void);
};

/* Each row is a handle of its own, like prepared but for the size, the steps or the batch, and released after it. */
int sweep_run(struct sweep *sweep, struct engine *engine, const struct prepared *prepared,
              const struct sweep_request *request, struct error *err);

void sweep_table(const struct sweep *sweep, FILE *out);
void sweep_json(const struct sweep *sweep, cJSON *rows);

#endif
