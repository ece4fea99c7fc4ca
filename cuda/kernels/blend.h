/* blend.cu: weights as the checkpoint's values and what adapters add to them (unet/plan/blend.h), many in one launch.
 */
#ifndef CUDA_KERNELS_BLEND_H
#define CUDA_KERNELS_BLEND_H

#include "cuda/kernels/kernels.h"
#include "unet/plan/blend.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { BLEND_ROWS = 64, BLEND_COLUMNS = 128 }; /* of a tile */

/* What one adapter adds: a struct blend_term with its factors in device memory. */
struct blend_piece {
  enum blend_kind kind;
  enum blend_gain axis;
  float weight, scale;
  int rank, rank2, block_rows, block_channels;
  const float *left, *right, *left2, *right2, *gain;
};

/* Some rows of a weight. The tasks' tiles follow each other. */
struct blend_task {
  const void *base;
  void *target;
  enum dtype base_type, type;
  int rows, columns, taps, channels;
  int first_piece, pieces;
  unsigned first_tile;
  bool plain; /* its pieces are products without gains */
};

static inline unsigned blend_tiles(int rows, int columns) {
  unsigned down = ((unsigned)rows + BLEND_ROWS - 1) / BLEND_ROWS;
  return down * (((unsigned)columns + BLEND_COLUMNS - 1) / BLEND_COLUMNS);
}

/* tasks, pieces and *overflow are in device memory. Where a value is not finite in the target's type, *overflow becomes
 * the largest 1 + task's number of those; it is 0 before. */
struct blend_args {
  const struct blend_task *tasks;
  const struct blend_piece *pieces;
  int count;
  unsigned first, tiles; /* those that are made */
  bool any_plain, any_other;
  int *overflow;
};
cudaError_t launch_blend(const struct launch_queue *queue, const struct blend_args *args);

#ifdef __cplusplus
}
#endif

#endif
