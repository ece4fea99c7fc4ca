/* Ops that measure how the picture moved, as in unet/plan/op_motion.h. */
#ifndef CUDA_KERNELS_MOTION_H
#define CUDA_KERNELS_MOTION_H

#include "cuda/kernels/kernels.h"
#include "unet/plan/motion_math.h"

#ifdef __cplusplus
extern "C" {
#endif

struct motion_args {
  struct motion_size size;   /* level 0 is the picture */
  const half_t *x;           /* launch_pyramid: [h, w, 3] */
  float scale, bias;         /* conversion to 8-bit codes: floor(x * scale + bias) */
  const int32_t *now, *last; /* pyramids */
  const int32_t *match, *fit;
  int32_t *y;       /* result of launch_pyramid, launch_match and launch_fit */
  int32_t *scratch; /* motion_scratch_bytes of memory */
  /* launch_flow */
  const struct run_block *block;
  int32_t *kept; /* the state from which `last` is read */
  int32_t *flow, *back, *visible, *global;
  int cell, rows, columns; /* side of a cell in pixels, and the numbers of cells */
};

/* Returns the bytes of scratch memory that suffice for each of the four launches below. */
size_t motion_scratch_bytes(const struct motion_size *size);
cudaError_t launch_pyramid(const struct launch_queue *queue, const struct motion_args *args);
cudaError_t launch_match(const struct launch_queue *queue, const struct motion_args *args);
cudaError_t launch_fit(const struct launch_queue *queue, const struct motion_args *args);
cudaError_t launch_flow(const struct launch_queue *queue, const struct motion_args *args);

#ifdef __cplusplus
}
#endif

#endif
