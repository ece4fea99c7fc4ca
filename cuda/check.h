/* Converts CUDA's errors to the program's: one line, status STATUS_DEVICE. */
#ifndef CUDA_CHECK_H
#define CUDA_CHECK_H

#include <cuda_runtime_api.h>

#include "unet/base/error.h"

/* Returns 0, or -1 with "cuda: DOING: CUDA's message" in err. Clears errors that are not sticky. A sticky error marks
 * the device as lost. */
int cuda_check(cudaError_t status, const char *doing, struct error *err);

#endif
