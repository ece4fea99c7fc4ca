/* Ways: implementations of a convolution, a linear layer or an injection (OP_INJECT, which adds a control network's
 * result). All of these are products of rows with a weight matrix (struct gemm_args). The op may have a prologue, a
 * norm or an activation of its input; an earlier launch computes that.
 *
 * A way is a struct of functions in a file of its own, listed in ways.c. A new way also needs a kind of launch, and the
 * operands of its launch, in launches.h. */
#ifndef CUDA_WAYS_WAY_H
#define CUDA_WAYS_WAY_H

#include "cuda/program.h"

/* Areas of scratch memory, which one op at a time uses. SCRATCH_PROLOGUE: the result of a product's prologue (the norm
 * or activation before it), or other ops' intermediate results. SCRATCH_DENSE: the input, concatenated and upsampled.
 * SCRATCH_LIBRARY: a library's product before GEGLU, or the sum of bias and time row (a vector from the time
 * embedding). */
enum { SCRATCH_PROLOGUE, SCRATCH_DENSE, SCRATCH_LIBRARY };

enum { WAY_CANDIDATES_MAX = 12 };

struct product {
  struct gemm_args args;
  /* launch that makes the product's input by a norm or an activation; valid if has_prologue is true */
  struct launch prologue;
  bool has_prologue;
  /* launch of the attention whose queries are y; valid if args.attend.k is not NULL */
  struct launch attention;
  bool input_ends;        /* true: nothing reads the product's input later */
  bool follows;           /* true: the op before runs whenever this one does */
  const struct way *only; /* the only way that may do the product; NULL: any */
  int weight, bias;       /* indices of weight and bias in resources.list; -1 as `bias`: there is no bias */
  int set;                /* 0 or 1: which of the two sets of weights is read (weight_merges.h) */
  void *scratch[SCRATCH_AREAS];
  void *workspace; /* device memory for parts of split sums, and for libraries; timing trials have memory of their own
                    * for that */
  unsigned *arrivals;
};

static inline bool is_product(const struct op *op) {
  return op->type == OP_CONV || op->type == OP_LINEAR || (op->type == OP_INJECT && tensor_exists(op->inject.weight));
}

struct way;

struct choice {
  const struct way *way;
  /* number of the way's variant. gemm: an enum gemm_tile; sm90: a product_index(); halo: an enum halo_tile; narrow: an
   * enum narrow_shape; few, eight: 0; cublaslt: index in the library's list of algorithms; cudnn: see cudnn.c */
  int index;
  /* number of thread blocks that share the sum of a tile; 1: none is shared. Only gemm and sm90 can split sums. */
  int splits;
};

struct way {
  enum launch_kind kind; /* kind of the launch that does the product; the way is called by the name of this kind */
  /* Adds to bytes[] how many bytes of each scratch area the way needs. shape has sizes but no addresses; c2 is 0 if an
   * earlier launch concatenates the inputs. NULL: the way needs no scratch memory. */
  void (*scratch)(const struct gemm_args *shape, size_t bytes[SCRATCH_AREAS]);
  /* Returns true if this way is known to be best for the product; other ways are then neither timed nor given scratch
   * memory. The result depends on sizes alone; takes() must return true for such a product. NULL: the way is always
   * timed against others. */
  bool (*settles)(const struct cuda_device *device, const struct gemm_args *shape);
  /* Stores the choices (variants and splits) that are worth timing, the most promising first. Returns their number; 0:
   * the way cannot do the product. */
  int (*candidates)(const struct cuda_device *device, const struct gemm_args *args,
                    struct choice list[WAY_CANDIDATES_MAX]);
  /* Returns true if the way can do the product with this choice, which may have been read from the tuning file. A
   * library may still refuse the choice when append() is called. */
  bool (*takes)(const struct cuda_device *device, const struct gemm_args *args, const struct choice *choice);
  /* Returns true if the way reads the weight as four of 2x2 (resource_quartered), for which product->args.weight may be
   * NULL. NULL: it always reads the weight as it is. */
  bool (*quarters)(const struct gemm_args *args);
  int (*append)(struct cuda_device *device, const struct product *product, const struct choice *choice,
                struct launches *launches, struct error *err);
};

extern const struct way way_gemm, way_sm90, way_halo, way_narrow, way_few, way_eight, way_cublaslt, way_cudnn;
/* Not a way of one product, and so not in the list `ways`: two products and the norm between them in one launch
 * (pair.h), or two of three products as one (feed.h). Its choices say whether they are one. */
extern const struct way way_pair;

static inline int product_index(enum product_tile tile, enum product_pair pair) {
  return (int)tile * PRODUCT_PAIRS + (int)pair;
}

/* Returns true if the product by this choice ends with the attention whose queries it makes. */
static inline bool choice_attends(const struct choice *choice) {
  return choice->way == &way_sm90 && product_attends((enum product_tile)(choice->index / PRODUCT_PAIRS));
}

#endif
