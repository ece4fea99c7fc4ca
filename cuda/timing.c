#include "cuda/timing.h"

#include <math.h>

#include "cuda/capture.h"
#include "unet/base/platform.h"

enum { REPEATS = 10, RUNS = 3, DISTURBED_RUNS = 8 };

double clock_seconds(void) {
  return 1e-9 * (double)platform_now_ns();
}

/* Limits in seconds. A first run may include loading code, which takes less than loading_s. Launches whose first run
 * takes more than loading_s plus twice the best time of other candidates are not timed further. Launches of at least
 * long_s are timed one by one, until they have taken enough_s together. Shorter ones are timed in a graph that repeats
 * them. If the best time of other candidates is below short_s, the graph is used at once, without a first run. */
static const double loading_s = 0.3, long_s = 1e-3, enough_s = 5e-3, short_s = 1e-4;

/* Launches whose time is measured, the queue on which they run, and the events before and after them. */
struct stopwatch {
  struct cuda_device *device;
  const struct launch_queue *queue;
  const struct launches *launches;
  cudaEvent_t start, stop;
};

/* A measured time, negative after a failure. disturbed: true if a run of some program was executed at the same time, so
 * that the time may be too long. */
struct reading {
  double seconds;
  bool disturbed;
};

static const struct reading failure = {-1, false};

/* Returns the better of two readings: an undisturbed one, or else the faster one, because a disturbance makes a run
 * slower, never faster. */
static struct reading better(struct reading a, struct reading b) {
  if (a.disturbed != b.disturbed)
    return a.disturbed ? b : a;
  return a.seconds < b.seconds ? a : b;
}

static const struct reading none = {INFINITY, true};

/* --- a single measurement of launches --- */

static cudaError_t record_repeats(struct cuda_device *device, const struct launch_queue *queue, const void *opaque) {
  const struct launches *launches = opaque;
  cudaError_t status = cudaSuccess;
  for (int i = 0; status == cudaSuccess && i < REPEATS; i++)
    status = launches_enqueue(device, queue, launches, 0, launches->count);
  return status;
}

/* Measures once how long the graph takes. If graph is NULL, enqueues the launches one by one and measures these. */
static struct reading time_once(const struct stopwatch *w, cudaGraphExec_t graph) {
  cudaStream_t stream = w->queue->stream;
  float milliseconds;
  unsigned runs = w->device->runs;
  bool busy = w->device->pictures_in_flight > 0;
  if (cudaEventRecord(w->start, stream) ||
      (graph ? cudaGraphLaunch(graph, stream)
             : launches_enqueue(w->device, w->queue, w->launches, 0, w->launches->count)) ||
      cudaEventRecord(w->stop, stream) || cudaEventSynchronize(w->stop) ||
      cudaEventElapsedTime(&milliseconds, w->start, w->stop)) {
    cudaGetLastError();
    return failure;
  }
  return (struct reading){(double)milliseconds * 1e-3, busy || w->device->runs != runs};
}

/* --- taking the best of several measurements --- */

static struct reading time_long(const struct stopwatch *w) {
  struct reading best = none;
  for (double spent = 0; spent < enough_s;) {
    struct reading reading = time_once(w, NULL);
    if (reading.seconds < long_s) /* failed; or short, and only the run before was long, because it loaded code: then
                                   * time_launches measures them in a graph */
      return reading;
    best = better(best, reading);
    spent += reading.seconds;
  }
  return best;
}

/* Measures how long the launches take in a graph that repeats them, in which they follow each other without gaps. */
static struct reading time_graph(const struct stopwatch *w) {
  struct reading best = none;
  cudaGraphExec_t graph = graph_capture(w->device, w->queue, record_repeats, w->launches, NULL);
  if (!graph)
    return failure;
  /* The first launch of the graph, which loads the graph and perhaps code, does not count. If a run was executed during
   * each of the RUNS measurements (disturbed), further ones are made, up to DISTURBED_RUNS. */
  for (int i = 0; i < RUNS || (best.disturbed && i < DISTURBED_RUNS); i++) {
    struct reading reading = time_once(w, graph);
    if (reading.seconds < 0) {
      best = failure;
      break;
    }
    if (i > 0)
      best = better(best, reading);
  }
  cudaGraphExecDestroy(graph);
  best.seconds /= best.seconds < 0 ? 1 : REPEATS;
  return best;
}

static struct reading time_launches(const struct stopwatch *w, double least) {
  struct reading reading = {0};
  if (least >= short_s)
    reading = time_once(w, NULL);
  if (reading.seconds < 0 || reading.seconds > 2 * least + loading_s)
    return reading;
  if (reading.seconds >= long_s)
    reading = time_long(w);
  return reading.seconds < 0 || reading.seconds >= long_s ? reading : time_graph(w);
}

double launches_time(struct cuda_device *device, const struct launch_queue *queue, const struct launches *launches,
                     double least, bool *disturbed) {
  struct stopwatch w = {.device = device, .queue = queue, .launches = launches};
  struct reading reading = failure;
  if (cudaEventCreate(&w.start) == cudaSuccess && cudaEventCreate(&w.stop) == cudaSuccess)
    reading = time_launches(&w, least);
  if (w.start)
    cudaEventDestroy(w.start);
  if (w.stop)
    cudaEventDestroy(w.stop);
  *disturbed = reading.disturbed;
  return reading.seconds;
}
