/* Divides non-negative numbers on the GPU by a divisor that the host has prepared, without a division instruction. A
 * division takes a hundred clocks. A thread block that begins with three divisions would start its first copies that
 * much later. */
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

/* Returns the divisor to pass to quotient(). `by` must be positive. */
static inline struct divisor divisor_of(int by) {
  struct divisor d = {(uint32_t)by, UINT32_MAX / (uint32_t)by};
  return d;
}

/* Divides `of` by d.by and returns the quotient. d.inverse is less than one part in 2^32 too small, so the upper word
 * of the product is the quotient or one less, which is corrected. */
QUOTIENT_FUNCTION int quotient(int of, struct divisor d) {
  uint32_t q = (uint32_t)((uint64_t)(uint32_t)of * d.inverse >> 32);
  return (int)(q + ((uint32_t)of - q * d.by >= d.by));
}

#endif
