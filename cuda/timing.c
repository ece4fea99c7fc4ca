#include "cuda/timing.h"

#include <math.h>

#include "cuda/capture.h"
#include "unet/base/platform.h"

enum { REPEATS = 10, RUNS = 3 };

double clock_seconds(void) {
  return 1e-9 * (double)platform_now_ns();
}

/* A first run may load code, which takes less than loading_s. Runs of long_s need no repeats for the clock's sake, and
 * are made until they have taken enough_s. Where the best so far takes less than short_s, the others are not run alone
 * before they are repeated. */
static const double loading_s = 0.3, long_s = 1e-3, enough_s = 5e-3, short_s = 1e-4;

static cudaError_t launch_all(struct cuda_device *device, const struct launches *launches) {
  return launches_enqueue(device, launches, 0, launches->count);
}

static cudaError_t record_repeats(struct cuda_device *device, const void *opaque) {
  cudaError_t status = cudaSuccess;
  for (int i = 0; status == cudaSuccess && i < REPEATS; i++)
    status = launch_all(device, opaque);
  return status;
}

/* Seconds from one event, which lies before the work, to the other, which is put behind it. */
static double read_events(const struct cuda_device *device, cudaEvent_t start, cudaEvent_t stop) {
  float milliseconds;
  if (cudaEventRecord(stop, device->queue.stream) || cudaEventSynchronize(stop) ||
      cudaEventElapsedTime(&milliseconds, start, stop))
    return -1;
  return (double)milliseconds * 1e-3;
}

static double time_once(struct cuda_device *device, const struct launches *launches, cudaEvent_t start,
                        cudaEvent_t stop) {
  if (cudaEventRecord(start, device->queue.stream) || launch_all(device, launches)) {
    cudaGetLastError();
    return -1;
  }
  return read_events(device, start, stop);
}

/* The fastest of a few runs: what disturbs a run makes it slower, never faster. */
static double time_long(struct cuda_device *device, const struct launches *launches, cudaEvent_t start,
                        cudaEvent_t stop) {
  double best = INFINITY;
  for (double spent = 0; spent < enough_s;) {
    double seconds = time_once(device, launches, start, stop);
    if (seconds < long_s) /* it was the code; or a failure */
      return seconds;
    best = fmin(best, seconds);
    spent += seconds;
  }
  return best;
}

/* The same with replays of a graph, in which the launches follow each other without gaps. */
static double time_graph(struct cuda_device *device, const struct launches *launches, cudaEvent_t start,
                         cudaEvent_t stop) {
  double best = INFINITY;
  cudaGraphExec_t graph = graph_capture(device, record_repeats, launches, NULL);
  for (int i = 0; i < RUNS && best >= 0; i++) {
    double seconds = -1;
    if (graph && !cudaEventRecord(start, device->queue.stream) && !cudaGraphLaunch(graph, device->queue.stream))
      seconds = read_events(device, start, stop) / REPEATS;
    if (i > 0 || seconds < 0) /* the first brings in the graph, and maybe code */
      best = fmin(best, seconds);
  }
  if (graph)
    cudaGraphExecDestroy(graph);
  return best;
}

static double time_launches(struct cuda_device *device, const struct launches *launches, double least,
                            cudaEvent_t start, cudaEvent_t stop) {
  double seconds = least < short_s ? 0 : time_once(device, launches, start, stop);
  if (seconds < 0 || seconds > 2 * least + loading_s)
    return seconds;
  if (seconds >= long_s)
    seconds = time_long(device, launches, start, stop);
  return seconds < 0 || seconds >= long_s ? seconds : time_graph(device, launches, start, stop);
}

double launches_time(struct cuda_device *device, const struct launches *launches, double least) {
  cudaEvent_t start = NULL, stop = NULL;
  double seconds = -1;
  if (cudaEventCreate(&start) == cudaSuccess && cudaEventCreate(&stop) == cudaSuccess)
    seconds = time_launches(device, launches, least, start, stop);
  if (start)
    cudaEventDestroy(start);
  if (stop)
    cudaEventDestroy(stop);
  return seconds;
}
