/* Ops of the bank of earlier frames' keys and values, as in unet/plan/op_memory.h. */
#ifndef CUDA_KERNELS_BANK_H
#define CUDA_KERNELS_BANK_H

#include "cuda/kernels/kernels.h"
#include "cuda/kernels/quotient.h"

#ifdef __cplusplus
extern "C" {
#endif

struct recall_args {
  const struct run_block *block;
  const int32_t *cut; /* one value; not 0: the picture has changed altogether. NULL: nothing detects that */
  int32_t *bank;
};

struct remember_args {
  const int32_t *bank;
  const half_t *x; /* rows of c channels, with x_pitch from row to row */
  half_t *ring;    /* [n, room, tokens, c] */
  int n, tokens, c, x_pitch, room;
};

cudaError_t launch_recall(const struct launch_queue *queue, const struct recall_args *args);
cudaError_t launch_remember(const struct launch_queue *queue, const struct remember_args *args);

#ifdef __cplusplus
}
#endif

#endif
