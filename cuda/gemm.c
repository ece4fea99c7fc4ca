/* cuBLASLt. Its matrices are columns after each other; ours are rows after each other, so it is asked for the
 * transposed product: y^T [columns, rows] = W [columns, depth] x^T [depth, rows]. */
#include "libraries.h"

#include <dlfcn.h>
#include <stdlib.h>

#if HAVE_CUBLASLT
#include <cublasLt.h>

struct blas {
  void *library;
  cublasLtHandle_t handle; /* made on first use: it is slow */
  size_t version;
  __typeof__(&cublasLtCreate) create;
  __typeof__(&cublasLtDestroy) destroy;
  __typeof__(&cublasLtMatmulDescCreate) desc_create;
  __typeof__(&cublasLtMatmulDescDestroy) desc_destroy;
  __typeof__(&cublasLtMatmulDescSetAttribute) desc_set;
  __typeof__(&cublasLtMatrixLayoutCreate) layout_create;
  __typeof__(&cublasLtMatrixLayoutDestroy) layout_destroy;
  __typeof__(&cublasLtMatmulPreferenceCreate) preference_create;
  __typeof__(&cublasLtMatmulPreferenceDestroy) preference_destroy;
  __typeof__(&cublasLtMatmulPreferenceSetAttribute) preference_set;
  __typeof__(&cublasLtMatmulAlgoGetHeuristic) heuristic;
  __typeof__(&cublasLtMatmul) matmul;
};

struct blas_product {
  struct blas *blas;
  cublasLtMatmulDesc_t desc;
  cublasLtMatrixLayout_t weight, x, y;
  cublasLtMatmulAlgo_t algorithm;
  struct gemm_args args;
  half_t *out;
  float beta; /* 1: the residual is added */
  void *workspace;
  size_t workspace_bytes;
};

static bool load(struct blas *blas) {
  const struct {
    void *pointer;
    const char *name;
  } symbols[] = {
      {&blas->create, "cublasLtCreate"},
      {&blas->destroy, "cublasLtDestroy"},
      {&blas->desc_create, "cublasLtMatmulDescCreate"},
      {&blas->desc_destroy, "cublasLtMatmulDescDestroy"},
      {&blas->desc_set, "cublasLtMatmulDescSetAttribute"},
      {&blas->layout_create, "cublasLtMatrixLayoutCreate"},
      {&blas->layout_destroy, "cublasLtMatrixLayoutDestroy"},
      {&blas->preference_create, "cublasLtMatmulPreferenceCreate"},
      {&blas->preference_destroy, "cublasLtMatmulPreferenceDestroy"},
      {&blas->preference_set, "cublasLtMatmulPreferenceSetAttribute"},
      {&blas->heuristic, "cublasLtMatmulAlgoGetHeuristic"},
      {&blas->matmul, "cublasLtMatmul"},
  };
  for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++)
    if (!(*(void **)symbols[i].pointer = dlsym(blas->library, symbols[i].name)))
      return false;
  __typeof__(&cublasLtGetVersion) version = NULL;
  *(void **)&version = dlsym(blas->library, "cublasLtGetVersion");
  blas->version = version ? version() : 0;
  return true;
}

struct blas *blas_open(void) {
  static const char *const names[] = {"libcublasLt.so.13", "/usr/local/cuda/lib64/libcublasLt.so.13"};
  struct blas *blas = calloc(1, sizeof *blas);
  if (!blas)
    return NULL;
  for (size_t i = 0; i < sizeof names / sizeof names[0] && !blas->library; i++)
    blas->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
  if (blas->library && load(blas))
    return blas;
  blas_close(blas);
  return NULL;
}

void blas_close(struct blas *blas) {
  if (!blas)
    return;
  if (blas->handle)
    blas->destroy(blas->handle);
  /* The library stays mapped: unloading it while the CUDA runtime knows its kernels is not supported. */
  free(blas);
}

size_t blas_version(const struct blas *blas) {
  return blas ? blas->version : 0;
}

static bool describe(struct blas_product *product, const half_t *bias) {
  struct blas *blas = product->blas;
  const struct gemm_args *args = &product->args;
  uint64_t rows = (uint64_t)args->n * (uint64_t)args->h * (uint64_t)args->w, columns = (uint64_t)args->columns,
           depth = (uint64_t)args->c;
  cublasOperation_t transposed = CUBLAS_OP_T;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
  if (blas->desc_create(&product->desc, CUBLAS_COMPUTE_32F, CUDA_R_32F) ||
      blas->desc_set(product->desc, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed) ||
      blas->layout_create(&product->weight, CUDA_R_16F, depth, columns, (int64_t)depth) ||
      blas->layout_create(&product->x, CUDA_R_16F, depth, rows, (int64_t)depth) ||
      blas->layout_create(&product->y, CUDA_R_16F, columns, rows, (int64_t)columns))
    return false;
  return !bias || (!blas->desc_set(product->desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue) &&
                   !blas->desc_set(product->desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias));
}

/* The index-th algorithm that the heuristics offer. */
static bool choose(struct blas_product *product, int index) {
  enum { OFFERS = 4 };
  struct blas *blas = product->blas;
  cublasLtMatmulPreference_t preference = NULL;
  cublasLtMatmulHeuristicResult_t results[OFFERS];
  size_t bytes = product->workspace_bytes;
  int count = 0;
  bool found = !blas->preference_create(&preference) &&
               !blas->preference_set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes) &&
               !blas->heuristic(blas->handle, product->desc, product->weight, product->x, product->y, product->y,
                                preference, OFFERS, results, &count) &&
               index < count && index < OFFERS && results[index].state == CUBLAS_STATUS_SUCCESS;
  if (found)
    product->algorithm = results[index].algo;
  if (preference)
    blas->preference_destroy(preference);
  return found;
}

struct blas_product *blas_product_create(struct blas *blas, const struct gemm_args *args, const half_t *bias, half_t *y,
                                         int index, void *workspace, size_t workspace_bytes) {
  if (!blas->handle && blas->create(&blas->handle)) {
    blas->handle = NULL;
    return NULL;
  }
  struct blas_product *product = calloc(1, sizeof *product);
  if (!product)
    return NULL;
  product->blas = blas;
  product->args = *args;
  product->out = y;
  product->beta = args->residual && args->act == ACT_NONE;
  product->workspace = workspace;
  product->workspace_bytes = workspace_bytes;
  if (describe(product, bias) && choose(product, index))
    return product;
  blas_product_destroy(product);
  return NULL;
}

void blas_product_destroy(struct blas_product *product) {
  if (!product)
    return;
  struct blas *blas = product->blas;
  if (product->desc)
    blas->desc_destroy(product->desc);
  if (product->weight)
    blas->layout_destroy(product->weight);
  if (product->x)
    blas->layout_destroy(product->x);
  if (product->y)
    blas->layout_destroy(product->y);
  free(product);
}

cudaError_t blas_product_launch(const struct blas_product *product, cudaStream_t stream) {
  const struct gemm_args *args = &product->args;
  const float alpha = 1;
  const void *residual = product->beta != 0 ? args->residual : product->out;
  cublasStatus_t status =
      product->blas->matmul(product->blas->handle, product->desc, &alpha, args->weight, product->weight, args->x,
                            product->x, &product->beta, residual, product->y, product->out, product->y,
                            &product->algorithm, product->workspace, product->workspace_bytes, stream);
  return status == CUBLAS_STATUS_SUCCESS ? cudaSuccess : cudaErrorUnknown;
}

#else

struct blas *blas_open(void) {
  return NULL;
}
void blas_close(struct blas *blas) {
  (void)blas;
}
size_t blas_version(const struct blas *blas) {
  (void)blas;
  return 0;
}
struct blas_product *blas_product_create(struct blas *blas, const struct gemm_args *args, const half_t *bias, half_t *y,
                                         int index, void *workspace, size_t workspace_bytes) {
  (void)blas, (void)args, (void)bias, (void)y, (void)index, (void)workspace, (void)workspace_bytes;
  return NULL;
}
void blas_product_destroy(struct blas_product *product) {
  (void)product;
}
cudaError_t blas_product_launch(const struct blas_product *product, cudaStream_t stream) {
  (void)product, (void)stream;
  return cudaErrorNotSupported;
}

#endif
