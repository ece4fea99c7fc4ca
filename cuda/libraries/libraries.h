/* NVIDIA's libraries, which are opened at run time when a GPU was found. On a machine without them the program uses its
 * own kernels. cublaslt.c contains all calls of cuBLASLt, and cudnn.c those of cuDNN.
 *
 * Threads: one thread at a time creates and destroys; another may launch at the same time.
 *
 * The libraries' answers for a shape are kept as long as they are open, so workspace_bytes must be the same in every
 * call. */
#ifndef CUDA_LIBRARIES_LIBRARIES_H
#define CUDA_LIBRARIES_LIBRARIES_H

#include "cuda/kernels/kernels.h"

struct blas;
struct blas_product;
struct dnn;
struct dnn_conv;

/* --- cuBLASLt: matrix products with bias and residual --- */

/* Returns the name with the major version that is opened, which is that of the headers at build time: "cuBLASLt 13". */
const char *blas_name(void);
/* Returns NULL if the library is missing. */
struct blas *blas_open(void);
void blas_close(struct blas *blas);           /* takes NULL */
size_t blas_version(const struct blas *blas); /* 0 for NULL */

/* Prepares a product y by the index-th algorithm that cuBLASLt's heuristics offer for args. args->kernel must be 1, and
 * there must be no second input x2. y includes bias if that is not NULL, and args->residual if args->act is ACT_NONE.
 * Where an activation follows, the caller passes no bias and applies bias, activation and residual to y itself. Returns
 * NULL if there is no such algorithm. */
struct blas_product *blas_product_create(struct blas *blas, const struct gemm_args *args, const half_t *bias, half_t *y,
                                         int index, void *workspace, size_t workspace_bytes);
void blas_product_destroy(struct blas_product *product); /* takes NULL */
cudaError_t blas_product_launch(const struct blas_product *product, cudaStream_t stream);

/* --- cuDNN: convolutions --- */

struct dnn *dnn_open(void); /* returns NULL if the library is missing */
void dnn_close(struct dnn *dnn);
size_t dnn_version(const struct dnn *dnn); /* 90140 is 9.14.0; 0 for NULL */

/* Returns the index-th deterministic engine configuration that cuDNN's heuristics offer for args (no x2, no
 * upsampling). fused: bias (args' own, in FP16), time, residual and activation are in the same kernel; otherwise y gets
 * the raw convolution. NULL: there is no such configuration. */
struct dnn_conv *dnn_conv_create(struct dnn *dnn, const struct gemm_args *args, const half_t *bias, bool fused,
                                 int index, void *workspace, size_t workspace_bytes);
void dnn_conv_destroy(struct dnn_conv *conv); /* takes NULL */
cudaError_t dnn_conv_launch(const struct dnn_conv *conv, cudaStream_t stream);

#endif
