/* Layer norm: a warp a row. */
#include "cuda/kernels/norm.cuh"

namespace {

using namespace norms;

constexpr int ROW_THREADS = 128, RESIDENT = 3; /* thread blocks of a multiprocessor, at least */

/* The sum over LANES neighbours. */
template <int LANES> __device__ __forceinline__ float add_lanes(float v) {
#pragma unroll
  for (int i = LANES / 2; i > 0; i /= 2)
    v += __shfl_xor_sync(0xffffffffu, v, i);
  return v;
}

/* Not one after the other, which takes each four clocks. */
__device__ __forceinline__ float add8(const float v[8]) {
  return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
}

/* LANES threads share a row of at most 8 * HOLD * LANES channels: lane l has channels 8 * (l + LANES j), j < HOLD, in
 * registers. PLAIN: of one input, with no activation. SEVERAL: a thread has several rows, one on its way while it works
 * on the one before, for gamma and beta are four times a row's bytes. */
template <int LANES, int HOLD, bool PLAIN, bool SEVERAL>
__global__ void __launch_bounds__(ROW_THREADS, SEVERAL ? RESIDENT : 1)
    layer_norm_kernel(const __grid_constant__ struct norm_args p) {
  constexpr int ROWS = ROW_THREADS / LANES;
  size_t rows = (size_t)p.n * p.pixels, first = (size_t)blockIdx.x * ROWS, step = (size_t)gridDim.x * ROWS;
  size_t row = first + threadIdx.x / LANES;
  int lane = threadIdx.x % LANES, channels = PLAIN ? p.c : p.c + p.c2;
  float gamma[HOLD][8], beta[HOLD][8], share = __fdividef(1.0f, (float)channels);
  carrier<8> ahead[HOLD];
  auto is_there = [&](int j) { return (lane + LANES * j) * 8 < channels; };
  auto ask = [&](int j) {
    if constexpr (!PLAIN)
      return fetch<8>(p, row, (lane + LANES * j) * 8);
    const __half *from = static_cast<const __half *>(p.x) + row * p.c + lane * 8;
    return carrier<8>{*reinterpret_cast<const uint4 *>(from + LANES * j * 8)};
  };
#pragma unroll
  for (int j = 0; j < HOLD; j++)
    if (is_there(j)) {
      read_vector<8>(p.gamma, (lane + LANES * j) * 8, 1.0f, gamma[j]);
      read_vector<8>(p.beta, (lane + LANES * j) * 8, 0.0f, beta[j]);
    }
  wait_for_previous();
#pragma unroll
  for (int j = 0; j < HOLD; j++)
    if (row < rows && is_there(j))
      ahead[j] = ask(j);
#pragma unroll 1
  do {
    float v[HOLD][8] = {}, sum = 0, square = 0;
    __half *to = p.y + row * p.pitch;
    bool mine = row < rows;
#pragma unroll
    for (int j = 0; j < HOLD; j++)
      if (mine && is_there(j))
        unpack(ahead[j], v[j]);
    if constexpr (SEVERAL) {
      row += step;
      first += step;
#pragma unroll
      for (int j = 0; j < HOLD; j++)
        if (row < rows && is_there(j))
          ahead[j] = ask(j);
    }
#pragma unroll
    for (int j = 0; j < HOLD; j++)
      sum += add8(v[j]);
    float mean = add_lanes<LANES>(sum) * share;
#pragma unroll
    for (int j = 0; j < HOLD; j++)
      if (is_there(j)) {
        float squares[8];
#pragma unroll
        for (int i = 0; i < 8; i++)
          squares[i] = (v[j][i] - mean) * (v[j][i] - mean);
        square += add8(squares);
      }
    float scale = rsqrtf(add_lanes<LANES>(square) * share + p.eps);
#pragma unroll
    for (int j = 0; j < HOLD; j++) {
      if (!mine || !is_there(j))
        continue;
#pragma unroll
      for (int i = 0; i < 8; i++) {
        v[j][i] = (v[j][i] - mean) * scale * gamma[j][i] + beta[j][i];
        if (!PLAIN && p.act == ACT_SILU)
          v[j][i] = silu(v[j][i]);
      }
      store8(to + (lane + LANES * j) * 8, v[j]);
    }
    for (int i = channels + lane; mine && i < p.pitch; i += LANES)
      to[i] = __half(0.0f);
  } while (SEVERAL && first < rows);
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
  unsigned blocks = blocks_for((size_t)args->n * args->pixels, ROW_THREADS / LANES);
  unsigned turns = blocks_for(blocks, (size_t)RESIDENT * queue->sms);
  bool plain = !args->c2 && args->act == ACT_NONE;
  if (plain && turns > 1)
    return launch(queue, layer_norm_kernel<LANES, HOLD, true, true>, dim3(blocks_for(blocks, turns)), dim3(ROW_THREADS),
                  0, *args);
  return launch(queue,
                plain ? layer_norm_kernel<LANES, HOLD, true, false> : layer_norm_kernel<LANES, HOLD, false, false>,
                dim3(blocks), dim3(ROW_THREADS), 0, *args);
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
