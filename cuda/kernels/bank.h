/* Ops of the bank, a ring of keys and values of earlier frames, as in unet/plan/op_memory.h. */
#ifndef CUDA_KERNELS_BANK_H
#define CUDA_KERNELS_BANK_H

#include "cuda/kernels/kernels.h"
#include "cuda/kernels/quotient.h"

#ifdef __cplusplus
extern "C" {
#endif

struct recall_args {
  const struct run_block *block;
  /* one number, not 0 if the scene has changed (a cut), which empties the bank (earlier frames' keys and values); NULL:
   * the plan detects no cuts */
  const int32_t *cut;
  int32_t *bank;
};

struct remember_args {
  const int32_t *bank;
  const half_t *x; /* keys or values of this frame: n * tokens rows of c channels, each x_pitch elements after the row
                    * before */
  half_t *ring;    /* ring buffer for the keys or values of `room` frames: [n, room, tokens, c] */
  int n, tokens, c, x_pitch, room;
};

/* Does OP_RECALL at the beginning of a run: updates the number of frames in the bank (earlier frames' keys and values),
 * or empties the bank. */
cudaError_t launch_recall(const struct launch_queue *queue, const struct recall_args *args);
/* Does OP_REMEMBER: copies the keys or values of this frame into their ring buffer, if this frame is to be stored. */
cudaError_t launch_remember(const struct launch_queue *queue, const struct remember_args *args);

#ifdef __cplusplus
}
#endif

#endif
