/* Describes an op as a matrix product, and appends launches that several implementations need. */
#ifndef CUDA_WAYS_PRODUCT_H
#define CUDA_WAYS_PRODUCT_H

#include "cuda/ways/way.h"

/* Fills in a product's sizes in the form that way.h describes. Returns the bytes of its prologue's result. */
size_t product_shape(const struct cuda_program *program, const struct op *op, struct gemm_args *shape);
/* Fills in the whole product: sizes, addresses, loaded weights, and its prologue as a launch. */
int product_fill(struct cuda_device *device, struct cuda_program *program, const struct plan *plan, int index,
                 struct product *product, struct error *err);

/* Returns the bytes of the input, concatenated and at the size that the product reads. */
static inline size_t product_dense_bytes(const struct gemm_args *shape) {
  size_t bytes =
      (size_t)shape->n * (size_t)shape->h * (size_t)shape->w * (size_t)(shape->c + shape->c2) * sizeof(half_t);
  return shape->upsample ? 4 * bytes : bytes;
}
/* If args has x2 or upsampling, appends a launch that makes that input, and lets args read it. */
int product_append_dense(const struct product *product, struct gemm_args *args, struct launches *launches,
                         struct error *err);
/* Appends the launches that follow a library's product: bias, residual and activation. x: the product's result. */
int product_append_epilogue(const struct product *product, const half_t *x, struct launches *launches,
                            struct error *err);

#endif
