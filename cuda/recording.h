/* Enqueues the launches of a program (a prepared plan) on a stream: to run them, or to capture them in a graph. */
#ifndef CUDA_RECORDING_H
#define CUDA_RECORDING_H

#include "cuda/program.h"

/* Argument of record_part: which launches it enqueues. They are one part of a program's run, and read one of the two
 * sets of weights. */
struct recording {
  const struct cuda_program *program;
  const struct launches *launches;
  int part;
  unsigned without; /* bits (IDLE_CONTROL and others in run.h) of the parts of the plan that are left out */
  bool exact;       /* true: for runs that execute all other parts in every iteration, so that nothing is decided */
  /* parameters of the run. Without a graph, the host decides by them which regions of the plan (ops that a run may
   * skip) are enqueued; not used while a graph is captured */
  const struct run_params *params;
};

/* Returns true if a graph of this recording has conditional nodes, unless it is for exact runs. */
bool recording_decides(const struct recording *recording);

/* Enqueues the launches of one part of a run; opaque is a struct recording. Part 0 begins with launch_begin, the last
 * part ends with launch_end. */
cudaError_t record_part(struct cuda_device *device, const struct launch_queue *queue, const void *opaque);

#endif
