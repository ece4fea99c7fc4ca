/* Calculates weights from the checkpoint's values and the terms that adapters add to them (unet/plan/blend.h), many
 * weights in one launch; implemented in blend.cu. */
#ifndef CUDA_KERNELS_BLEND_H
#define CUDA_KERNELS_BLEND_H

#include "cuda/kernels/kernels.h"
#include "unet/plan/blend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rows and columns of the part of a weight that one thread block calculates. */
enum { BLEND_ROWS = 64, BLEND_COLUMNS = 128 };

/* A term that an adapter adds to a weight: struct blend_term of unet/plan/blend.h with device addresses of its
 * factors. */
struct blend_piece {
  enum blend_kind kind;
  enum blend_gain axis;
  float weight, scale;
  int rank, rank2, block_rows, block_channels;
  const float *left, *right, *left2, *right2, *gain;
};

/* A task: some rows of one weight are calculated from `base` (the checkpoint's values) and the terms that adapters add,
 * blend_args.pieces[first_piece] to [first_piece + pieces - 1]. The rows are divided into tiles, which are numbered
 * through all tasks; first_tile is the number of this task's first one. */
struct blend_task {
  const void *base;
  void *target;
  enum dtype base_type, type;
  int rows, columns, taps, channels;
  int first_piece, pieces;
  unsigned first_tile;
  /* true: every term is an ordinary LoRA (BLEND_PRODUCT with GAIN_NONE), so that the faster kernel can do the task */
  bool plain;
};

static inline unsigned blend_tiles(int rows, int columns) {
  unsigned down = ((unsigned)rows + BLEND_ROWS - 1) / BLEND_ROWS;
  return down * (((unsigned)columns + BLEND_COLUMNS - 1) / BLEND_COLUMNS);
}

/* The arguments of launch_blend. tasks (`count` of them), pieces (the terms of all tasks) and overflow are in device
 * memory. *overflow tells if a calculated value is not finite in its target's type: the caller sets it to 0, and it
 * becomes 1 + the number of the task with such a value (the largest number, if there are several). */
struct blend_args {
  const struct blend_task *tasks;
  const struct blend_piece *pieces;
  int count;
  /* index, among the tiles of all tasks, of the first tile that this launch calculates; how many tiles it calculates */
  unsigned first, tiles;
  bool any_plain, any_other;
  int *overflow;
};
cudaError_t launch_blend(const struct launch_queue *queue, const struct blend_args *args);

#ifdef __cplusplus
}
#endif

#endif
