/* How a thread block of the Hopper kernel sends its partial result to the other one of its cluster. */
#ifndef ATTENTION_PARTIAL_SM90_CUH
#define ATTENTION_PARTIAL_SM90_CUH

#include "hopper.cuh"
#include "partial.cuh"

namespace attention {

/* Sends a thread's O and softmax state to shared memory of the other thread block of the cluster, an array of [DP / 8
 * + 1][THREADS] float4. A barrier in that thread block counts the bytes. */
template <class T, int THREADS>
__device__ __forceinline__ void send_partial(uint32_t to, uint32_t barrier, const float (&o)[T::O_GROUPS][4],
                                             const OnlineSoftmax &softmax, int thread) {
#pragma unroll
  for (int g = 0; g < T::DP / 8; g++)
    send(to + (g * THREADS + thread) * 16, o[g], barrier);
  float state[4] = {softmax.max[0], softmax.max[1], softmax.sum[0], softmax.sum[1]};
  send(to + (T::DP / 8 * THREADS + thread) * 16, state, barrier);
}

} // namespace attention

#endif
