/* Puts a program's launches on a stream, to run them or to capture them. */
#ifndef CUDA_RECORDING_H
#define CUDA_RECORDING_H

#include "cuda/program.h"

/* The launches of one part of a run, with the weights of one set. record_part puts
 * them on a stream. */
struct recording {
  const struct cuda_program *program;
  const struct launches *launches;
  int part;
  unsigned without; /* bits (IDLE_CONTROL and others in run.h) of the controls and styles that are left out */
  const struct run_params *params; /* parameters that decide about regions if there is no graph */
};

/* Records one part; opaque is a struct recording. The first part begins a run, the last one ends it. */
cudaError_t record_part(struct cuda_device *device, const struct launch_queue *queue, const void *opaque);

#endif
