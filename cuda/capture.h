/* Makes a CUDA graph of launches, without running them. */
#ifndef CUDA_CAPTURE_H
#define CUDA_CAPTURE_H

#include "cuda/cuda_device.h"

/* Calls record(device, queue, opaque), which enqueues launches on a stream, and returns them as a graph that is ready
 * to be launched. Nothing runs. Returns NULL with err set on failure. The caller destroys the graph. */
cudaGraphExec_t graph_capture(struct cuda_device *device, const struct launch_queue *queue,
                              cudaError_t (*record)(struct cuda_device *device, const struct launch_queue *queue,
                                                    const void *opaque),
                              const void *opaque, struct error *err);

#endif
