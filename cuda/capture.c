#include "cuda/capture.h"

#include "cuda/check.h"

/* A relaxed capture forbids nothing, neither to this thread, where a library may load code or take memory on the way,
 * nor to the thread whose runs go on meanwhile. */
cudaGraphExec_t graph_capture(struct cuda_device *device, const struct launch_queue *queue,
                              cudaError_t (*record)(struct cuda_device *device, const struct launch_queue *queue,
                                                    const void *opaque),
                              const void *opaque, struct error *err) {
  cudaStream_t stream = queue->stream;
  cudaGraph_t graph = NULL;
  cudaGraphExec_t ready = NULL;
  if (cuda_check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "capturing", err) < 0)
    return NULL;
  cudaError_t recorded = record(device, queue, opaque), ended = cudaStreamEndCapture(stream, &graph);
  if (cuda_check(recorded, "launching while capturing (--graph off does without)", err) == 0 &&
      cuda_check(ended, "capturing", err) == 0 &&
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
