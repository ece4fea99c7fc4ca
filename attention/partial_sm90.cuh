/* Partial results of the Hopper kernel: what one of several pieces of a tile, or one of the groups that split its keys,
 * leaves behind, and how it is added to another's. */
#ifndef ATTENTION_PARTIAL_SM90_CUH
#define ATTENTION_PARTIAL_SM90_CUH

#include "softmax.cuh"
#include "tiles.h"

namespace attention {

/* A thread's O and softmax state to [DP / 8 + 1][128] float4, and from there added to another's. */
template <class T>
__device__ __forceinline__ void leave_partial(float4 *to, const float (&o)[T::O_GROUPS][4],
                                              const OnlineSoftmax &softmax, int thread) {
#pragma unroll
  for (int g = 0; g < T::DP / 8; g++)
    to[g * 128 + thread] = make_float4(o[g][0], o[g][1], o[g][2], o[g][3]);
  to[T::DP / 8 * 128 + thread] = make_float4(softmax.max[0], softmax.max[1], softmax.sum[0], softmax.sum[1]);
}

/* Rounded so that it does not matter which comes first. */
__device__ __forceinline__ float weighted_sum(float a, float a_weight, float b, float b_weight) {
  return __fadd_rn(__fmul_rn(a, a_weight), __fmul_rn(b, b_weight));
}

/* FROM_GLOBAL: others' work of this very launch, so past the first-level cache. */
template <class T, bool FROM_GLOBAL>
__device__ __forceinline__ void add_partial(const float4 *from, float (&o)[T::O_GROUPS][4], OnlineSoftmax &softmax,
                                            int thread) {
  const float4 *state = from + T::DP / 8 * 128 + thread;
  float4 other = FROM_GLOBAL ? __ldcg(state) : *state;
  float own_weight[2], weight[2], other_max[2] = {other.x, other.y}, other_sum[2] = {other.z, other.w};
#pragma unroll
  for (int r = 0; r < 2; r++) {
    float top = fmaxf(softmax.max[r], other_max[r]);
    own_weight[r] = top == -CUDART_INF_F ? 1 : exp2_approx(softmax.max[r] - top);
    weight[r] = top == -CUDART_INF_F ? 0 : exp2_approx(other_max[r] - top);
    softmax.sum[r] = weighted_sum(softmax.sum[r], own_weight[r], other_sum[r], weight[r]);
    softmax.max[r] = top;
  }
#pragma unroll
  for (int g = 0; g < T::DP / 8; g++) {
    float4 part = FROM_GLOBAL ? __ldcg(from + g * 128 + thread) : from[g * 128 + thread];
    o[g][0] = weighted_sum(o[g][0], own_weight[0], part.x, weight[0]);
    o[g][1] = weighted_sum(o[g][1], own_weight[0], part.y, weight[0]);
    o[g][2] = weighted_sum(o[g][2], own_weight[1], part.z, weight[1]);
    o[g][3] = weighted_sum(o[g][3], own_weight[1], part.w, weight[1]);
  }
}

} // namespace attention

#endif
