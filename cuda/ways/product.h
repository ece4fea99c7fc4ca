/* Describes an op as a matrix product, and appends launches that several ways (implementations of products) need. */
#ifndef CUDA_WAYS_PRODUCT_H
#define CUDA_WAYS_PRODUCT_H

#include "cuda/ways/way.h"

/* Fills *shape with the sizes, but no addresses, of the matrix product that computes an op. c2 is 0 if a launch before
 * it concatenates the inputs. Returns how many bytes the result of the prologue (the norm or activation before the
 * product) takes; 0: there is no prologue. */
size_t product_shape(const struct cuda_program *program, const struct op *op, struct gemm_args *shape);
/* Fills *product with all that is needed for the matrix product that computes op number `index`: sizes, addresses,
 * loaded weights, and the launch of its prologue (the norm or activation before the product). If some ways read the
 * weight as four of 2x2 (product_in_quarters), args.weight may be NULL. product_load loads it then. */
int product_fill(struct cuda_device *device, struct cuda_program *program, const struct plan *plan, int index,
                 struct product *product, struct error *err);
int product_load(struct cuda_device *device, struct product *product, struct error *err);

/* product_fold_shape fills *shape with the sizes, but no addresses, of the product that does two linear layers as one:
 * op and the op behind it, whose input is the result of the first. product_fold fills *product for it. */
void product_fold_shape(const struct op *op, struct gemm_args *shape);
int product_fold(struct cuda_device *device, struct cuda_program *program, const struct plan *plan, int index,
                 struct product *product, struct error *err);

/* product_add_shape fills *shape with the sizes, but no addresses, of the 3x3 convolution behind op with that op, a
 * linear layer, as its second product. product_add fills *product for op number `index` and the convolution behind
 * it. */
void product_add_shape(const struct cuda_program *program, const struct op *op, struct gemm_args *shape);
int product_add(struct cuda_device *device, struct cuda_program *program, const struct plan *plan, int index,
                struct product *product, struct error *err);

/* Returns how many bytes the product's input takes if both inputs are concatenated and upsampled in memory. */
static inline size_t product_dense_bytes(const struct gemm_args *shape) {
  size_t bytes =
      (size_t)shape->n * (size_t)shape->h * (size_t)shape->w * (size_t)(shape->c + shape->c2) * sizeof(half_t);
  return shape->upsample ? 4 * bytes : bytes;
}
/* Returns true if the own kernels do a convolution after an upsampling by 2 as four 2x2 convolutions before the
 * upsampling, with the weights of resource_quartered. They need 4/9 of the arithmetic, but 16/9 of the weights. So they
 * are slower where reading weights takes most of the time, which is with few rows. */
bool product_in_quarters(const struct gemm_args *args);

/* For ways that take only one input, without upsampling: if args has a second input x2 or upsampling, appends a launch
 * that makes the concatenated, upsampled input, and lets args read that. A norm of the same two inputs may make it in
 * the launch's place. */
int product_append_dense(const struct cuda_device *device, const struct product *product, struct gemm_args *args,
                         struct launches *launches, struct error *err);
/* Appends a launch that finishes x, the result of a library's product: it adds bias, time and residual, activates, and
 * writes product->args.y. */
int product_append_epilogue(const struct product *product, const half_t *x, struct launches *launches,
                            struct error *err);

#endif
