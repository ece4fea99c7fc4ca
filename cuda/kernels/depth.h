/* Launches of the ops around the depth network (unet/plan/op_pixels.h): they cut pictures into patches, turn tokens
 * into pictures, interpolate, and keep a range of depths that adapts to the scene. */
#ifndef CUDA_KERNELS_DEPTH_H
#define CUDA_KERNELS_DEPTH_H

#include "cuda/kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

struct depth_args {
  const half_t *x, *residual; /* inputs of the op in FP16: x, and a residual, which launch_resize adds (NULL: it adds
                               * none) */
  half_t *y;
  /* three floats in device memory: lowest depth, highest depth, and 1 if these two are known, 0 before the first
   * frame */
  float *range;
  float *means;      /* DEPTH_SQUARES_MAX floats: the mean of each square into which a depth map is divided */
  int n, h, w, c;    /* size of x, [n, h, w, c] */
  int y_h, y_w, y_c; /* size of y, [n, y_h, y_w, y_c] */
  /* rows, columns: into how many patches or squares the picture is divided; size: their side in pixels */
  int rows, columns, size;
  int skip; /* number of tokens at the beginning of x that stand for no patch (the class token) */
  float scale[3], bias[3];
  const struct run_block *block;
  int control;
};
enum { DEPTH_SQUARES_MAX = NORM_PARTIAL_FLOATS };

/* launch_patches does OP_PATCHES (a picture to patches), launch_unpatch OP_UNPATCH, launch_resize OP_RESIZE. */
cudaError_t launch_patches(const struct launch_queue *queue, const struct depth_args *args);
cudaError_t launch_unpatch(const struct launch_queue *queue, const struct depth_args *args);
cudaError_t launch_resize(const struct launch_queue *queue, const struct depth_args *args);
/* launch_squares stores the mean depth of each square of a depth map in `means`; launch_range then updates `range` from
 * these means. */
cudaError_t launch_squares(const struct launch_queue *queue, const struct depth_args *args);
cudaError_t launch_range(const struct launch_queue *queue, const struct depth_args *args);
/* Does OP_SPREAD: enlarges a depth map, and maps the range of depths to 0 to 1. */
cudaError_t launch_spread(const struct launch_queue *queue, const struct depth_args *args);

#ifdef __cplusplus
}
#endif

#endif
