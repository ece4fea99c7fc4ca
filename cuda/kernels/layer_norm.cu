/* Layer norm: y = act((x - mean) * rstd * gamma + beta), where mean and rstd = 1 / sqrt(variance + eps) are those of a
 * row's channels.
 *
 * 8, 16 or 32 lanes share a row and hold all of it in registers, so that it is read once:
 *
 *     lane of 32     0             1           ...      31
 *     vector 0    x[0..7]       x[8..15]       ...   x[248..255]      gamma and beta have the same layout
 *     vector 1    x[256..263]   x[264..271]    ...   x[504..511]      sums over the lanes by shuffles
 *
 * Variance comes from distances to the mean, in a second pass over the registers, so that a large mean costs no
 * precision. Memory is the limit: 2 bytes read and 2 written for each element, and with few rows the latency of one
 * read. Where a thread has several rows it loads the next one while it works on the present one. */
#include "cuda/kernels/norm.cuh"

namespace {

using namespace norms;

/* ROW_THREADS: threads of a thread block. RESIDENT: if each thread has several rows, at least this many thread blocks
 * fit a multiprocessor at the same time. */
constexpr int ROW_THREADS = 128, RESIDENT = 3;

/* Adds up v over a group of LANES neighbouring lanes, and returns the sum to each lane of the group. */
template <int LANES> __device__ __forceinline__ float add_lanes(float v) {
#pragma unroll
  for (int i = LANES / 2; i > 0; i /= 2)
    v += __shfl_xor_sync(0xffffffffu, v, i);
  return v;
}

/* Returns the sum of eight values. They are added as a tree, because a chain of eight additions would wait four clocks
 * for each. */
__device__ __forceinline__ float add8(const float v[8]) {
  return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
}

/* Layer norm of rows of at most 8 * VECTORS * LANES channels. LANES threads share a row: lane l has, for each j <
 * VECTORS, the eight channels from 8 * (l + LANES j) on. PLAIN: one input, no activation. SEVERAL: each thread has
 * several rows, so that gamma and beta are loaded less often; as FP32 they take four times the bytes of a row. */
template <int LANES, int VECTORS, bool PLAIN, bool SEVERAL>
__global__ void __launch_bounds__(ROW_THREADS, SEVERAL ? RESIDENT : 1)
    layer_norm_kernel(const __grid_constant__ struct norm_args p) {
  constexpr int ROWS = ROW_THREADS / LANES;
  size_t rows = (size_t)p.n * p.pixels, first_row = (size_t)blockIdx.x * ROWS, step = (size_t)gridDim.x * ROWS;
  size_t row = first_row + threadIdx.x / LANES;
  int lane = threadIdx.x % LANES, channels = PLAIN ? p.c : p.c + p.c2;
  float gamma[VECTORS][8], beta[VECTORS][8], inverse = __fdividef(1.0f, (float)channels);
  packed<8> next[VECTORS];
  auto has_vector = [&](int j) { return (lane + LANES * j) * 8 < channels; };
  auto load_vector = [&](int j) {
    if constexpr (!PLAIN)
      return fetch<8>(p, row, (lane + LANES * j) * 8);
    const __half *from = static_cast<const __half *>(p.x) + row * p.c + lane * 8;
    return packed<8>{*reinterpret_cast<const uint4 *>(from + LANES * j * 8)};
  };

  /* Load gamma and beta, which do not depend on the preceding kernel in the stream, then the first row. */
#pragma unroll
  for (int j = 0; j < VECTORS; j++)
    if (has_vector(j)) {
      read_vector<8>(p.gamma, (lane + LANES * j) * 8, 1.0f, gamma[j]);
      read_vector<8>(p.beta, (lane + LANES * j) * 8, 0.0f, beta[j]);
    }
  wait_for_previous();
#pragma unroll
  for (int j = 0; j < VECTORS; j++)
    if (row < rows && has_vector(j))
      next[j] = load_vector(j);

#pragma unroll 1
  do {
    float x[VECTORS][8] = {}, sum = 0, square_sum = 0;
    __half *y = p.y + row * p.pitch;
    bool has_row = row < rows;
#pragma unroll
    for (int j = 0; j < VECTORS; j++)
      if (has_row && has_vector(j))
        unpack(next[j], x[j]);

    /* Start to load the next row. */
    if constexpr (SEVERAL) {
      row += step;
      first_row += step;
#pragma unroll
      for (int j = 0; j < VECTORS; j++)
        if (row < rows && has_vector(j))
          next[j] = load_vector(j);
    }

    /* Calculate the mean of each row, then its variance. */
#pragma unroll
    for (int j = 0; j < VECTORS; j++)
      sum += add8(x[j]);
    float mean = add_lanes<LANES>(sum) * inverse;
#pragma unroll
    for (int j = 0; j < VECTORS; j++)
      if (has_vector(j)) {
        float squares[8];
#pragma unroll
        for (int i = 0; i < 8; i++)
          squares[i] = (x[j][i] - mean) * (x[j][i] - mean);
        square_sum += add8(squares);
      }
    float rstd = rsqrtf(add_lanes<LANES>(square_sum) * inverse + p.eps);

    /* Normalise and store. */
#pragma unroll
    for (int j = 0; j < VECTORS; j++) {
      if (!has_row || !has_vector(j))
        continue;
#pragma unroll
      for (int i = 0; i < 8; i++) {
        x[j][i] = (x[j][i] - mean) * rstd * gamma[j][i] + beta[j][i];
        if (!PLAIN && p.act == ACT_SILU)
          x[j][i] = silu(x[j][i]);
      }
      store8(y + (lane + LANES * j) * 8, x[j]);
    }
    for (int i = channels + lane; has_row && i < p.pitch; i += LANES)
      y[i] = __half(0.0f);
  } while (SEVERAL && first_row < rows);
}

/* Layer norm of rows of any length, one warp a row. The warp reads its row three times: for mean, variance and
 * result. */
__global__ void __launch_bounds__(ROW_THREADS) layer_norm_long_kernel(const __grid_constant__ struct norm_args p) {
  size_t row = (size_t)blockIdx.x * (ROW_THREADS / 32) + threadIdx.x / 32;
  int lane = threadIdx.x % 32, channels = p.c + p.c2;
  wait_for_previous();
  if (row >= (size_t)p.n * p.pixels)
    return;
  float x, sum = 0, square_sum = 0;
  /* Calculate the row's mean, then its variance. */
  for (int i = lane; i < channels; i += 32) {
    read<1>(p, row, i, &x);
    sum += x;
  }
  float mean = add_lanes<32>(sum) / (float)channels;
  for (int i = lane; i < channels; i += 32) {
    read<1>(p, row, i, &x);
    square_sum += (x - mean) * (x - mean);
  }
  float rstd = rsqrtf(add_lanes<32>(square_sum) / (float)channels + p.eps);
  /* Normalise and store; the padding gets zeros. */
  for (int i = lane; i < p.pitch; i += 32) {
    x = 0.0f;
    if (i < channels) {
      read<1>(p, row, i, &x);
      x = (x - mean) * rstd * (p.gamma ? p.gamma[i] : 1.0f) + (p.beta ? p.beta[i] : 0.0f);
      x = p.act == ACT_SILU ? silu(x) : x;
    }
    write<1>(p, row, i, &x);
  }
}

template <int LANES, int VECTORS>
cudaError_t launch_rows(const struct launch_queue *queue, const struct norm_args *args) {
  unsigned blocks = blocks_for((size_t)args->n * args->pixels, ROW_THREADS / LANES);
  unsigned turns = blocks_for(blocks, (size_t)RESIDENT * queue->sms);
  bool plain = !args->c2 && args->act == ACT_NONE;
  if (plain && turns > 1)
    return launch(queue, layer_norm_kernel<LANES, VECTORS, true, true>, dim3(blocks_for(blocks, turns)),
                  dim3(ROW_THREADS), 0, *args);
  return launch(
      queue, plain ? layer_norm_kernel<LANES, VECTORS, true, false> : layer_norm_kernel<LANES, VECTORS, false, false>,
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
