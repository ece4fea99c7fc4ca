/* An autoencoder's first two convolutions in one launch: one from a picture's three channels, and one with stride 2
 * behind it. There is no activation between them, so they are one convolution, whose weights are calculated when the
 * model is loaded. Implemented in composed_conv.cu. */
#ifndef CUDA_KERNELS_COMPOSED_CONV_H
#define CUDA_KERNELS_COMPOSED_CONV_H

#include "cuda/kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* COMPOSED_IN, COMPOSED_OUT: numbers of channels of the first convolution's input and of the second one's result;
 * COMPOSED_WEIGHTS, COMPOSED_BIASES: numbers of elements of the weights and biases that launch_compose writes */
enum { COMPOSED_IN = 3, COMPOSED_OUT = 32, COMPOSED_WEIGHTS = 4 * 5 * 32 * 16, COMPOSED_BIASES = 4 * COMPOSED_OUT };

/* The arguments of launch_composed, which computes y = outer(inner(x)) for two 3x3 convolutions that pad their inputs
 * with zeros. inner has stride 1, outer has stride 2. */
struct composed_args {
  const half_t *x;      /* the input, [n, h, w, 3]; h is even, w a multiple of 8 */
  const half_t *weight; /* what launch_compose has made of both weights and biases */
  const float *bias;
  half_t *y; /* the result, [n, h / 2, w / 2, 32] */
  int n, h, w;
};
bool composed_supported(const struct composed_args *args); /* an address that is NULL is taken for aligned */
cudaError_t launch_composed(const struct launch_queue *queue, const struct composed_args *args);

/* The arguments of launch_compose, which calculates the weights of both convolutions as one. */
struct compose_args {
  const half_t *inner;                  /* the first one's weight, [c, 9, 3] */
  const half_t *outer;                  /* the second one's, [32, 9, c] */
  const float *inner_bias, *outer_bias; /* [c] and [32]; NULL: 0 */
  half_t *weight;                       /* the result, COMPOSED_WEIGHTS elements */
  float *bias;                          /* likewise, COMPOSED_BIASES */
  int c;                                /* number of channels between the convolutions */
};
cudaError_t launch_compose(const struct launch_queue *queue, const struct compose_args *args);

#ifdef __cplusplus
}
#endif

#endif
