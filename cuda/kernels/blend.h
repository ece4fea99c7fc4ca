/* blend.cu: calculates weights from the checkpoint's values and the terms that adapters add to them
 * (unet/plan/blend.h), many weights in one launch. */
#ifndef CUDA_KERNELS_BLEND_H
#define CUDA_KERNELS_BLEND_H

#include "cuda/kernels/kernels.h"
#include "unet/plan/blend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rows and columns of the part of a weight that one thread block calculates. */
enum { BLEND_ROWS = 64, BLEND_COLUMNS = 128 };

/* The term that one adapter adds: a struct blend_term whose factors are in device memory. */
struct blend_piece {
  enum blend_kind kind;
  enum blend_gain axis;
  float weight, scale;
  int rank, rank2, block_rows, block_channels;
  const float *left, *right, *left2, *right2, *gain;
};

/* A range of rows of one weight, which is calculated from base (the checkpoint's values) and the terms [first_piece,
 * first_piece + pieces). It is cut into tiles. Tiles are numbered from task to task without gaps. */
struct blend_task {
  const void *base;
  void *target;
  enum dtype base_type, type;
  int rows, columns, taps, channels;
  int first_piece, pieces;
  unsigned first_tile;
  /* True: every term is BLEND_PRODUCT with GAIN_NONE (an ordinary LoRA), so that the faster kernel can do it. */
  bool plain;
};

static inline unsigned blend_tiles(int rows, int columns) {
  unsigned down = ((unsigned)rows + BLEND_ROWS - 1) / BLEND_ROWS;
  return down * (((unsigned)columns + BLEND_COLUMNS - 1) / BLEND_COLUMNS);
}

/* The arguments of launch_blend. tasks, pieces (the terms of all tasks) and *overflow are in device memory. The caller
 * sets *overflow to 0. If a value is not finite in its target's type, *overflow becomes 1 + the task's number, of
 * several the largest. */
struct blend_args {
  const struct blend_task *tasks;
  const struct blend_piece *pieces;
  int count;
  unsigned first, tiles; /* number of the first tile, and of tiles, that this launch calculates */
  bool any_plain, any_other;
  int *overflow;
};
cudaError_t launch_blend(const struct launch_queue *queue, const struct blend_args *args);

#ifdef __cplusplus
}
#endif

#endif
