/* Division of what is not negative by what the host knows, without a division: on a GPU one takes a hundred clocks, and
 * a thread block that begins with three has its first copies under way that much later. */
#ifndef CUDA_KERNELS_QUOTIENT_H
#define CUDA_KERNELS_QUOTIENT_H

#include <stdint.h>

#ifdef __CUDACC__
#define QUOTIENT_FUNCTION static __host__ __device__ __forceinline__
#else
#define QUOTIENT_FUNCTION static inline
#endif

struct divisor {
  uint32_t by, inverse;
};

/* by is above 0. */
static inline struct divisor divisor_of(int by) {
  struct divisor d = {(uint32_t)by, UINT32_MAX / (uint32_t)by};
  return d;
}

/* The inverse is too small by less than one part in 2^32, so the product's upper word is the quotient or one less. */
QUOTIENT_FUNCTION int quotient(int of, struct divisor d) {
  uint32_t q = (uint32_t)((uint64_t)(uint32_t)of * d.inverse >> 32);
  return (int)(q + ((uint32_t)of - q * d.by >= d.by));
}

#endif
