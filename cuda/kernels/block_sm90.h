/* An autoencoder's block of few channels in one launch (block.h), for compute capability 9.0. block.cu chooses between
 * this kernel and its own. */
#ifndef CUDA_KERNELS_BLOCK_SM90_H
#define CUDA_KERNELS_BLOCK_SM90_H

#include "cuda/kernels/block.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns true if launch_block_sm90 can do this block, and is faster than three convolutions (halo_sm90.h). */
bool block_sm90_supported(const struct product_device *device, const struct launch_queue *queue,
                          const struct block_args *args);
cudaError_t launch_block_sm90(const struct product_device *device, const struct launch_queue *queue,
                              const struct block_args *args);

#ifdef __cplusplus
}
#endif

#endif
