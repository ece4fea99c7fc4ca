/* A product, the layer norm behind it and the product behind that, in one launch, for rows of 320 channels and compute
 * capability 9.0 (row_pair.cu). */
#ifndef CUDA_KERNELS_ROW_PAIR_H
#define CUDA_KERNELS_ROW_PAIR_H

#include "cuda/kernels/product_sm90.h"
#include "cuda/kernels/rows.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The arguments of launch_row_pair: h = residual + W1 x + bias; y = W2 layer_norm(h) + bias. All matrices are dense and
 * in FP16; sums and the norm are in FP32. The norm reads h as it is stored, rounded to FP16. */
struct row_pair {
  const half_t *x, *residual; /* [rows, c] each; residual NULL: 0 is added */
  struct row_product first;   /* W1 [c, c] */
  struct row_norm norm;
  struct row_product second; /* W2 [columns, c]; not read if columns is 0 */
  half_t *h;                 /* [rows, c]; it may be the memory of the residual */
  half_t *y;                 /* [rows, columns]; if columns is 0, [rows, c]: y = layer_norm(h) */
  int rows, c, columns;
};
/* Returns true if launch_row_pair has a second product of so many columns, which are not 0. */
bool row_pair_has(int columns);
/* Returns true if launch_row_pair can do this. Addresses that are NULL are not looked at. */
bool row_pair_supported(const struct product_device *device, const struct row_pair *args);
/* Returns how many thread blocks a launch for so many rows has. */
int row_pair_blocks(int rows);
cudaError_t launch_row_pair(const struct product_device *device, const struct launch_queue *queue,
                            const struct row_pair *args);

#ifdef __cplusplus
}
#endif

#endif
