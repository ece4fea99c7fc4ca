/* A program's launches put on a stream, to run or to be captured. */
#ifndef CUDA_RECORDING_H
#define CUDA_RECORDING_H

#include "cuda/program.h"

/* Launches of one part of a run, with the weights of one set. */
struct recording {
  const struct cuda_program *program;
  const struct launches *launches;
  int part;
  unsigned without;                /* idle bits (device.h): what is left out */
  const struct run_params *params; /* what regions go by without a graph */
};

/* opaque: a struct recording. The first part begins a run, the last one ends it. */
cudaError_t record_part(struct cuda_device *device, const struct launch_queue *queue, const void *opaque);

#endif
