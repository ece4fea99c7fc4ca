/* A group norm and the 3x3 convolution after it in one launch, for small pictures: norm_conv.cu. */
#ifndef CUDA_KERNELS_NORM_CONV_H
#define CUDA_KERNELS_NORM_CONV_H

#include "cuda/kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* y = conv(act(group norm(x ++ x2))) + bias + time + residual, stride 1, padding 1. */
struct norm_conv_args {
  const half_t *x, *x2; /* [n, h, w, c], [n, h, w, c2] */
  int c, c2;
  const float *gamma, *beta; /* [c + c2] or NULL */
  int groups;
  float eps;
  enum activation act;    /* ACT_NONE or ACT_SILU */
  const half_t *weight;   /* [columns, 9, c + c2] */
  const float *bias;      /* [columns] or NULL */
  const half_t *time;     /* [columns] or NULL */
  const half_t *residual; /* [n, h, w, columns] or NULL */
  half_t *y;              /* [n, h, w, columns] */
  int n, h, w, columns;
};
bool norm_conv_supported(const struct launch_queue *queue, const struct norm_conv_args *args);
cudaError_t launch_norm_conv(const struct launch_queue *queue, const struct norm_conv_args *args);

#ifdef __cplusplus
}
#endif

#endif
