/* Vectors of FP32, as wide as the processor's registers, by the compiler's vector types. Files that include this header
 * are compiled once for each instruction set (see meson.build). */
#ifndef UNET_CPU_CPU_SIMD_H
#define UNET_CPU_CPU_SIMD_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "unet/plan/op.h"
#include "unet/plan/resources.h"

#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#elif defined(__AVX2__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif
enum { LANES = VECTOR_BYTES / 4 };

#define INLINE static inline __attribute__((always_inline, unused))

typedef float vec __attribute__((vector_size(VECTOR_BYTES)));
typedef int32_t vec_int __attribute__((vector_size(VECTOR_BYTES)));
typedef uint32_t vec_uint __attribute__((vector_size(VECTOR_BYTES)));
typedef uint16_t vec_half __attribute__((vector_size(VECTOR_BYTES / 2)));
/* Vectors of FP32 and of bfloat16 for memory at any address, without alignment. */
typedef float vec_any __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
typedef uint16_t vec_half_any __attribute__((vector_size(VECTOR_BYTES / 2), aligned(2), may_alias));

INLINE vec vec_set(float value) {
  return value - (vec){0};
}

INLINE vec vec_max(vec a, vec b) {
#if defined(__AVX512F__)
  return (vec)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(__AVX2__)
  return (vec)_mm256_max_ps((__m256)a, (__m256)b);
#else
  vec_int greater = a > b;
  return (vec)(((vec_int)a & greater) | ((vec_int)b & ~greater));
#endif
}

INLINE vec vec_min(vec a, vec b) {
  return -vec_max(-a, -b);
}

/* Sums halves, halves of halves, and so on: each step waits for one addition, not for as many as there are lanes. */
INLINE float vec_sum(vec v) {
#if defined(__AVX512F__)
  return _mm512_reduce_add_ps((__m512)v);
#elif defined(__AVX2__)
  __m128 half = _mm256_castps256_ps128((__m256)v) + _mm256_extractf128_ps((__m256)v, 1);
  half += _mm_movehl_ps(half, half);
  return half[0] + half[1];
#else
  return (v[0] + v[2]) + (v[1] + v[3]);
#endif
}

INLINE float vec_highest(vec v) {
#if defined(__AVX512F__)
  return _mm512_reduce_max_ps((__m512)v);
#else
  float highest = v[0];
  for (int i = 1; i < LANES; i++)
    highest = v[i] > highest ? v[i] : highest;
  return highest;
#endif
}

/* Computes 1 / x for an x that is neither 0 nor infinite nor subnormal, with a relative error of about 1e-7. */
INLINE vec vec_reciprocal(vec x) {
#if defined(__AVX512F__)
  vec guess = (vec)_mm512_rcp14_ps((__m512)x); /* Newton's step doubles its 14 exact bits; a division takes longer */
  return guess * (2.0f - x * guess);
#else
  return 1.0f / x;
#endif
}

INLINE vec vec_load(const float *from) {
  return *(const vec_any *)from;
}

INLINE void vec_store(float *to, vec v) {
  *(vec_any *)to = v;
}

INLINE vec vec_widen(vec_half bits) {
#if defined(__AVX512F__)
  return (vec)_mm512_slli_epi32(_mm512_cvtepu16_epi32((__m256i)bits), 16);
#else
  return (vec)(__builtin_convertvector(bits, vec_uint) << 16);
#endif
}

/* Converts to bfloat16, rounding to nearest even; a NaN stays a NaN. */
INLINE vec_half vec_narrow(vec v) {
#if defined(__AVX512BF16__)
  return (vec_half)_mm512_cvtneps_pbh((__m512)v);
#endif
  vec_uint bits = (vec_uint)v, rounded = bits + 0x7fff + (bits >> 16 & 1);
#if defined(__AVX512F__)
  __mmask16 unordered = _mm512_cmp_ps_mask((__m512)v, (__m512)v, _CMP_UNORD_Q);
  __m512i all = _mm512_mask_or_epi32((__m512i)rounded, unordered, (__m512i)bits, _mm512_set1_epi32(0x400000));
  return (vec_half)_mm512_cvtepi32_epi16(_mm512_srli_epi32(all, 16));
#else
  vec_uint nan = (vec_uint)(v != v);
  return __builtin_convertvector(((rounded & ~nan) | ((bits | 0x400000) & nan)) >> 16, vec_half);
#endif
}

#if defined(__AVX512F__)
/* Returns a mask of the first `count` (less than LANES) lanes. */
INLINE __mmask16 vec_mask(int count) {
  return (__mmask16)((1u << count) - 1);
}
#endif

/* Sets all but the first `count` lanes to 0. */
INLINE vec vec_first(vec v, int count) {
#if defined(__AVX512F__)
  return count < LANES ? (vec)_mm512_maskz_mov_ps(vec_mask(count), (__m512)v) : v;
#else
  for (int i = count; i < LANES; i++)
    v[i] = 0;
  return v;
#endif
}

/* Loads `count` (up to LANES) elements of an array of FP32 or bfloat16, from index `at` on; the vector's other lanes
 * are 0. */
INLINE vec vec_get(const void *array, enum dtype dtype, size_t at, int count) {
  vec_half bits = {0};
  if (dtype == DTYPE_F32) {
    const float *from = (const float *)array + at;
    if (count >= LANES)
      return vec_load(from);
#if defined(__AVX512F__)
    return (vec)_mm512_maskz_loadu_ps(vec_mask(count), from);
#else
    vec v = {0};
    memcpy(&v, from, (size_t)count * sizeof *from);
    return v;
#endif
  }
  const uint16_t *from = (const uint16_t *)array + at;
  if (count >= LANES)
    return vec_widen(*(const vec_half_any *)from);
#if defined(__AVX512F__)
  bits = (vec_half)_mm256_maskz_loadu_epi16(vec_mask(count), from);
#else
  memcpy(&bits, from, (size_t)count * sizeof *from);
#endif
  return vec_widen(bits);
}

INLINE void vec_put(void *array, enum dtype dtype, size_t at, int count, vec v) {
  if (dtype == DTYPE_F32) {
    float *to = (float *)array + at;
    if (count >= LANES)
      vec_store(to, v);
    else
#if defined(__AVX512F__)
      _mm512_mask_storeu_ps(to, vec_mask(count), (__m512)v);
#else
      memcpy(to, &v, (size_t)count * sizeof *to);
#endif
    return;
  }
  uint16_t *to = (uint16_t *)array + at;
  vec_half bits = vec_narrow(v);
  if (count >= LANES)
    *(vec_half_any *)to = bits;
  else
#if defined(__AVX512F__)
    _mm256_mask_storeu_epi16(to, vec_mask(count), (__m256i)bits);
#else
    memcpy(to, &bits, (size_t)count * sizeof *to);
#endif
}

/* Computes e^x with a relative error of about 1e-7: 2^n e^r with |r| <= ln(2) / 2 and a Taylor polynomial. x is clamped
 * to +-87, so that no result is subnormal. */
INLINE vec vec_exp(vec x) {
  x = vec_min(vec_max(x, vec_set(-87.0f)), vec_set(87.0f));
  /* 1.5 * 2^23: after this number is added to x, the low bits of the sum are the integer nearest to x */
  const float magic = 12582912.0f;
  vec shifted = x * 1.44269504f + magic, n = shifted - magic;
  /* x - n ln(2), where ln(2) is split in two parts so that no precision is lost */
  vec r = x - n * 0.693359375f + n * 2.12194440e-4f;
  vec p = vec_set(1.0f / 720);
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  return (vec)((vec_int)p + (((vec_int)shifted - 0x4b400000) << 23));
}

INLINE vec vec_sigmoid(vec x) {
  return vec_reciprocal(1.0f + vec_exp(-x));
}

/* Computes 3 tanh(x / 3) with an absolute error of about 4e-7. A NaN stays a NaN, which vec_exp does not keep. */
INLINE vec vec_tanh3(vec x) {
  vec y = 3.0f - 6.0f * vec_reciprocal(1.0f + vec_exp((2.0f / 3) * x));
  vec_int nan = x != x;
  return (vec)(((vec_int)x & nan) | ((vec_int)y & ~nan));
}

/* Computes GELU one lane after another: slowly, because no supported network has it in a convolution or norm. */
__attribute__((unused)) static vec vec_gelu(vec x) {
  for (int i = 0; i < LANES; i++)
    x[i] = 0.5f * x[i] * (1 + erff(x[i] * (float)M_SQRT1_2));
  return x;
}

INLINE vec vec_activate(enum activation act, vec x) {
  switch (act) {
  case ACT_NONE:
    return x;
  case ACT_RELU:
    return vec_max(x, vec_set(0));
  case ACT_SILU:
    return x * vec_sigmoid(x);
  case ACT_QUICK_GELU:
    return x * vec_sigmoid(1.702f * x);
  case ACT_TANH3:
    return vec_tanh3(x);
  default:
    return vec_gelu(x);
  }
}

#endif
