/* 3x3 convolutions to at most 3 channels, as narrow.cu does them; the arguments are those of launch_narrow. */
#ifndef CUDA_KERNELS_NARROW_LAST_H
#define CUDA_KERNELS_NARROW_LAST_H

#include "cuda/kernels/kernels.h"

enum { LAST_COLUMNS_MAX = 3, LAST_SHARED_BYTES = 55296 };

/* From 32 or 64 to at most LAST_COLUMNS_MAX channels; takes LAST_SHARED_BYTES of shared memory. */
cudaError_t launch_narrow_last(const struct launch_queue *queue, const struct gemm_args *args);

#endif
