#include "cuda/capture.h"

#include "cuda/check.h"
#include "unet/base/platform.h"

enum { TRIES = 12, REST_FIRST_NS = 1000000, REST_DOUBLED = 6 };

/* The arguments of graph_capture: the queue, and the function that enqueues the launches. */
struct capturing {
  struct cuda_device *device;
  const struct launch_queue *queue;
  cudaError_t (*record)(struct cuda_device *device, const struct launch_queue *queue, const void *opaque);
  const void *opaque;
};

/* Tries once to capture the launches as a graph. CUDA's relaxed mode is used: this thread may then call a library that
 * loads code or allocates memory, and another thread may go on submitting runs. *ended_early: true if another CUDA call
 * has ended the capture, so that a further attempt may succeed. */
static cudaError_t capture(const struct capturing *c, cudaGraph_t *graph, const char **doing, bool *ended_early) {
  cudaStream_t stream = c->queue->stream;
  *doing = "capturing";
  *ended_early = false;
  cudaError_t begun = cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
  if (begun != cudaSuccess)
    return begun;
  cudaError_t recorded = c->record(c->device, c->queue, c->opaque), ended = cudaStreamEndCapture(stream, graph);
  *ended_early = recorded == cudaErrorStreamCaptureInvalidated || ended == cudaErrorStreamCaptureInvalidated;
  if (recorded == cudaSuccess)
    return ended;
  *doing = "launching while capturing (--graph off does without)";
  if (*graph)
    cudaGraphDestroy(*graph);
  *graph = NULL;
  return recorded;
}

/* Captures the launches as a graph, and tries again if another thread has ended the capture. A thread that waits for
 * the whole GPU ends every capture on it; video decoders may do that when they open. Before each new attempt there is a
 * pause, longer each time. */
static cudaError_t capture_undisturbed(const struct capturing *c, cudaGraph_t *graph, const char **doing) {
  bool again;
  cudaError_t status = capture(c, graph, doing, &again);
  for (int i = 1; i < TRIES && again; i++) {
    cudaGetLastError();
    platform_sleep_ns(REST_FIRST_NS << (i < REST_DOUBLED ? i : REST_DOUBLED));
    status = capture(c, graph, doing, &again);
  }
  return status;
}

cudaGraphExec_t graph_capture(struct cuda_device *device, const struct launch_queue *queue,
                              cudaError_t (*record)(struct cuda_device *device, const struct launch_queue *queue,
                                                    const void *opaque),
                              const void *opaque, struct error *err) {
  const struct capturing capturing = {device, queue, record, opaque};
  const char *doing;
  cudaGraph_t graph = NULL;
  cudaGraphExec_t ready = NULL;
  cudaError_t status = capture_undisturbed(&capturing, &graph, &doing);
  if (cuda_check(status, doing, err) == 0 &&
      cuda_check(cudaGraphInstantiate(&ready, graph, 0), "making the graph", err) < 0)
    ready = NULL;
  pthread_mutex_lock(&device->base.memory);
  device->counters.captures += ready != NULL;
  pthread_mutex_unlock(&device->base.memory);
  if (graph)
    cudaGraphDestroy(graph);
  cudaGetLastError();
  return ready;
}
