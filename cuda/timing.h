/* How long steps take on the device. */
#ifndef CUDA_TIMING_H
#define CUDA_TIMING_H

#include "cuda/steps.h"

double clock_seconds(void); /* CLOCK_MONOTONIC */

/* Seconds that the steps take on the device: in a captured graph, or one by one where they take a millisecond and more.
 * Negative when they fail. least: the shortest time so far, INFINITY when there is none; steps whose first run shows
 * that they are far slower are not run again. */
double steps_time(struct cuda_device *device, const struct steps *steps, double least);

#endif
