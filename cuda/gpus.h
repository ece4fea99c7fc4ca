/* The GPUs that there are, and what unet/base/gpu.h promises of them. No engine is needed for that. */
#ifndef CUDA_GPUS_H
#define CUDA_GPUS_H

#include <cuda_runtime_api.h>

#include "unet/base/error.h"
#include "unet/base/gpu.h"

/* The one of this name: "cuda" is GPU 0, "cuda:N" GPU N. The error says why there is none. */
int gpus_choose(const char *name, int *ordinal, struct error *err);
struct gpu_id gpus_id(const struct cudaDeviceProp *properties, int ordinal);
/* Whether this program has kernels for such a GPU at all. */
bool gpus_serves(const struct cudaDeviceProp *properties);

#endif
