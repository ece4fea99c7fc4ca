/* The ops around a depth network, as in unet/plan/op.h: patches, tokens as pictures, interpolation, a range that
 * follows the scene. */
#ifndef CUDA_KERNELS_DEPTH_H
#define CUDA_KERNELS_DEPTH_H

#include "cuda/kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

struct depth_args {
  const half_t *x, *residual; /* residual may be NULL */
  half_t *y;
  float *range;            /* [3] */
  float *means;            /* of squares: room for DEPTH_SQUARES_MAX */
  int n, h, w, c;          /* of x */
  int y_h, y_w, y_c;       /* of y */
  int rows, columns, size; /* of patches and squares */
  int skip;                /* rows of tokens */
  float scale[3], bias[3];
  const struct run_block *block;
  int control;
};
enum { DEPTH_SQUARES_MAX = NORM_PARTIAL_FLOATS };

cudaError_t launch_patches(const struct launch_queue *queue, const struct depth_args *args);
cudaError_t launch_unpatch(const struct launch_queue *queue, const struct depth_args *args);
cudaError_t launch_resize(const struct launch_queue *queue, const struct depth_args *args);
/* The means of all squares, then what becomes of the range by them. */
cudaError_t launch_squares(const struct launch_queue *queue, const struct depth_args *args);
cudaError_t launch_range(const struct launch_queue *queue, const struct depth_args *args);
cudaError_t launch_spread(const struct launch_queue *queue, const struct depth_args *args);

#ifdef __cplusplus
}
#endif

#endif
