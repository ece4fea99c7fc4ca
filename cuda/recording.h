/* Enqueues the launches of a program (a prepared plan) on a stream: to run them, or to capture them in a graph. */
#ifndef CUDA_RECORDING_H
#define CUDA_RECORDING_H

#include "cuda/program.h"

/* The launches that record_part enqueues: one part of a run, with the addresses of one set of weights. */
struct recording {
  const struct cuda_program *program;
  const struct launches *launches;
  int part;
  unsigned without; /* bits (IDLE_CONTROL and others in run.h) of the parts of the plan that are left out */
  /* parameters of the run, from which the host decides which regions run; used only if no graph is captured */
  const struct run_params *params;
};

/* Enqueues the launches of one part of a run; opaque is a struct recording. Part 0 begins with launch_begin, the last
 * part ends with launch_end. */
cudaError_t record_part(struct cuda_device *device, const struct launch_queue *queue, const void *opaque);

#endif
