/* Functions that the kernels of group norm and layer norm share: they read from one of two inputs, load gamma and beta,
 * and write the result. */
#ifndef CUDA_KERNELS_NORM_CUH
#define CUDA_KERNELS_NORM_CUH

#include "cuda/kernels/common.cuh"
#include "cuda/kernels/norm_beside.h"

cudaError_t launch_group_norm(const struct launch_queue *queue, const struct norm_args *args);
cudaError_t launch_group_norm_runs(const struct launch_queue *queue, const struct norm_args *args);
/* group_norm_apart.cu: group_norm_is_apart returns true if it can do the norm, and should on this GPU */
bool group_norm_is_apart(const struct launch_queue *queue, const struct norm_args *args);
cudaError_t launch_group_norm_apart(const struct launch_queue *queue, const struct norm_args *args,
                                    const struct norm_beside *beside);
cudaError_t launch_layer_norm(const struct launch_queue *queue, const struct norm_args *args);

/* Returns true if the kernels can read and write channels eight at a time: all numbers of channels are multiples of 8,
 * and x is FP16. */
static inline bool norm_has_vectors(const struct norm_args *args) {
  return args->c % 8 == 0 && args->c2 % 8 == 0 && args->pitch % 8 == 0 && !args->x_f32;
}

namespace norms {

/* WIDTH channels of a pixel. WIDTH 8: eight FP16 values, as they lie in memory. WIDTH 1: one value, which is FP16 or
 * FP32 in memory, converted to float. */
template <int WIDTH> struct packed { float value; };
template <> struct packed<8> { uint4 raw; };

template <int WIDTH>
__device__ __forceinline__ packed<WIDTH> fetch(const struct norm_args &p, size_t pixel, int channel) {
  bool second = channel >= p.c;
  size_t at = second ? pixel * p.c2 + (channel - p.c) : pixel * p.c + channel;
  const __half *halves = static_cast<const __half *>(second ? p.x2 : p.x) + at;
  if constexpr (WIDTH == 8)
    return {*reinterpret_cast<const uint4 *>(halves)};
  else
    return {!second && p.x_f32 ? static_cast<const float *>(p.x)[at] : __half2float(*halves)};
}

__device__ __forceinline__ void unpack(const packed<1> &from, float out[1]) {
  out[0] = from.value;
}

__device__ __forceinline__ void unpack(const packed<8> &from, float out[8]) {
  unpack8(from.raw, out);
}

template <int WIDTH>
__device__ __forceinline__ void read(const struct norm_args &p, size_t pixel, int channel, float out[WIDTH]) {
  unpack(fetch<WIDTH>(p, pixel, channel), out);
}

/* Load constants at this point of the code, ahead of wait_for_previous: a read from memory takes as long as all the
 * rest of a norm. The compiler would move a plain load to the place where the value is used. */
__device__ __forceinline__ float load_constant(const float *from) {
  float value;
  asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(value) : "l"(from));
  return value;
}

__device__ __forceinline__ float4 load_constants(const float *from) {
  float4 v;
  asm volatile("ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(from));
  return v;
}

/* Loads WIDTH floats of gamma or beta; if the norm has none (from is NULL), sets them to `otherwise`. */
template <int WIDTH>
__device__ __forceinline__ void read_vector(const float *from, int channel, float otherwise, float out[WIDTH]) {
  if (!from) {
#pragma unroll
    for (int i = 0; i < WIDTH; i++)
      out[i] = otherwise;
  } else if constexpr (WIDTH == 8) {
    float4 low = load_constants(from + channel), high = load_constants(from + channel + 4);
    out[0] = low.x, out[1] = low.y, out[2] = low.z, out[3] = low.w;
    out[4] = high.x, out[5] = high.y, out[6] = high.z, out[7] = high.w;
  } else {
    out[0] = load_constant(from + channel);
  }
}

template <int WIDTH>
__device__ __forceinline__ void write(const struct norm_args &p, size_t pixel, int channel, const float in[WIDTH]) {
  __half *to = p.y + pixel * p.pitch + channel;
  if constexpr (WIDTH == 8)
    store8(to, in);
  else
    *to = __float2half_rn(in[0]);
}

/* --- helpers of group norms only --- */

/* Returns mean and reciprocal standard deviation of a group. total: two sums over the group's values: of their
 * differences from the pivot (one of the values), and of the squares of these differences. share: 1 / number of values
 * in the group. */
__device__ __forceinline__ float2 finish_group(const struct norm_args &p, float pivot, float2 total, float share) {
  float mean = total.x * share, variance = fmaxf(total.y * share - mean * mean, 0.0f);
  return make_float2(pivot + mean, rsqrtf(variance + p.eps));
}

__device__ __forceinline__ void add(float2 &to, float x, float y) {
  to.x += x;
  to.y += y;
}

/* Returns, to every lane, the sum of v over its group of `lanes` neighbouring lanes. */
__device__ __forceinline__ float2 add_lanes(float2 v, int lanes) {
#pragma unroll
  for (int i = lanes / 2; i > 0; i /= 2) {
    v.x += __shfl_xor_sync(0xffffffffu, v.x, i);
    v.y += __shfl_xor_sync(0xffffffffu, v.y, i);
  }
  return v;
}

} // namespace norms

#endif
