/* Ways to do a convolution, a linear layer or an injection. All of these are products of rows with a weight matrix
 * (struct gemm_args). The rest of an op, its prologue, runs before the product.
 *
 * A way is a struct of functions in a file of its own, listed in ways.c. A new one also needs a kind of launch, and the
 * operands of its launch, in launches.h. */
#ifndef CUDA_WAYS_WAY_H
#define CUDA_WAYS_WAY_H

#include "cuda/program.h"

/* Areas of a program's scratch memory: the prologue's result; the input as one dense picture; and a library's product
 * before its GEGLU, or bias and time row as one vector. */
enum { SCRATCH_PROLOGUE, SCRATCH_DENSE, SCRATCH_LIBRARY };

enum { WAY_CANDIDATES_MAX = 6 };

struct product {
  struct gemm_args args;
  struct launch prologue; /* runs first, if has_prologue */
  bool has_prologue;
  int weight, bias; /* resources; bias may be -1 */
  int set;          /* set of weights */
  void *scratch[SCRATCH_AREAS];
  void *workspace; /* the workspace of runs, or of trials */
  unsigned *arrivals;
};

static inline bool is_product(const struct op *op) {
  return op->type == OP_CONV || op->type == OP_LINEAR || (op->type == OP_INJECT && tensor_exists(op->inject.weight));
}

struct way;

struct choice {
  const struct way *way;
  /* gemm: enum gemm_tile; sm90: product_index(); halo: enum halo_tile; libraries: number among the heuristics'
   * offers. */
  int index;
  int splits; /* used by gemm and sm90 */
};

struct way {
  enum launch_kind kind; /* kind of the launch that does the product; its name is also the way's */
  /* Adds to the bytes that are needed of each scratch area. shape has sizes but no addresses, and c2 is 0 if a prologue
   * joins the inputs. NULL: the way needs no scratch. */
  void (*scratch)(const struct gemm_args *shape, size_t bytes[SCRATCH_AREAS]);
  /* True if no other way needs to be timed or to get scratch. Depends on sizes alone, and implies takes(). NULL:
   * never. */
  bool (*settles)(const struct cuda_device *device, const struct gemm_args *shape);
  /* Lists choices worth timing, the most promising first. Returns their number; 0: the way cannot do the product. */
  int (*candidates)(const struct cuda_device *device, const struct gemm_args *args,
                    struct choice list[WAY_CANDIDATES_MAX]);
  /* True if a choice, perhaps of an earlier run, is valid for this product. A library may still refuse to append it. */
  bool (*takes)(const struct cuda_device *device, const struct gemm_args *args, const struct choice *choice);
  int (*append)(struct cuda_device *device, const struct product *product, const struct choice *choice,
                struct launches *launches, struct error *err);
};

extern const struct way way_gemm, way_sm90, way_halo, way_narrow, way_cublaslt, way_cudnn;

static inline int product_index(enum product_tile tile, enum product_pair pair) {
  return (int)tile * PRODUCT_PAIRS + (int)pair;
}

#endif
