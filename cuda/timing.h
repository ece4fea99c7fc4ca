/* How long launches take on the device. */
#ifndef CUDA_TIMING_H
#define CUDA_TIMING_H

#include "cuda/launches.h"

double clock_seconds(void); /* CLOCK_MONOTONIC */

/* Seconds that the launches take on the device: in a captured graph, or one by one where they take a millisecond and
 * more. Negative when they fail. least: the shortest time so far, INFINITY when there is none; launches whose first run
 * shows that they are far slower are not run again. *disturbed: a program of the device's ran beside each try, of which
 * there are some more then. */
double launches_time(struct cuda_device *device, const struct launch_queue *queue, const struct launches *launches,
                     double least, bool *disturbed);

#endif
