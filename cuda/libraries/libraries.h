/* NVIDIA's libraries cuBLASLt and cuDNN, which are opened at run time if there is a GPU. On a machine without them the
 * program uses its own kernels. Only cublaslt.c calls cuBLASLt, and only cudnn.c calls cuDNN. The algorithms that a
 * library offers for a shape are kept as long as the library is open, so workspace_bytes must be the same in every
 * call.
 *
 * Threads: functions whose names end in create or destroy must be called by one thread at a time; another thread may
 * launch meanwhile. */
#ifndef CUDA_LIBRARIES_LIBRARIES_H
#define CUDA_LIBRARIES_LIBRARIES_H

#include "cuda/kernels/kernels.h"

struct blas;
struct blas_product;
struct dnn;
struct dnn_conv;

/* --- cuBLASLt: matrix products with bias and residual --- */

/* Returns the library's name with the major version that this program opens, such as "cuBLASLt 13". It is the version
 * of the headers with which the program was built. */
const char *blas_name(void);
/* Opens cuBLASLt. Returns NULL if the library is missing. */
struct blas *blas_open(void);
void blas_close(struct blas *blas);           /* frees *blas and the handle of cuBLASLt; `blas` may be NULL */
size_t blas_version(const struct blas *blas); /* returns the library's version; 0 if `blas` is NULL */

/* Prepares the product y by algorithm number `index` of those that cuBLASLt's heuristics offer for args. args->kernel
 * must be 1, and x2 NULL. `bias` is added unless it is NULL; the residual is added if args->act is ACT_NONE. With an
 * activation, the caller passes no bias, and applies bias, activation and residual to y itself. Returns NULL if there
 * is no such algorithm, if cuBLASLt refuses it, or if memory runs out. */
struct blas_product *blas_product_create(struct blas *blas, const struct gemm_args *args, const half_t *bias, half_t *y,
                                         int index, void *workspace, size_t workspace_bytes);
void blas_product_destroy(struct blas_product *product); /* frees the product; `product` may be NULL */
cudaError_t blas_product_launch(const struct blas_product *product, cudaStream_t stream);

/* --- cuDNN: convolutions --- */

struct dnn *dnn_open(void); /* opens cuDNN; returns NULL if the library is missing */
void dnn_close(struct dnn *dnn);
/* returns the library's version, such as 90140 for 9.14.0; 0 if dnn is NULL */
size_t dnn_version(const struct dnn *dnn);

/* Prepares a convolution by one of the configurations that cuDNN's heuristics offer for args: number `index` of those
 * that give the same result every time. args must have no x2 and no upsampling. fused: true: the kernel also adds
 * `bias` (FP16, in place of args->bias) and residual, and applies ReLU if args->act is that; false: y is the
 * convolution alone. Returns NULL if there is no such configuration, if cuDNN refuses it, or if memory runs out. If
 * fused, also if args has another activation, or if the bias is not aligned to 16 bytes. */
struct dnn_conv *dnn_conv_create(struct dnn *dnn, const struct gemm_args *args, const half_t *bias, bool fused,
                                 int index, void *workspace, size_t workspace_bytes);
void dnn_conv_destroy(struct dnn_conv *conv); /* frees the convolution; `conv` may be NULL */
cudaError_t dnn_conv_launch(const struct dnn_conv *conv, cudaStream_t stream);

#endif
