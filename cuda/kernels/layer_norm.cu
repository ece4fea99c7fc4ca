/* Layer norm: a warp a row. */
#include "cuda/kernels/norm.cuh"

namespace {

using namespace norms;

constexpr int ROW_THREADS = 128;

/* The sum over LANES neighbours. */
template <int LANES> __device__ __forceinline__ float add_lanes(float v) {
#pragma unroll
  for (int i = LANES / 2; i > 0; i /= 2)
    v += __shfl_xor_sync(0xffffffffu, v, i);
  return v;
}

/* LANES threads share a row of at most 8 * HOLD * LANES channels: lane l has channels 8 * (l + LANES j), j < HOLD, in
 * registers. */
template <int LANES, int HOLD>
__global__ void __launch_bounds__(ROW_THREADS) layer_norm_kernel(const __grid_constant__ struct norm_args p) {
  size_t row = (size_t)blockIdx.x * (ROW_THREADS / LANES) + threadIdx.x / LANES;
  int lane = threadIdx.x % LANES, channels = p.c + p.c2;
  bool mine = row < (size_t)p.n * p.pixels;
  float gamma[HOLD][8], beta[HOLD][8], v[HOLD][8] = {}, sum = 0, square = 0;
#pragma unroll
  for (int j = 0; j < HOLD; j++) {
    int channel = (lane + LANES * j) * 8;
    if (channel < channels) {
      read_vector<8>(p.gamma, channel, 1.0f, gamma[j]);
      read_vector<8>(p.beta, channel, 0.0f, beta[j]);
    }
  }
  wait_for_previous();
#pragma unroll
  for (int j = 0; j < HOLD; j++)
    if (mine && (lane + LANES * j) * 8 < channels)
      read<8>(p, row, (lane + LANES * j) * 8, v[j]);
#pragma unroll
  for (int j = 0; j < HOLD; j++)
#pragma unroll
    for (int i = 0; i < 8; i++)
      sum += v[j][i];
  float mean = add_lanes<LANES>(sum) / (float)channels;
#pragma unroll
  for (int j = 0; j < HOLD; j++)
#pragma unroll
    for (int i = 0; i < 8; i++)
      square += (lane + LANES * j) * 8 < channels ? (v[j][i] - mean) * (v[j][i] - mean) : 0.0f;
  float scale = rsqrtf(add_lanes<LANES>(square) / (float)channels + p.eps);
#pragma unroll
  for (int j = 0; j < HOLD; j++) {
    int channel = (lane + LANES * j) * 8;
    if (!mine || channel >= channels)
      continue;
#pragma unroll
    for (int i = 0; i < 8; i++)
      v[j][i] = (v[j][i] - mean) * scale * gamma[j][i] + beta[j][i];
    if (p.act == ACT_SILU)
#pragma unroll
      for (int i = 0; i < 8; i++)
        v[j][i] = silu(v[j][i]);
    write<8>(p, row, channel, v[j]);
  }
  for (int i = channels + lane; mine && i < p.pitch; i += LANES)
    p.y[row * p.pitch + i] = __half(0.0f);
}

/* Rows of any length, read three times. */
__global__ void __launch_bounds__(ROW_THREADS) layer_norm_long_kernel(const __grid_constant__ struct norm_args p) {
  size_t row = (size_t)blockIdx.x * (ROW_THREADS / 32) + threadIdx.x / 32;
  int lane = threadIdx.x % 32, channels = p.c + p.c2;
  wait_for_previous();
  if (row >= (size_t)p.n * p.pixels)
    return;
  float v, sum = 0, square = 0;
  for (int i = lane; i < channels; i += 32) {
    read<1>(p, row, i, &v);
    sum += v;
  }
  float mean = add_lanes<32>(sum) / (float)channels;
  for (int i = lane; i < channels; i += 32) {
    read<1>(p, row, i, &v);
    square += (v - mean) * (v - mean);
  }
  float scale = rsqrtf(add_lanes<32>(square) / (float)channels + p.eps);
  for (int i = lane; i < p.pitch; i += 32) {
    v = 0.0f;
    if (i < channels) {
      read<1>(p, row, i, &v);
      v = (v - mean) * scale * (p.gamma ? p.gamma[i] : 1.0f) + (p.beta ? p.beta[i] : 0.0f);
      v = p.act == ACT_SILU ? silu(v) : v;
    }
    write<1>(p, row, i, &v);
  }
}

template <int LANES, int HOLD> cudaError_t launch_rows(const struct launch_queue *queue, const struct norm_args *args) {
  dim3 grid(blocks_for((size_t)args->n * args->pixels, ROW_THREADS / LANES));
  return launch(queue, layer_norm_kernel<LANES, HOLD>, grid, dim3(ROW_THREADS), 0, *args);
}

} // namespace

cudaError_t launch_layer_norm(const struct launch_queue *queue, const struct norm_args *args) {
  dim3 grid(blocks_for((size_t)args->n * args->pixels, ROW_THREADS / 32)), block(ROW_THREADS);
  int channels = args->c + args->c2;
  if (!norm_has_vectors(args) || channels > 1280)
    return launch(queue, layer_norm_long_kernel, grid, block, 0, *args);
  return channels <= 256   ? launch_rows<16, 2>(queue, args)
         : channels <= 320 ? launch_rows<8, 5>(queue, args)
         : channels <= 512 ? launch_rows<32, 2>(queue, args)
         : channels <= 768 ? launch_rows<32, 3>(queue, args)
                           : launch_rows<32, 5>(queue, args);
}
