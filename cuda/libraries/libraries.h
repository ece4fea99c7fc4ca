/* NVIDIA's libraries, opened at run time once a GPU was found: a machine without them runs the same program on the
 * project's own kernels. cublaslt.c knows cuBLASLt, cudnn.c cuDNN.
 *
 * Threads: one at a time creates and destroys; another may launch meanwhile.
 *
 * What the libraries answer for a shape is kept as long as they are open, so workspace_bytes is to be the same in every
 * call. */
#ifndef CUDA_LIBRARIES_LIBRARIES_H
#define CUDA_LIBRARIES_LIBRARIES_H

#include "cuda/kernels/kernels.h"

struct blas;
struct blas_product;
struct dnn;
struct dnn_conv;

/* --- cuBLASLt: matrix products with bias and residual --- */

/* "cuBLASLt 13": with the major version that is opened, which is that of the headers at hand when this was built. */
const char *blas_name(void);
/* NULL when the library is not there. */
struct blas *blas_open(void);
void blas_close(struct blas *blas);           /* takes NULL */
size_t blas_version(const struct blas *blas); /* 0 for NULL */

/* The index-th algorithm that cuBLASLt's heuristics offer for args (kernel 1, no x2), with bias added when bias is not
 * NULL, and the residual when args has one and no activation. With an activation the raw product goes to y. NULL when
 * there is none. */
struct blas_product *blas_product_create(struct blas *blas, const struct gemm_args *args, const half_t *bias, half_t *y,
                                         int index, void *workspace, size_t workspace_bytes);
void blas_product_destroy(struct blas_product *product); /* takes NULL */
cudaError_t blas_product_launch(const struct blas_product *product, cudaStream_t stream);

/* --- cuDNN: convolutions --- */

struct dnn *dnn_open(void); /* NULL when the library is not there */
void dnn_close(struct dnn *dnn);
size_t dnn_version(const struct dnn *dnn); /* 90140 is 9.14.0; 0 for NULL */

/* The index-th engine configuration that cuDNN's heuristics offer for args (no x2, no upsampling) among the
 * deterministic ones. fused: bias (args' own, in FP16), time, residual and activation in the same kernel; else the raw
 * convolution goes to y. NULL when there is none. */
struct dnn_conv *dnn_conv_create(struct dnn *dnn, const struct gemm_args *args, const half_t *bias, bool fused,
                                 int index, void *workspace, size_t workspace_bytes);
void dnn_conv_destroy(struct dnn_conv *conv); /* takes NULL */
cudaError_t dnn_conv_launch(const struct dnn_conv *conv, cudaStream_t stream);

#endif
