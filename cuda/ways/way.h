/* Ways to do a convolution, a linear layer or an injection. All of these are products of rows with a weight matrix
 * (struct gemm_args). The rest of an op, its prologue, runs before the product.
 *
 * A way is a struct of functions in a file of its own, listed in ways.c. A new one also needs a kind of launch, and the
 * operands of its launch, in launches.h. */
#ifndef CUDA_WAYS_WAY_H
#define CUDA_WAYS_WAY_H

#include "cuda/program.h"

/* Areas of a program's scratch memory. SCRATCH_PROLOGUE: the prologue's result. SCRATCH_DENSE: the input as one
 * picture, concatenated and upsampled. SCRATCH_LIBRARY: a library's product before its GEGLU, or the sum of bias and
 * time row. */
enum { SCRATCH_PROLOGUE, SCRATCH_DENSE, SCRATCH_LIBRARY };

enum { WAY_CANDIDATES_MAX = 6 };

struct product {
  struct gemm_args args;
  struct launch prologue; /* runs first, if has_prologue */
  bool has_prologue;
  int weight, bias; /* indices of resources; bias -1: none */
  int set;          /* 0 or 1: the set of weights that is read (weight_merges.h) */
  void *scratch[SCRATCH_AREAS];
  void *workspace; /* memory for split sums and libraries: that of runs, or of trials */
  unsigned *arrivals;
};

static inline bool is_product(const struct op *op) {
  return op->type == OP_CONV || op->type == OP_LINEAR || (op->type == OP_INJECT && tensor_exists(op->inject.weight));
}

struct way;

struct choice {
  const struct way *way;
  /* The variant of the way. gemm: enum gemm_tile; sm90: product_index(); halo: enum halo_tile; narrow: 0; libraries:
   * index in the list of algorithms that the library offers. */
  int index;
  int splits; /* used by gemm and sm90 */
};

struct way {
  enum launch_kind kind; /* kind of the launch that does the product; its name is also the way's */
  /* Adds the bytes that the way needs of each scratch area to bytes[]. shape has sizes but no addresses; its c2 is 0 if
   * a prologue joins the inputs. NULL: the way needs no scratch. */
  void (*scratch)(const struct gemm_args *shape, size_t bytes[SCRATCH_AREAS]);
  /* True if this way is best for such a product without being timed, so that other ways need no trial and no scratch.
   * It depends on sizes alone; where it is true, takes() is, too. NULL: the way is never chosen without trials. */
  bool (*settles)(const struct cuda_device *device, const struct gemm_args *shape);
  /* Lists choices worth timing, the most promising first. Returns their number; 0: the way cannot do the product. */
  int (*candidates)(const struct cuda_device *device, const struct gemm_args *args,
                    struct choice list[WAY_CANDIDATES_MAX]);
  /* True if the way can do this product with this choice, which may be from an earlier run's file. A library may still
   * refuse it when append() is called. */
  bool (*takes)(const struct cuda_device *device, const struct gemm_args *args, const struct choice *choice);
  int (*append)(struct cuda_device *device, const struct product *product, const struct choice *choice,
                struct launches *launches, struct error *err);
};

extern const struct way way_gemm, way_sm90, way_halo, way_narrow, way_cublaslt, way_cudnn;

static inline int product_index(enum product_tile tile, enum product_pair pair) {
  return (int)tile * PRODUCT_PAIRS + (int)pair;
}

#endif
