/* What the launches of a group norm make beside its result, for what would be small launches of their own. */
#ifndef CUDA_KERNELS_NORM_BESIDE_H
#define CUDA_KERNELS_NORM_BESIDE_H

#include "cuda/kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { NORMS_AHEAD = 4 };

struct norm_beside {
  half_t *joined; /* becomes x and x2, concatenated by channels, [n, pixels, c + c2]; NULL: not wanted */
  /* sum becomes time + bias, rounded to FP16; all three have `count` elements. NULL: not wanted */
  half_t *sum;
  const half_t *time;
  const float *bias;
  int count;
  /* gamma and beta of norms behind this one, which are read from memory to the cache; channels 0: no norm */
  struct {
    const float *gamma, *beta;
    int channels;
  } ahead[NORMS_AHEAD];
};

/* Returns true if the norm's launches can make something beside its result: it is a group norm whose input is read in
 * vectors, and the GPU does not overlap launches. */
bool norm_has_beside(const struct launch_queue *queue, const struct norm_args *args);
/* Does the same as launch_norm, and what is wanted beside. If norm_has_beside is false, nothing may be wanted. */
cudaError_t launch_norm_beside(const struct launch_queue *queue, const struct norm_args *args,
                               const struct norm_beside *beside);

#ifdef __cplusplus
}
#endif

#endif
