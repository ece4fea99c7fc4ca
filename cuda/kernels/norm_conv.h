/* A group norm and the 3x3 convolution after it in one launch, for pictures of up to 64 pixels. Implemented in
 * norm_conv.cu. */
#ifndef CUDA_KERNELS_NORM_CONV_H
#define CUDA_KERNELS_NORM_CONV_H

#include "cuda/kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A linear layer of the same pixels, weight (x ++ x2) + bias, which is added to the result; c + c2 = 0: none. */
struct norm_conv_more {
  const half_t *x, *x2; /* inputs [n, h, w, c] and [n, h, w, c2] */
  const half_t *weight; /* [columns, c + c2] */
  const float *bias;    /* [columns]; NULL: there is none */
  int c, c2;
};

/* The arguments of launch_norm_conv, which computes y = conv(act(group norm(x ++ x2))) + bias + time + residual with a
 * 3x3 kernel, stride 1 and padding 1. ++ concatenates. */
struct norm_conv_args {
  const half_t *x, *x2; /* inputs [n, h, w, c] and [n, h, w, c2], concatenated by channels */
  int c, c2;
  const float *gamma, *beta; /* factors and summands of the norm, [c + c2]; NULL: 1 and 0 */
  int groups;
  float eps;
  enum activation act;    /* activation after the norm: ACT_NONE or ACT_SILU */
  const half_t *weight;   /* weights of the convolution, [columns, 9, c + c2]: output channel, tap of the window, input
                           * channel */
  const float *bias;      /* the bias of each output channel, [columns]; NULL: there is none */
  const half_t *time;     /* a vector from the time embedding, [columns], which is added like the bias; NULL: there is
                           * none */
  const half_t *residual; /* what is added to the result, [n, h, w, columns]; NULL: nothing is added */
  struct norm_conv_more more; /* what else is added */
  half_t *y;                  /* the result, [n, h, w, columns] */
  int n, h, w, columns;
};
/* Returns true if launch_norm_conv can do this norm and convolution, and is faster than two launches. */
bool norm_conv_supported(const struct launch_queue *queue, const struct norm_conv_args *args);
cudaError_t launch_norm_conv(const struct launch_queue *queue, const struct norm_conv_args *args);

#ifdef __cplusplus
}
#endif

#endif
