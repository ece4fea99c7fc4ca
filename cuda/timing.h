/* Measures how long launches take on the device. */
#ifndef CUDA_TIMING_H
#define CUDA_TIMING_H

#include "cuda/launches.h"

double clock_seconds(void); /* returns the time of CLOCK_MONOTONIC in seconds */

/* Returns how many seconds the launches take on the device: in a captured graph, or one by one if they take a
 * millisecond or more. Negative: they failed. least: the shortest time of other candidates, or INFINITY; launches whose
 * first run is far slower are not measured again. *disturbed: true if runs of programs disturbed all measurements, so
 * that the time may be too long. */
double launches_time(struct cuda_device *device, const struct launch_queue *queue, const struct launches *launches,
                     double least, bool *disturbed);

#endif
