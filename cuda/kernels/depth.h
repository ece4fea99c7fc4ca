/* Ops of the depth networks, as in unet/plan/op.h: patches, tokens as pictures, interpolation, and a range of depths
 * that follows the scene. */
#ifndef CUDA_KERNELS_DEPTH_H
#define CUDA_KERNELS_DEPTH_H

#include "cuda/kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

struct depth_args {
  const half_t *x, *residual; /* residual may be NULL */
  half_t *y;
  float *range;            /* 3 floats: least value, greatest value, and 1 if these are set, 0 before the first frame */
  float *means;            /* means of the squares into which a depth map is divided; has room for DEPTH_SQUARES_MAX */
  int n, h, w, c;          /* size of x */
  int y_h, y_w, y_c;       /* size of y */
  int rows, columns, size; /* rows and columns of patches or squares, and their size in pixels */
  int skip;                /* number of tokens at the beginning of x that stand for no patch (the class token) */
  float scale[3], bias[3];
  const struct run_block *block;
  int control;
};
enum { DEPTH_SQUARES_MAX = NORM_PARTIAL_FLOATS };

cudaError_t launch_patches(const struct launch_queue *queue, const struct depth_args *args);
cudaError_t launch_unpatch(const struct launch_queue *queue, const struct depth_args *args);
cudaError_t launch_resize(const struct launch_queue *queue, const struct depth_args *args);
/* launch_squares stores the means of all squares; launch_range then updates the range from them. */
cudaError_t launch_squares(const struct launch_queue *queue, const struct depth_args *args);
cudaError_t launch_range(const struct launch_queue *queue, const struct depth_args *args);
cudaError_t launch_spread(const struct launch_queue *queue, const struct depth_args *args);

#ifdef __cplusplus
}
#endif

#endif
