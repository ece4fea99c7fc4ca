/* Matrix products and convolutions for compute capability 9.0: the same as gemm.cu, with tensor copies (TMA) and wgmma.
 * PRODUCT.md explains them, and what was tried. */
#ifndef CUDA_KERNELS_PRODUCT_SM90_H
#define CUDA_KERNELS_PRODUCT_SM90_H

#include "cuda/kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Tiles by the rows and columns of y that a thread block calculates at a time. */
enum product_tile {
  PRODUCT_128x80,
  PRODUCT_128x160,
  PRODUCT_64x80,
  PRODUCT_128x128,
  PRODUCT_128x80_DEEP, /* DEEP: more blocks in flight, one thread block on a multiprocessor */
  PRODUCT_64x80_DEEP,
  PRODUCT_128x64,
  PRODUCT_64x64,
  PRODUCT_192x160,
  PRODUCT_192x80,
  PRODUCT_128x160_TURNS, /* two consumer warpgroups with a tile each, which take turns at the tensor cores */
  PRODUCT_256x160,
  PRODUCT_TILES
};

/* The way in which two neighbouring thread blocks work together. PAIR_WEIGHTS: they have the same columns, and load
 * their weights only once. PAIR_INPUT: they have the same rows, and load their input only once. PAIR_SUM: they have the
 * same tile, each with half of the sum. */
enum product_pair { PAIR_NONE, PAIR_WEIGHTS, PAIR_INPUT, PAIR_SUM, PRODUCT_PAIRS };

struct product_tile_size {
  int m, n;
  int blocks; /* thread blocks that run on a multiprocessor at a time */
};
extern const struct product_tile_size product_tile_sizes[PRODUCT_TILES];

/* With gemm.upsample each input pixel becomes 2x2 output pixels, and each of these four is a 2x2 convolution with
 * weights of its own, in the layout of launch_quarters. gemm.tile is not used. gemm.partial has product_partial_bytes,
 * and gemm.arrived has product_counters counters, all 0 between launches. */
struct product_args {
  struct gemm_args gemm;
  enum product_tile tile;
  enum product_pair pair;
};

/* The driver's functions that make tensor maps for the copy engine. */
struct product_device {
  /* Functions of the driver; NULL: the program has no such kernels for the current device. */
  void *encode_tiled, *encode_im2col;
};

void product_open(struct product_device *device);
/* True if launch_product can do args. args->gemm.splits is at most product_depth. */
bool product_supported(const struct product_device *device, const struct product_args *args);
int product_depth(const struct gemm_args *args); /* Returns the number of blocks of 64 in the sum. */
int product_blocks(const struct product_args *args);
int product_counters(const struct product_args *args);
size_t product_partial_bytes(const struct product_args *args);
cudaError_t launch_product(const struct product_device *device, const struct launch_queue *queue,
                           const struct product_args *args);

#ifdef __cplusplus
}
#endif

#endif
