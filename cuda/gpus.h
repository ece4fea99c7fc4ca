/* The GPUs of this machine, and the functions of unet/base/gpu.h for them. They need no engine. */
#ifndef CUDA_GPUS_H
#define CUDA_GPUS_H

#include <cuda_runtime_api.h>

#include "unet/base/error.h"
#include "unet/base/gpu.h"

/* Finds the GPU of this name: "cuda" is GPU 0, "cuda:N" GPU N. The error says why there is none. */
int gpus_choose(const char *name, int *ordinal, struct error *err);
struct gpu_id gpus_id(const struct cudaDeviceProp *properties, int ordinal);
/* True if this program has kernels for such a GPU. */
bool gpus_serves(const struct cudaDeviceProp *properties);

#endif
