/* Three 3x3 convolutions and the sum with their input in one launch, for few channels: block.cu. */
#ifndef CUDA_KERNELS_BLOCK_H
#define CUDA_KERNELS_BLOCK_H

#include "cuda/kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* y = relu(x + conv(relu(conv(relu(conv(x)))))), with zeros around each convolution's input. */
struct block_args {
  const half_t *x;         /* [n, h, w, c] */
  const half_t *weight[3]; /* [c, 9, c] */
  const float *bias[3];    /* [c] or NULL */
  half_t *y;               /* [n, h, w, c] */
  int n, h, w, c;
};
bool block_supported(const struct launch_queue *queue, const struct block_args *args);
cudaError_t launch_block(const struct launch_queue *queue, const struct block_args *args);

#ifdef __cplusplus
}
#endif

#endif
