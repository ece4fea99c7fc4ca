/* Online softmax over tiles of scores, and how the tensor cores spread a tile over threads.
 *
 * mma.m16n8k16 and wgmma.m64nNk16 give each thread the same part of an accumulator: of the 16 rows of its warp the rows
 * lane / 4 and lane / 4 + 8, and of each group of 8 columns the two at 2 * (lane % 4):
 *
 *   tile[g][0], tile[g][1]: row lane / 4,     columns 8 g + 2 (lane % 4) and the next
 *   tile[g][2], tile[g][3]: row lane / 4 + 8, the same columns
 *
 * So the four threads of a quad share a row, and two groups of columns, packed to FP16, are a thread's part of the A
 * operand of the next product: probabilities never leave registers. */
#ifndef ATTENTION_SOFTMAX_CUH
#define ATTENTION_SOFTMAX_CUH

#include <cuda_fp16.h>
#include <math_constants.h>

#include <stdint.h>

namespace attention {

/* A row's maximum may grow by a factor of up to 2^8 before the accumulator is rescaled: the probabilities, relative to
 * the older maximum, then reach 256, which costs FP16 no precision, and nearly every rescaling after the first blocks
 * is saved. */
constexpr float RESCALE_THRESHOLD = 8;

__device__ __forceinline__ float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ __forceinline__ uint32_t pack_half2(float low, float high) {
  __half2 h = __floats2half2_rn(low, high);
  return *reinterpret_cast<uint32_t *>(&h);
}

/* The same for results. They are weighted means of V, but the weights carry FP16's rounding: the mean of values next to
 * the largest could round to infinity. */
__device__ __forceinline__ uint32_t pack_result(float low, float high) {
  constexpr float LARGEST = 65504;
  return pack_half2(fminf(fmaxf(low, -LARGEST), LARGEST), fminf(fmaxf(high, -LARGEST), LARGEST));
}

__device__ __forceinline__ float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffff, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffff, x, 2));
}

__device__ __forceinline__ float quad_sum(float x) {
  x += __shfl_xor_sync(0xffffffff, x, 1);
  return x + __shfl_xor_sync(0xffffffff, x, 2);
}

/* The state of a thread's two rows. */
struct OnlineSoftmax {
  float max[2]; /* the reference m, in units of log2: scale * log2(e) * score; -inf before the first score */
  float sum[2]; /* of this thread's own columns, of 2^(x - m) */

  __device__ __forceinline__ void reset() {
    max[0] = max[1] = -CUDART_INF_F;
    sum[0] = sum[1] = 0;
  }

  /* Takes note of scores to come: top holds this thread's largest of each row. True if m changed in any row of the
   * warp: what was accumulated before must then be multiplied by keep[row]. Rounded values of m are compared and
   * subtracted throughout, so large scores lose nothing between blocks. */
  __device__ __forceinline__ bool expect(const float (&top)[2], float scale, float (&keep)[2]) {
    float seen[2] = {fmaxf(max[0], quad_max(top[0]) * scale), fmaxf(max[1], quad_max(top[1]) * scale)};
    keep[0] = keep[1] = 1;
    if (__all_sync(0xffffffff, seen[0] - max[0] <= RESCALE_THRESHOLD && seen[1] - max[1] <= RESCALE_THRESHOLD))
      return false;
#pragma unroll
    for (int r = 0; r < 2; r++) {
      keep[r] = seen[r] == -CUDART_INF_F ? 1 : exp2_approx(max[r] - seen[r]);
      sum[r] *= keep[r];
      max[r] = seen[r];
    }
    return true;
  }

  /* Scores that were expected become 2^(scale * score - m + zero). ADD: to the sums, too. */
  template <bool ADD, int GROUPS>
  __device__ __forceinline__ void exponentiate(float (&tile)[GROUPS][4], float scale, float zero = 0) {
    /* A row with no score yet has m = -inf: any finite reference makes its probabilities 0. */
    float offset[2] = {zero - (max[0] == -CUDART_INF_F ? 0 : max[0]), zero - (max[1] == -CUDART_INF_F ? 0 : max[1])};
    float added[4] = {};
#pragma unroll
    for (int g = 0; g < GROUPS; g++)
#pragma unroll
      for (int i = 0; i < 4; i++) {
        tile[g][i] = exp2_approx(fmaf(tile[g][i], scale, offset[i / 2]));
        if (ADD)
          added[i] += tile[g][i];
      }
    if (ADD) {
      sum[0] += added[0] + added[1];
      sum[1] += added[2] + added[3];
    }
  }
};

/* A thread's largest score of each row. Two chains a row: one would be as long as the row. */
template <int GROUPS> __device__ __forceinline__ void largest(const float (&tile)[GROUPS][4], float (&top)[2]) {
#pragma unroll
  for (int r = 0; r < 2; r++) {
    float even = fmaxf(tile[0][2 * r], tile[0][2 * r + 1]), odd = fmaxf(tile[1][2 * r], tile[1][2 * r + 1]);
#pragma unroll
    for (int g = 2; g < GROUPS; g += 2) {
      even = fmaxf(even, fmaxf(tile[g][2 * r], tile[g][2 * r + 1]));
      odd = fmaxf(odd, fmaxf(tile[g + 1][2 * r], tile[g + 1][2 * r + 1]));
    }
    top[r] = fmaxf(even, odd);
  }
}

/* Columns [valid, 8 * GROUPS) of a tile take no part. column: this thread's first column, 2 * (lane % 4). */
template <int GROUPS> __device__ __forceinline__ void mask_columns(float (&tile)[GROUPS][4], int valid, int column) {
#pragma unroll
  for (int g = 0; g < GROUPS; g++)
#pragma unroll
    for (int i = 0; i < 4; i++)
      if (8 * g + column + i % 2 >= valid)
        tile[g][i] = -CUDART_INF_F;
}

/* The accumulator layout to that of an A operand: p[k] covers columns 16 k .. 16 k + 15. */
template <int GROUPS>
__device__ __forceinline__ void pack_tile(uint32_t (&p)[GROUPS / 2][4], const float (&tile)[GROUPS][4]) {
#pragma unroll
  for (int k = 0; k < GROUPS / 2; k++) {
    p[k][0] = pack_half2(tile[2 * k][0], tile[2 * k][1]);
    p[k][1] = pack_half2(tile[2 * k][2], tile[2 * k][3]);
    p[k][2] = pack_half2(tile[2 * k + 1][0], tile[2 * k + 1][1]);
    p[k][3] = pack_half2(tile[2 * k + 1][2], tile[2 * k + 1][3]);
  }
}

/* The first COUNT groups times factor[row]. */
template <int COUNT, int GROUPS>
__device__ __forceinline__ void scale_rows(float (&tile)[GROUPS][4], const float (&factor)[2]) {
#pragma unroll
  for (int g = 0; g < COUNT; g++)
#pragma unroll
    for (int i = 0; i < 4; i++)
      tile[g][i] *= factor[i / 2];
}

} // namespace attention

#endif
