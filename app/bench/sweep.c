#include "app/bench/sweep.h"

#include <math.h>

static const int sides[] = {256, 384, 512, 640, 768, 1024}, counts[] = {1, 2, 4, 8, 16};
enum { SIDES = sizeof sides / sizeof *sides, COUNTS = sizeof counts / sizeof *counts };

static const double row_seconds = 1;
enum { FRAMES_MIN = 5, FRAMES_MAX = 500 };

/* Runs the engine once, and returns the milliseconds per frame by the device's clock, or by the host's if the device
 * has none. Negative: the run failed, with err set. */
static double once(struct engine *engine, const struct engine_request *frame, int batch, struct error *err) {
  struct engine_result result = {.left = 1};
  if (engine_submit(engine, frame, err))
    return -1;
  while (result.left) {
    if (engine_collect(engine, &result, err))
      return -1;
    frame_release(&result.picture);
  }
  double host_ms = (double)(result.finished_ns - result.submitted_ns) * 1e-6 / batch;
  return result.device_ms > 0 ? result.device_ms : host_ms;
}

static int measure(struct engine *engine, struct prepared *prepared, const struct sweep_request *request,
                   struct sweep_row *row, struct error *err) {
  struct engine_request requests[BATCH_MAX];
  struct stats stats = {0};
  struct prepared_info info;
  prepared_get_info(prepared, &info);
  int batch = info.shape.batch;
  for (int i = 0; i < batch; i++)
    requests[i] = (struct engine_request){.prepared = prepared,
                                          .controls = request->controls,
                                          .frame = request->frame,
                                          .control_frame = request->control_frame,
                                          .next = i + 1 < batch ? &requests[i + 1] : NULL};
  double first = once(engine, requests, batch, err), second = first < 0 ? -1 : once(engine, requests, batch, err);
  if (second < 0)
    return -1;
  long fitting = (long)fmin(row_seconds * 1e3 / fmax(second, 1e-3), FRAMES_MAX);
  long frames = request->frames ? request->frames : fitting < FRAMES_MIN ? FRAMES_MIN : fitting;
  for (long i = 0; i < frames; i++) {
    double ms = once(engine, requests, batch, err);
    if (ms < 0)
      return -1;
    if (request->stop && request->stop())
      return error_set(err, STATUS_INTERRUPTED, "interrupted: no figures");
    stats_add(&stats, ms);
  }
  *row = (struct sweep_row){.width = info.shape.width,
                            .height = info.shape.height,
                            .steps = info.shape.steps,
                            .batch = batch,
                            .flops = info.flops};
  stats_summarise(&stats, &row->times);
  return 0;
}

static void draw_line(struct sweep *sweep) {
  for (int i = 0; i < sweep->count; i++)
    sweep->rate = fmax(sweep->rate, sweep->rows[i].flops / (sweep->rows[i].times.median_ms * 1e-3));
  for (int i = 0; i < sweep->count; i++)
    sweep->rows[i].line_ms = sweep->rate > 0 ? sweep->rows[i].flops / sweep->rate * 1e3 : 0;
}

static int rows_of(enum sweep_by by) {
  return by == SWEEP_SIZE ? SIDES : by == SWEEP_STEPS ? COUNTS : BATCH_MAX;
}

/* Measures the rows of the sweep one after another. A row that the model or the device's memory does not allow ends the
 * sweep without an error, unless it is the first row. Returns 0, or -1 with err. */
static int try_rows(struct sweep *sweep, struct engine *engine, const struct engine_shape *like,
                    const struct sweep_request *request, struct error *err) {
  struct engine_info info;
  engine_get_info(engine, &info);
  for (int i = 0; i < rows_of(request->by); i++) {
    struct engine_shape shape = *like;
    struct prepared *prepared;
    if (request->by == SWEEP_SIZE)
      shape.width = shape.height = (sides[i] + info.size_multiple - 1) / info.size_multiple * info.size_multiple;
    else if (request->by == SWEEP_STEPS)
      shape.steps = counts[i];
    else
      shape.batch = 1 + i;
    if (engine_prepare(engine, &shape, &prepared, err))
      return sweep->count && err->status != STATUS_FAILED ? 0 : -1;
    int status = measure(engine, prepared, request, &sweep->rows[sweep->count], err);
    engine_release(engine, &prepared);
    if (status)
      return -1;
    sweep->count++;
  }
  return 0;
}

int sweep_run(struct sweep *sweep, struct engine *engine, const struct prepared *prepared,
              const struct sweep_request *request, struct error *err) {
  struct prepared_info like;
  prepared_get_info(prepared, &like);
  *sweep = (struct sweep){.by = request->by};
  int status = try_rows(sweep, engine, &like.shape, request, err);
  draw_line(sweep);
  return status;
}

void sweep_table(const struct sweep *sweep, FILE *out) {
  fprintf(out, "%-12s %5s %5s %10s %10s %8s %10s %8s %8s\n", "size", "steps", "batch", "GFLOP", "median ms", "+-",
          "line ms", "x line", "TFLOP/s");
  for (int i = 0; i < sweep->count; i++) {
    const struct sweep_row *row = &sweep->rows[i];
    char size[24];
    snprintf(size, sizeof size, "%dx%d", row->width, row->height);
    fprintf(out, "%-12s %5d %5d %10.1f %10.3f %8.3f %10.3f %8.2f %8.2f\n", size, row->steps, row->batch,
            row->flops * 1e-9, row->times.median_ms, row->times.spread_ms, row->line_ms,
            row->times.median_ms / row->line_ms, row->flops / row->times.median_ms * 1e-9);
  }
  fprintf(out, "line: a frame's arithmetic at %.2f TFLOP/s, the best rate of these rows\n", sweep->rate * 1e-12);
}

void sweep_json(const struct sweep *sweep, cJSON *rows) {
  for (int i = 0; i < sweep->count; i++) {
    const struct sweep_row *row = &sweep->rows[i];
    cJSON *to = cJSON_CreateObject();
    cJSON_AddNumberToObject(to, "width", row->width);
    cJSON_AddNumberToObject(to, "height", row->height);
    cJSON_AddNumberToObject(to, "steps", row->steps);
    cJSON_AddNumberToObject(to, "batch", row->batch);
    cJSON_AddNumberToObject(to, "flops", row->flops);
    cJSON_AddNumberToObject(to, "median_ms", row->times.median_ms);
    cJSON_AddNumberToObject(to, "spread_ms", row->times.spread_ms);
    cJSON_AddNumberToObject(to, "line_ms", row->line_ms);
    cJSON_AddItemToArray(rows, to);
  }
}
