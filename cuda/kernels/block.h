/* An autoencoder's block of few channels in one launch: three 3x3 convolutions, and the sum with their input.
 * Implemented in block.cu. */
#ifndef CUDA_KERNELS_BLOCK_H
#define CUDA_KERNELS_BLOCK_H

#include "cuda/kernels/product_sm90.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The arguments of launch_block, which computes y = relu(x + conv(relu(conv(relu(conv(x)))))). Each convolution pads
 * its input with zeros. */
struct block_args {
  const half_t *x; /* the input, [n, h, w, c] */
  /* FP16 weights of the three convolutions: output channel, tap of the window, input channel, [c, 9, c] each */
  const half_t *weight[3];
  const float *bias[3]; /* biases of the three convolutions, [c] each; NULL: none */
  half_t *y;            /* the result, [n, h, w, c] */
  int n, h, w, c;
};
/* Returns true if launch_block can do this block, and is faster than three convolutions. */
bool block_supported(const struct product_device *device, const struct launch_queue *queue,
                     const struct block_args *args);
cudaError_t launch_block(const struct product_device *device, const struct launch_queue *queue,
                         const struct block_args *args);

#ifdef __cplusplus
}
#endif

#endif
