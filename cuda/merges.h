/* Weights that adapters add to, in two sets: runs read one, changes are made in the other in slices between runs, and
 * then runs read that one: nothing is copied. Each program names either set's weights in launches of its own. */
#ifndef CUDA_MERGES_H
#define CUDA_MERGES_H

#include "cuda/cuda_device.h"

int merge_open(struct cuda_device *device, struct error *err);
void merge_close(struct cuda_device *device); /* takes a device without */

/* The device's functions: see device_merge_begin. */
int merges_begin(struct device *device, const struct weight_change *changes, int count, struct error *err);
int merges_go_on(struct device *device, bool all, struct error *err);
void merges_show(struct device *device);

#endif
