/* Matrix products and convolutions for compute capability 9.0: what gemm.cu does, by tensor copies (TMA) and wgmma.
 * PRODUCT.md tells how, and what was tried. */
#ifndef CUDA_KERNELS_PRODUCT_SM90_H
#define CUDA_KERNELS_PRODUCT_SM90_H

#include "cuda/kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rows by columns of y that a thread block makes. */
enum product_tile {
  PRODUCT_128x80,
  PRODUCT_128x160,
  PRODUCT_64x80,
  PRODUCT_128x128,
  PRODUCT_128x80_DEEP, /* deep: more blocks of the sum under way, one thread block a multiprocessor */
  PRODUCT_64x80_DEEP,
  PRODUCT_128x64,
  PRODUCT_64x64,
  PRODUCT_192x160,
  PRODUCT_192x80,
  PRODUCT_128x160_TURNS, /* two consumers, each with a tile of its own: see turns_sm90.cuh */
  PRODUCT_256x160,
  PRODUCT_TILES
};

/* Two neighbouring thread blocks that load what both need once, the same columns' weights or the same rows' input, or
 * that make one tile, each from half of the sum. */
enum product_pair { PAIR_NONE, PAIR_WEIGHTS, PAIR_INPUT, PAIR_SUM, PRODUCT_PAIRS };

struct product_tile_size {
  int m, n;
  int blocks; /* that a multiprocessor holds */
};
extern const struct product_tile_size product_tile_sizes[PRODUCT_TILES];

/* With gemm.upsample, weights are those of launch_quarters: each pixel becomes 2x2, of which each is a convolution of
 * 2x2 with weights of its own. gemm.tile means nothing here; gemm.partial and gemm.arrived are product_partial_bytes
 * and product_counters. */
struct product_args {
  struct gemm_args gemm;
  enum product_tile tile;
  enum product_pair pair;
};

/* The driver's functions that describe tensors to the copy engine. */
struct product_device {
  void *encode_tiled, *encode_im2col; /* NULL: the current device does not have these kernels */
};

void product_open(struct product_device *device);
/* args->gemm.splits is at most the number of product_depth blocks. */
bool product_supported(const struct product_device *device, const struct product_args *args);
int product_depth(const struct gemm_args *args); /* blocks of 64 that the sum is made of */
int product_blocks(const struct product_args *args);
int product_counters(const struct product_args *args);
size_t product_partial_bytes(const struct product_args *args);
cudaError_t launch_product(const struct product_device *device, const struct launch_queue *queue,
                           const struct product_args *args);

#ifdef __cplusplus
}
#endif

#endif
