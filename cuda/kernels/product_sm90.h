/* Matrix products and convolutions for compute capability 9.0. They do the same as gemm.cu, with tensor copies (TMA)
 * and wgmma. PRODUCT.md explains them, and says what was tried. */
#ifndef CUDA_KERNELS_PRODUCT_SM90_H
#define CUDA_KERNELS_PRODUCT_SM90_H

#include "cuda/kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Tiles, named by the numbers of rows and columns of y that a thread block calculates at a time. */
enum product_tile {
  PRODUCT_128x80,
  PRODUCT_128x160,
  PRODUCT_64x80,
  PRODUCT_128x128,
  /* DEEP: shared memory has more stages (buffers for loads), so loads run further ahead of the products. Only one
   * thread block fits a multiprocessor. */
  PRODUCT_128x80_DEEP,
  PRODUCT_64x80_DEEP,
  PRODUCT_128x64,
  PRODUCT_64x64,
  PRODUCT_192x160,
  PRODUCT_192x80,
  PRODUCT_128x160_TURNS, /* TURNS: two consumer warpgroups have a tile each, and take turns at the tensor cores */
  PRODUCT_256x160,
  /* ATTENDS: the product ends with the attention whose queries it makes (product_attend) */
  PRODUCT_64x64_ATTENDS,
  PRODUCT_128x64_ATTENDS,
  PRODUCT_TILES
};

/* Returns true if the tile's kernel stores what an attention makes of the product's result, and not the result. */
static inline bool product_attends(enum product_tile tile) {
  return tile >= PRODUCT_64x64_ATTENDS && tile <= PRODUCT_128x64_ATTENDS;
}

/* How a pair of neighbouring thread blocks works together. PAIR_NONE: not at all. PAIR_WEIGHTS: both have the same
 * columns of y, and load their weights once for both. PAIR_INPUT: both have the same rows of y, and load their input
 * once for both. PAIR_SUM: both have the same tile, and each calculates half of the sum over channels. */
enum product_pair { PAIR_NONE, PAIR_WEIGHTS, PAIR_INPUT, PAIR_SUM, PRODUCT_PAIRS };

struct product_tile_size {
  int m, n;
  int blocks; /* number of thread blocks of this tile that fit a multiprocessor at the same time */
};
extern const struct product_tile_size product_tile_sizes[PRODUCT_TILES];

/* Arguments of launch_product. gemm.tile is not used. gemm.partial points to product_partial_bytes(args) bytes, and
 * gemm.arrived to product_counters(args) counters, all 0 between launches. With gemm.upsample each input pixel becomes
 * 2x2 output pixels; each of the four is a 2x2 convolution with its own weights, in the layout that launch_quarters
 * makes. */
struct product_args {
  struct gemm_args gemm;
  enum product_tile tile;
  enum product_pair pair;
};

/* The driver's functions that make tensor maps for the copy engine (TMA). */
struct product_device {
  /* addresses of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col; NULL: this program has no kernels of compute
   * capability 9.0 for the current device */
  void *encode_tiled, *encode_im2col;
};

/* Looks up the driver's functions; sets them to NULL if the current device has another compute capability than 9.0. */
void product_open(struct product_device *device);
/* Returns true if launch_product can do this product with this tile, way of pairing thread blocks (enum product_pair),
 * and number of splits. */
bool product_supported(const struct product_device *device, const struct product_args *args);
/* Returns how many blocks of 64 products each sum consists of. A sum cannot be split into more parts than that. */
int product_depth(const struct gemm_args *args);
/* Returns how many of these belong to the product itself, and not to a second product (product_more). */
int product_window_depth(const struct gemm_args *args);
/* Return numbers for a launch with these arguments: its thread blocks, its counters for tiles whose sum is split, and
 * the bytes of the parts of split sums. */
int product_blocks(const struct product_args *args);
int product_counters(const struct product_args *args);
size_t product_partial_bytes(const struct product_args *args);
cudaError_t launch_product(const struct product_device *device, const struct launch_queue *queue,
                           const struct product_args *args);

#ifdef __cplusplus
}
#endif

#endif
