/* Noise that moves with the picture, as in unet/plan/op_carry.h, and OP_START with feedback. */
#ifndef CUDA_KERNELS_ADVECT_H
#define CUDA_KERNELS_ADVECT_H

#include "cuda/kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

struct advect_args {
  const struct run_block *block;
  int h, w, c, cell;
  const int32_t *flow, *visible, *global;
  int32_t *places, *entries;
  int32_t *advected; /* [h][w][ADVECTED_VALUES] */

  /* For launch_carried_noise and launch_feedback. */
  const float *noise, *second, *last; /* [samples][h][w][c], [h][w][c], [h][w][c] */
  int samples, first;
  const void *x; /* [h][w][c] */
  enum dtype x_type, y_type;
  void *y; /* [samples][h][w][c] */
};

/* OP_ADVECT takes these three launches in turn: the first one moves the field, the second one finds the entries and
 * stores the field, the third one stores the entries of a texture that is renewed. */
cudaError_t launch_advect_move(const struct launch_queue *queue, const struct advect_args *args);
cudaError_t launch_advect_show(const struct launch_queue *queue, const struct advect_args *args);
cudaError_t launch_advect_keep(const struct launch_queue *queue, const struct advect_args *args);
cudaError_t launch_carried_noise(const struct launch_queue *queue, const struct advect_args *args);
/* OP_START with `last`. */
cudaError_t launch_feedback(const struct launch_queue *queue, const struct advect_args *args);

#ifdef __cplusplus
}
#endif

#endif
