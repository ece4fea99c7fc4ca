/* 3x3 convolutions from eight channels, such as the first ones of a U-Net, of an encoder and of a decoder, whose inputs
 * of 3 or 4 channels are padded to eight. */
#ifndef CUDA_KERNELS_EIGHT_H
#define CUDA_KERNELS_EIGHT_H

#include "cuda/kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns true if launch_eight can do this convolution: from 8 channels to a multiple of 32, kernel 3, stride 1, pad 1,
 * one input, no upsampling, no gain, any activation but ACT_GEGLU. */
bool eight_supported(const struct gemm_args *args);
cudaError_t launch_eight(const struct launch_queue *queue, const struct gemm_args *args);

#ifdef __cplusplus
}
#endif

#endif
