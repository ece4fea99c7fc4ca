/* 3x3 convolutions with few channels over many pixels for compute capability 9.0: the same as narrow.cu, with tensor
 * copies (TMA) and wgmma. */
#ifndef CUDA_KERNELS_HALO_SM90_H
#define CUDA_KERNELS_HALO_SM90_H

#include "cuda/kernels/product_sm90.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The number of columns of wgmma's products, in groups of 8 pixels, that a warpgroup calculates at a time. */
enum halo_tile { HALO_256, HALO_128, HALO_64, HALO_TILES };
extern const int halo_tile_pixels[HALO_TILES];

struct halo_args {
  struct gemm_args gemm; /* the arguments that narrow_supported describes; tile, splits, partial and arrived are not
                          * used */
  enum halo_tile tile;
};

bool halo_supported(const struct product_device *device, const struct halo_args *args);
cudaError_t launch_halo(const struct product_device *device, const struct launch_queue *queue,
                        const struct halo_args *args);

#ifdef __cplusplus
}
#endif

#endif
