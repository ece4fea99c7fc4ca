/* The GPUs of this machine, and the functions of unet/base/gpu.h for them, which can be called before an engine is
 * opened. */
#ifndef CUDA_GPUS_H
#define CUDA_GPUS_H

#include <cuda_runtime_api.h>

#include "unet/base/error.h"
#include "unet/base/gpu.h"

/* Finds the GPU that a device's name selects: "cuda" is GPU 0, "cuda:N" GPU N. Stores CUDA's number of that GPU in
 * *ordinal. If there is no such GPU, returns -1 with an error that says why. */
int gpus_choose(const char *name, int *ordinal, struct error *err);
/* Returns what identifies a GPU: its number and its UUID. */
struct gpu_id gpus_id(const struct cudaDeviceProp *properties, int ordinal);
/* Returns true if this program has kernels for a GPU with these properties. */
bool gpus_serves(const struct cudaDeviceProp *properties);
/* Returns the CUDA context (CUcontext) that is current for the calling thread; NULL: it has none, and gets none. */
void *gpus_current_context(void);

#endif
