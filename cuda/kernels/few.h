/* 3x3 convolutions to very few channels, such as a U-Net's last one. */
#ifndef CUDA_KERNELS_FEW_H
#define CUDA_KERNELS_FEW_H

#include "cuda/kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns true if launch_few can do this convolution: from a multiple of 32 channels to at most 16, kernel 3, stride 1,
 * pad 1, one input, no upsampling, no gain, any activation but ACT_GEGLU. */
bool few_supported(const struct gemm_args *args);
/* Returns how many bytes of shared memory a thread block of launch_few needs, which can be more than the GPU has. */
int few_shared_bytes(const struct gemm_args *args);
cudaError_t launch_few(const struct launch_queue *queue, const struct gemm_args *args);

#ifdef __cplusplus
}
#endif

#endif
