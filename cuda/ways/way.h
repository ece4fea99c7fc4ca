/* Ways to do a convolution, a linear layer or an injection. All are products of rows with a weight matrix (struct
 * gemm_args); what an op has beside that, its prologue, runs before.
 *
 * A way is a struct of functions in a file of its own, listed in ways.c. A new one also needs a kind of launch, and the
 * operands of its launch, in launches.h. */
#ifndef CUDA_WAYS_WAY_H
#define CUDA_WAYS_WAY_H

#include "cuda/program.h"

/* Areas of a program's scratch: what the prologue makes, the input as one dense picture, and a library's product before
 * its GEGLU or bias and time row as one vector. */
enum { SCRATCH_PROLOGUE, SCRATCH_DENSE, SCRATCH_LIBRARY };

enum { WAY_CANDIDATES_MAX = 6 };

struct product {
  struct gemm_args args;
  struct launch prologue; /* first, when has_prologue */
  bool has_prologue;
  int weight, bias; /* resources; bias may be -1 */
  int set;          /* of weights */
  void *scratch[SCRATCH_AREAS];
  void *workspace; /* those of runs, or of trials */
  unsigned *arrivals;
};

static inline bool is_product(const struct op *op) {
  return op->type == OP_CONV || op->type == OP_LINEAR || (op->type == OP_INJECT && tensor_exists(op->inject.weight));
}

struct way;

struct choice {
  const struct way *way;
  int index;  /* gemm: enum gemm_tile; sm90: product_index(); halo: enum halo_tile; libraries: number among what their
                 heuristics offer */
  int splits; /* gemm, sm90 */
};

struct way {
  enum launch_kind kind; /* of the launch that does the product; its name is the way's */
  /* Adds to the bytes wanted of the scratch areas. shape has sizes and no addresses, c2 0 where a prologue joins the
   * inputs. NULL: needs nothing. */
  void (*scratch)(const struct gemm_args *shape, size_t bytes[SCRATCH_AREAS]);
  /* Whether no other way is worth timing, nor the scratch it needs. Goes by sizes alone, and means that takes() is
   * true. NULL: never. */
  bool (*settles)(const struct cuda_device *device, const struct gemm_args *shape);
  /* Choices worth timing, the most promising first; returns how many, 0 where it cannot do the product. */
  int (*candidates)(const struct cuda_device *device, const struct gemm_args *args,
                    struct choice list[WAY_CANDIDATES_MAX]);
  /* Whether a choice, of an earlier run maybe, can be one of this product's. A library may still refuse to append it.
   */
  bool (*takes)(const struct cuda_device *device, const struct gemm_args *args, const struct choice *choice);
  int (*append)(struct cuda_device *device, const struct product *product, const struct choice *choice,
                struct launches *launches, struct error *err);
};

extern const struct way way_gemm, way_sm90, way_halo, way_narrow, way_cublaslt, way_cudnn;

static inline int product_index(enum product_tile tile, enum product_pair pair) {
  return (int)tile * PRODUCT_PAIRS + (int)pair;
}

#endif
