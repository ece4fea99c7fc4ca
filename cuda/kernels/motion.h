/* Launches of the ops that measure how the picture has moved since the last run (unet/plan/op_motion.h). */
#ifndef CUDA_KERNELS_MOTION_H
#define CUDA_KERNELS_MOTION_H

#include "cuda/kernels/kernels.h"
#include "unet/plan/motion_math.h"

#ifdef __cplusplus
extern "C" {
#endif

struct motion_args {
  struct motion_size size;   /* width and height of each level of the pyramids; level 0 is the picture */
  const half_t *x;           /* for launch_pyramid: the picture, [h, w, 3] */
  float scale, bias;         /* for launch_pyramid: floor(x * scale + bias) is the 8-bit code of a value x */
  const int32_t *now, *last; /* pyramids of this frame's picture and of the last one's, as OP_PYRAMID stores them */
  const int32_t *match, *fit;
  int32_t *y;       /* result of launch_pyramid, launch_match or launch_fit, in the layout of that op's y */
  int32_t *scratch; /* scratch memory on the device, of motion_scratch_bytes(&size) bytes */
  /* for launch_flow: the run's parameters in device memory */
  const struct run_block *block;
  int32_t *kept; /* for launch_flow: the state with the last frame's pyramid, which is replaced by this frame's */
  int32_t *flow, *visible, *global;
  /* for launch_flow: side of a cell (a pixel of the latent) in pixels of the picture; numbers of rows and columns of
   * cells */
  int cell, rows, columns;
};

/* Returns how many bytes of scratch memory each of the following four functions needs at most. */
size_t motion_scratch_bytes(const struct motion_size *size);
/* launch_pyramid does OP_PYRAMID, launch_match OP_MATCH, launch_fit OP_FIT, and launch_flow OP_FLOW. */
cudaError_t launch_pyramid(const struct launch_queue *queue, const struct motion_args *args);
cudaError_t launch_match(const struct launch_queue *queue, const struct motion_args *args);
cudaError_t launch_fit(const struct launch_queue *queue, const struct motion_args *args);
cudaError_t launch_flow(const struct launch_queue *queue, const struct motion_args *args);

#ifdef __cplusplus
}
#endif

#endif
