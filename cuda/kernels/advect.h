/* Noise that moves with the picture, as in unet/plan/op_carry.h, and OP_START with the last frame's latent fed back. */
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
  int32_t *advected; /* result of OP_ADVECT: [h][w][ADVECTED_VALUES] (unet/plan/op_carry.h) */
  /* scratch memory of advect_scratch_bytes bytes, in which each thread block stores how many of its cells are strained
   * (stretched or squeezed too much); NULL if that size is 0 */
  int32_t *strained;

  /* The following fields are only for launch_carried_noise and launch_feedback. */
  /* noise: first table of noise, [samples][h][w][c]; second: second table, from which a cell gets its noise if
   * entry[cell] is h * w or more, [h][w][c]; last: latent of the last picture, [h][w][c] */
  const float *noise, *second, *last;
  int samples, first;
  const void *x; /* for launch_feedback: the input's latent, [h][w][c] */
  enum dtype x_type, y_type;
  void *y; /* the result: [samples][h][w][c] */
};

/* Returns how many bytes of scratch memory OP_ADVECT needs. In it, launch_advect_count's thread blocks store how many
 * strained cells they have found: cells that the motion has stretched or squeezed too much. The result is 0 for a small
 * latent, where launch_advect_count is not needed: each thread block of launch_advect_show counts all strained cells
 * faster. */
size_t advect_scratch_bytes(int h, int w);
/* The launches that do OP_ADVECT (noise that moves with the picture), in this order. launch_advect_move moves each
 * cell's position in the texture of noise (unet/plan/texture.h) with the picture. launch_advect_count counts the
 * strained cells (advect_scratch_bytes) in each part of the latent; it is left out if advect_scratch_bytes is 0.
 * launch_advect_show finds for each cell the entry of the two tables of noise that it reads, and stores the positions
 * of all cells for the next run. launch_advect_keep stores a new texture if this run renews it. */
cudaError_t launch_advect_move(const struct launch_queue *queue, const struct advect_args *args);
cudaError_t launch_advect_count(const struct launch_queue *queue, const struct advect_args *args);
cudaError_t launch_advect_show(const struct launch_queue *queue, const struct advect_args *args);
cudaError_t launch_advect_keep(const struct launch_queue *queue, const struct advect_args *args);
/* Does OP_CARRIED_NOISE: fills y with the noise that moves with the picture, or with `noise` unchanged. */
cudaError_t launch_carried_noise(const struct launch_queue *queue, const struct advect_args *args);
/* Computes OP_START with the operand `last` (feedback): mixes the last picture's latent into the input's latent, and
 * adds the noise. */
cudaError_t launch_feedback(const struct launch_queue *queue, const struct advect_args *args);

#ifdef __cplusplus
}
#endif

#endif
