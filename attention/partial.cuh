/* Functions that store and add partial results of launches that divide the keys of a tile between several warpgroups or
 * thread blocks. Each of them then has an O and a softmax state of its own, which are merged at the end. */
#ifndef ATTENTION_PARTIAL_CUH
#define ATTENTION_PARTIAL_CUH

#include "softmax.cuh"

namespace attention {

/* Stores a thread's unfinished output O and its rows' softmax state (maximum and sum) in `to`, [DP / 8 + 1][128]
 * float4, to be combined with those of other ranges of keys. The last row of `to` has the state. thread: 0 to 127. */
template <class T>
__device__ __forceinline__ void leave_partial(float4 *to, const float (&o)[T::O_GROUPS][4],
                                              const OnlineSoftmax &softmax, int thread) {
#pragma unroll
  for (int g = 0; g < T::DP / 8; g++)
    to[g * 128 + thread] = make_float4(o[g][0], o[g][1], o[g][2], o[g][3]);
  to[T::DP / 8 * 128 + thread] = make_float4(softmax.max[0], softmax.max[1], softmax.sum[0], softmax.sum[1]);
}

/* Returns a * a_weight + b * b_weight, computed without fused operations, so that exchanging a and b changes no bit. */
__device__ __forceinline__ float weighted_sum(float a, float a_weight, float b, float b_weight) {
  return __fadd_rn(__fmul_rn(a, a_weight), __fmul_rn(b, b_weight));
}

/* Weights with which two parts of a thread's rows are added. */
struct PartWeights {
  float own[2], other[2];

  /* Adds another part's maxima and sums to those in `softmax`. */
  __device__ __forceinline__ PartWeights(OnlineSoftmax &softmax, const float (&other_max)[2],
                                         const float (&other_sum)[2], float scale) {
#pragma unroll
    for (int r = 0; r < 2; r++) {
      float top = fmaxf(softmax.max[r], other_max[r]);
      own[r] = weight_of(softmax.max[r], top, scale);
      other[r] = weight_of(other_max[r], top, scale);
      if (top == -CUDART_INF_F) /* neither of the two results contains a key for this row */
        own[r] = other[r] = 0;
      softmax.sum[r] = weighted_sum(softmax.sum[r], own[r], other_sum[r], other[r]);
      softmax.max[r] = top;
    }
  }

  __device__ __forceinline__ void add(float (&o)[4], float4 part) const {
    o[0] = weighted_sum(o[0], own[0], part.x, other[0]);
    o[1] = weighted_sum(o[1], own[0], part.y, other[0]);
    o[2] = weighted_sum(o[2], own[1], part.z, other[1]);
    o[3] = weighted_sum(o[3], own[1], part.w, other[1]);
  }
};

/* Adds a partial result, which THREADS threads have stored, to this thread's o and softmax state. FROM_GLOBAL: other
 * thread blocks of this launch stored it in global memory, so it is read past the first-level cache, which may be out
 * of date. */
template <class T, bool FROM_GLOBAL, int THREADS = 128>
__device__ __forceinline__ void add_partial(const float4 *from, float (&o)[T::O_GROUPS][4], OnlineSoftmax &softmax,
                                            float scale, int thread) {
  const float4 *state = from + T::DP / 8 * THREADS + thread;
  float4 other = FROM_GLOBAL ? __ldcg(state) : *state;
  PartWeights weights(softmax, {other.x, other.y}, {other.z, other.w}, scale);
#pragma unroll
  for (int g = 0; g < T::DP / 8; g++)
    weights.add(o[g], FROM_GLOBAL ? __ldcg(from + g * THREADS + thread) : from[g * THREADS + thread]);
}

/* Adds a partial result that this thread has in registers, to the same bits as add_partial. */
template <class T>
__device__ __forceinline__ void add_rows(const float (&part)[T::O_GROUPS][4], const OnlineSoftmax &other,
                                         float (&o)[T::O_GROUPS][4], OnlineSoftmax &softmax, float scale) {
  PartWeights weights(softmax, other.max, other.sum, scale);
#pragma unroll
  for (int g = 0; g < T::DP / 8; g++)
    weights.add(o[g], make_float4(part[g][0], part[g][1], part[g][2], part[g][3]));
}

} // namespace attention

#endif
