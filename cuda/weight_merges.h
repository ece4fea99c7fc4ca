/* Weights that adapters change without a pause: each is in two sets. Runs read one set, while changes are calculated
 * into the other, a slice of them between two runs. Then runs read that set, and nothing has to be copied. A program
 * that reads such weights has separate launches for each set. */
#ifndef CUDA_WEIGHT_MERGES_H
#define CUDA_WEIGHT_MERGES_H

#include "cuda/cuda_device.h"

int merge_open(struct cuda_device *device, struct error *err);
void merge_close(struct cuda_device *device); /* does nothing if the device has one set */

/* The CUDA device's part of device_merge_begin, device_merge_go_on and device_merge_show (unet/plan/device.h). */
int merges_begin(struct device *device, const struct weight_change *changes, int count, struct error *err);
int merges_go_on(struct device *device, bool all, struct error *err);
void merges_show(struct device *device);

#endif
