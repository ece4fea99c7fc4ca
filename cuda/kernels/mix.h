/* Mixtures of two frames in the GPU's memory; unet/base/mixture.h has the definition. */
#ifndef CUDA_KERNELS_MIX_H
#define CUDA_KERNELS_MIX_H

#include "cuda/kernels/kernels.h"
#include "unet/base/mixture.h"

#ifdef __cplusplus
extern "C" {
#endif

struct mix_args {
  struct mixture mixture; /* planes in device memory, or in page-locked memory of the host */
  uint8_t *out[2];        /* the result's planes in device memory, with the pitches of mixture.to */
};
cudaError_t launch_mix(const struct launch_queue *queue, const struct mix_args *args);

#ifdef __cplusplus
}
#endif

#endif
