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

/* A GPU's context, which threads of programs enter and leave. Programs choose what is current for their threads
 * themselves: leaving brings that back, also where it is no context at all. The functions of CUDA's runtime cannot:
 * to make a GPU current takes a context there, hundreds of megabytes. */
struct gpus_context {
  void *context; /* a CUcontext */
  /* the driver's cuCtxPushCurrent and cuCtxPopCurrent; their status (CUresult) is 0 for success */
  int (*push)(void *context);
  int (*pop)(void **context);
};

/* Fills *context for the GPU that is current for the calling thread. Returns 0, or -1 with err. */
int gpus_get_context(struct gpus_context *context, struct error *err);
/* Makes the context current for the calling thread. Returns false if that fails, as it does while the process ends;
 * gpus_leave gets what was returned. */
bool gpus_enter(const struct gpus_context *context);
void gpus_leave(const struct gpus_context *context, bool entered);

#endif
