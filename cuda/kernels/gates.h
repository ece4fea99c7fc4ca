/* The epilogue of a product with GEGLU that a library has computed. */
#ifndef CUDA_KERNELS_GATES_H
#define CUDA_KERNELS_GATES_H

#include "cuda/kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the epilogue also makes for a product behind it that reads its result and another matrix side by side. */
struct gates_beside {
  /* The matrix, [rows, c], c a multiple of 8. Rows of y are then c elements longer, and end with its rows. NULL: not
   * wanted; then there is no bias either. */
  const half_t *x;
  int c;
  /* bias_f16 becomes bias, rounded to FP16; both have `count` elements */
  const float *bias;
  half_t *bias_f16;
  int count;
};

/* Finishes a product with ACT_GEGLU, as launch_epilogue does with other activations. args->columns is a multiple of 16;
 * there is neither time nor gain, and x is not y. If something is wanted beside, there is no residual. */
cudaError_t launch_gates(const struct launch_queue *queue, const struct epilogue_args *args,
                         const struct gates_beside *beside);

#ifdef __cplusplus
}
#endif

#endif
