/* Weights that adapters add to, in two sets. Runs read one set. Changes are made in the other set, in slices between
 * runs, and then runs switch to that set; nothing is copied. Each program has separate launches for each set. */
#ifndef CUDA_WEIGHT_MERGES_H
#define CUDA_WEIGHT_MERGES_H

#include "cuda/cuda_device.h"

int merge_open(struct cuda_device *device, struct error *err);
void merge_close(struct cuda_device *device); /* does nothing if the device has one set */

/* The device's functions: see device_merge_begin. */
int merges_begin(struct device *device, const struct weight_change *changes, int count, struct error *err);
int merges_go_on(struct device *device, bool all, struct error *err);
void merges_show(struct device *device);

#endif
