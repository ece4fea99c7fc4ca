/* Converts errors of CUDA's calls to struct error, with one line and status STATUS_DEVICE. */
#ifndef CUDA_CHECK_H
#define CUDA_CHECK_H

#include <cuda_runtime_api.h>

#include "unet/base/error.h"

/* Returns 0 if status is cudaSuccess; otherwise -1, with "cuda: DOING: CUDA's message" in err. Clears CUDA's last
 * error, so that later calls do not report it. An error after which all later calls fail is marked by
 * error_mark_lost. */
int cuda_check(cudaError_t status, const char *doing, struct error *err);

#endif
