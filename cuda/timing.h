/* Measures how long launches take on the device. */
#ifndef CUDA_TIMING_H
#define CUDA_TIMING_H

#include "cuda/launches.h"

double clock_seconds(void); /* seconds of CLOCK_MONOTONIC */

/* Returns the seconds that the launches take on the device: in a captured graph, or one by one if they take at least a
 * millisecond. Negative: they failed. least: the shortest time so far, or INFINITY; launches whose first run is far
 * slower are not run again. *disturbed: a program of the device ran during each reading, although more readings were
 * taken. */
double launches_time(struct cuda_device *device, const struct launch_queue *queue, const struct launches *launches,
                     double least, bool *disturbed);

#endif
