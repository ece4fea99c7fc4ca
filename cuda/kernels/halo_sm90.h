/* 3x3 convolutions with few channels over many pixels, for compute capability 9.0: they do the same as narrow.cu, and
 * stride 2, with tensor copies (TMA) and wgmma. */
#ifndef CUDA_KERNELS_HALO_SM90_H
#define CUDA_KERNELS_HALO_SM90_H

#include "cuda/kernels/product_sm90.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Number of columns of the products that a warpgroup calculates at a time. A column is one pixel; with 32 output
 * channels it is two pixels, one above the other. */
enum halo_tile { HALO_256, HALO_128, HALO_64, HALO_TILES };
extern const int halo_tile_pixels[HALO_TILES];

struct halo_args {
  /* arguments of the convolution, which halo_supported must accept; tile, splits, partial and arrived are not used */
  struct gemm_args gemm;
  enum halo_tile tile;
  /* true: tiles are calculated from the last to the first. A launch after one in the other direction reads first what
   * is still in the second-level cache */
  bool backward;
  bool input_ends; /* true: nothing reads the input later, so the cache may lose it first */
};

/* Returns true if launch_halo can do this convolution with this tile. */
bool halo_supported(const struct product_device *device, const struct halo_args *args);
cudaError_t launch_halo(const struct product_device *device, const struct launch_queue *queue,
                        const struct halo_args *args);

#ifdef __cplusplus
}
#endif

#endif
