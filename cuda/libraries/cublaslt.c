/* Calls of cuBLASLt. The library's matrices are stored column by column and this program's row by row, so the library
 * is asked for the transposed product: y^T [columns, rows] = W [columns, depth] x^T [depth, rows]. */
#include "cuda/libraries/libraries.h"

#include <dlfcn.h>
#include <stdlib.h>

#if HAVE_CUBLASLT
#include <cublasLt.h>

enum { OFFERS_MAX = 4 };

/* The algorithms that cuBLASLt's heuristics offer for products of one shape. The list is kept, because networks repeat
 * their shapes and the heuristics are slow. */
struct offers {
  struct offers *next;
  uint64_t rows, columns, depth;
  bool bias;
  cublasLtMatmulHeuristicResult_t list[OFFERS_MAX];
  int count; /* number of algorithms in `list`; 0: the heuristics offer none for this shape */
};

struct blas {
  struct offers *offers;
  void *library;
  cublasLtHandle_t handle; /* handle of the library, created when it is first needed, because creating one is slow;
                            * NULL: none yet */
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
  float beta; /* factor of the residual: 1 if the library adds it, else 0 */
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

/* The name of the library's file contains the major version of the headers used at build time, because functions of
 * another major version may take other arguments. */
#define AS_TEXT(x) #x
#define TEXT(x) AS_TEXT(x)
#define MAJOR TEXT(CUBLAS_VER_MAJOR)

const char *blas_name(void) {
  return "cuBLASLt " MAJOR;
}

struct blas *blas_open(void) {
  static const char *const names[] = {"libcublasLt.so." MAJOR, "/usr/local/cuda/lib64/libcublasLt.so." MAJOR};
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
  while (blas->offers) {
    struct offers *offers = blas->offers;
    blas->offers = offers->next;
    free(offers);
  }
  if (blas->handle)
    blas->destroy(blas->handle);
  /* The library is not closed: the CUDA runtime knows its kernels, and unloading it then is not supported. */
  free(blas);
}

size_t blas_version(const struct blas *blas) {
  return blas ? blas->version : 0;
}

static uint64_t rows_of(const struct gemm_args *args) {
  return (uint64_t)args->n * (uint64_t)args->h * (uint64_t)args->w;
}

static bool describe(struct blas_product *product, const half_t *bias) {
  struct blas *blas = product->blas;
  const struct gemm_args *args = &product->args;
  uint64_t rows = rows_of(args), columns = (uint64_t)args->columns, depth = (uint64_t)args->c;
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

static void ask_heuristics(const struct blas_product *product, struct offers *offers) {
  struct blas *blas = product->blas;
  cublasLtMatmulPreference_t preference = NULL;
  size_t bytes = product->workspace_bytes;
  if (blas->preference_create(&preference))
    return;
  if (blas->preference_set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes) ||
      blas->heuristic(blas->handle, product->desc, product->weight, product->x, product->y, product->y, preference,
                      OFFERS_MAX, offers->list, &offers->count))
    offers->count = 0;
  blas->preference_destroy(preference);
}

/* Returns the list of the algorithms that cuBLASLt offers for this product; asks its heuristics if there is no list for
 * this shape yet. NULL: out of memory. */
static const struct offers *find_offers(const struct blas_product *product, bool bias) {
  struct blas *blas = product->blas;
  const struct gemm_args *args = &product->args;
  uint64_t rows = rows_of(args), columns = (uint64_t)args->columns, depth = (uint64_t)args->c;
  struct offers *offers = blas->offers;
  while (offers &&
         (offers->rows != rows || offers->columns != columns || offers->depth != depth || offers->bias != bias))
    offers = offers->next;
  if (offers)
    return offers;
  offers = calloc(1, sizeof *offers);
  if (!offers)
    return NULL;
  offers->rows = rows;
  offers->columns = columns;
  offers->depth = depth;
  offers->bias = bias;
  offers->next = blas->offers;
  blas->offers = offers;
  ask_heuristics(product, offers);
  return offers;
}

/* Stores in product->algorithm number `index` of the algorithms that cuBLASLt's heuristics offer for this product.
 * Returns false if there is no such algorithm. */
static bool choose(struct blas_product *product, bool bias, int index) {
  const struct offers *offers = find_offers(product, bias);
  if (!offers || index < 0 || index >= offers->count || offers->list[index].state != CUBLAS_STATUS_SUCCESS)
    return false;
  product->algorithm = offers->list[index].algo;
  return true;
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
  if (describe(product, bias) && choose(product, bias != NULL, index))
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

const char *blas_name(void) {
  return "cuBLASLt";
}
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
