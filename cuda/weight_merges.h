/* Changes weights for adapters without a pause. Weights that adapters change are in two sets. Runs read one set, while
 * a merge calculates the changed weights in the other one, a slice between two runs. When the other set is complete,
 * runs read that one, so nothing has to be copied. A program that reads such weights has separate launches for each
 * set. */
#ifndef CUDA_WEIGHT_MERGES_H
#define CUDA_WEIGHT_MERGES_H

#include "cuda/cuda_device.h"

/* Makes device->merge, so that weights that adapters change are in two sets from now on. */
int merge_open(struct cuda_device *device, struct error *err);
/* frees the memory of merges; does nothing if the device has only one set of weights */
void merge_close(struct cuda_device *device);

/* The CUDA device's functions that add adapters' changes in the set of weights that runs do not read: begin, go on
 * by a slice of work, and exchange the two sets (device_merge_... in unet/plan/device.h). */
int merges_begin(struct device *device, const struct weight_change *changes, int count, struct error *err);
int merges_go_on(struct device *device, bool all, struct error *err);
void merges_show(struct device *device);

#endif
