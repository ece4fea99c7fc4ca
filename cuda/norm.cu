/* Group norm and layer norm, each one launch: statistics, then the normalised, activated, concatenated result that a
 * convolution or a linear layer reads. Sums are taken in a fixed order: the same bits every time. */
#include "common.cuh"

namespace {

constexpr int THREADS = 512, LANES = 16; /* LANES threads add up a group */
constexpr int PIXELS_A_THREAD = 4;       /* at least, where there are enough */

/* WIDTH channels of a pixel as floats: 8 halves at once, or one element of either type. */
template <int WIDTH>
__device__ __forceinline__ void read(const struct norm_args &p, size_t pixel, int channel, float out[WIDTH]) {
  bool second = channel >= p.c;
  size_t at = second ? pixel * p.c2 + (channel - p.c) : pixel * p.c + channel;
  if constexpr (WIDTH == 8) {
    load8(static_cast<const __half *>(second ? p.x2 : p.x) + at, out);
  } else {
    out[0] = !second && p.wide ? static_cast<const float *>(p.x)[at]
                               : __half2float(static_cast<const __half *>(second ? p.x2 : p.x)[at]);
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

/* --- group norm --- */

/* A block's share: a run of pixels of one picture. Threads lie in rows of `span` over the channels. */
struct share {
  int picture, first, last, chunk, chunks;
  int channels, columns, span, rows, row, column;
};

template <int WIDTH> __device__ __forceinline__ share make_share(const struct norm_args &p) {
  share s;
  s.chunks = gridDim.x / p.n;
  s.picture = blockIdx.x / s.chunks;
  s.chunk = blockIdx.x % s.chunks;
  s.first = (int)((long)p.pixels * s.chunk / s.chunks);
  s.last = (int)((long)p.pixels * (s.chunk + 1) / s.chunks);
  s.channels = p.c + p.c2;
  s.columns = s.channels / WIDTH;
  s.span = min(s.columns, THREADS);
  s.rows = THREADS / s.span;
  s.row = threadIdx.x / s.span;
  s.column = threadIdx.x % s.span;
  return s;
}

/* Waits until all blocks have come here; all must be resident. The top bit of the counter flips when the last one has:
 * block 0 adds what the others leave of 2^31. */
__device__ __forceinline__ void grid_barrier(unsigned *counter) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    unsigned before = atomicAdd(counter, blockIdx.x == 0 ? 0x80000000u - (gridDim.x - 1) : 1u);
    while (((before ^ *static_cast<volatile unsigned *>(counter)) & 0x80000000u) == 0)
      ;
    __threadfence();
  }
  __syncthreads();
}

/* Sums of LANES neighbouring threads, in each of them. */
__device__ __forceinline__ float2 add_lanes(float2 v) {
#pragma unroll
  for (int i = LANES / 2; i > 0; i /= 2) {
    v.x += __shfl_xor_sync(0xffffffffu, v.x, i);
    v.y += __shfl_xor_sync(0xffffffffu, v.y, i);
  }
  return v;
}

/* The value that a group's statistics are taken relative to, so that a large mean costs no digits. */
__device__ __forceinline__ float pivot(const struct norm_args &p, const share &s, int group) {
  float value;
  read<1>(p, (size_t)s.picture * p.pixels, group * (s.channels / p.groups), &value);
  return value;
}

/* Sum and sum of squares of this block's pixels for each group, to partial. sums: shared, [rows][channels]. */
template <int WIDTH> __device__ __forceinline__ void add_up(const struct norm_args &p, const share &s, float2 *sums) {
  int size = s.channels / p.groups;
  for (int column = s.column; s.row < s.rows && column < s.columns; column += s.span) {
    float base[WIDTH], sum[WIDTH] = {}, square[WIDTH] = {};
#pragma unroll
    for (int i = 0; i < WIDTH; i++)
      base[i] = pivot(p, s, (column * WIDTH + i) / size);
    for (int pixel = s.first + s.row; pixel < s.last; pixel += s.rows) {
      float v[WIDTH];
      read<WIDTH>(p, (size_t)s.picture * p.pixels + pixel, column * WIDTH, v);
#pragma unroll
      for (int i = 0; i < WIDTH; i++) {
        float d = v[i] - base[i];
        sum[i] += d;
        square[i] += d * d;
      }
    }
#pragma unroll
    for (int i = 0; i < WIDTH; i++)
      sums[s.row * s.channels + column * WIDTH + i] = make_float2(sum[i], square[i]);
  }
  __syncthreads();
  float2 *partial = reinterpret_cast<float2 *>(p.partial) + (size_t)blockIdx.x * p.groups;
  int lane = threadIdx.x % LANES, turns = (p.groups + THREADS / LANES - 1) / (THREADS / LANES);
  for (int turn = 0; turn < turns; turn++) {
    int group = turn * (THREADS / LANES) + threadIdx.x / LANES;
    float2 total = make_float2(0, 0);
    for (int i = lane; group < p.groups && i < s.rows * size; i += LANES) {
      float2 part = sums[i / size * s.channels + group * size + i % size];
      total.x += part.x, total.y += part.y;
    }
    total = add_lanes(total);
    if (lane == 0 && group < p.groups)
      partial[group] = total;
  }
}

/* Mean and reciprocal deviation of each group of the block's picture, to stats (shared). */
__device__ __forceinline__ void combine(const struct norm_args &p, const share &s, float2 *stats) {
  const float2 *partial = reinterpret_cast<const float2 *>(p.partial) + (size_t)s.picture * s.chunks * p.groups;
  int lane = threadIdx.x % LANES, turns = (p.groups + THREADS / LANES - 1) / (THREADS / LANES);
  float count = (float)p.pixels * (float)(s.channels / p.groups);
  for (int turn = 0; turn < turns; turn++) {
    int group = turn * (THREADS / LANES) + threadIdx.x / LANES;
    float2 total = make_float2(0, 0);
    for (int i = lane; group < p.groups && i < s.chunks; i += LANES) {
      float2 part = __ldcg(partial + (size_t)i * p.groups + group);
      total.x += part.x, total.y += part.y;
    }
    total = add_lanes(total);
    if (lane == 0 && group < p.groups) {
      float mean = total.x / count, variance = fmaxf(total.y / count - mean * mean, 0.0f);
      stats[group] = make_float2(mean + pivot(p, s, group), rsqrtf(variance + p.eps));
    }
  }
  __syncthreads();
}

template <int WIDTH>
__global__ void __launch_bounds__(THREADS, 2) group_norm_kernel(const __grid_constant__ struct norm_args p) {
  extern __shared__ float2 sums[];
  __shared__ float2 stats[NORM_GROUPS_MAX];
  share s = make_share<WIDTH>(p);
  wait_for_previous();
  add_up<WIDTH>(p, s, sums);
  if (s.chunks > 1)
    grid_barrier(p.barrier);
  else
    __syncthreads();
  combine(p, s, stats);
  int size = s.channels / p.groups;
  for (int column = s.column; s.row < s.rows && column < s.columns; column += s.span) {
    float scale[WIDTH], shift[WIDTH];
#pragma unroll
    for (int i = 0; i < WIDTH; i++) {
      int channel = column * WIDTH + i;
      float2 stat = stats[channel / size];
      scale[i] = (p.gamma ? p.gamma[channel] : 1.0f) * stat.y;
      shift[i] = (p.beta ? p.beta[channel] : 0.0f) - stat.x * scale[i];
    }
    for (int pixel = s.first + s.row; pixel < s.last; pixel += s.rows) {
      size_t at = (size_t)s.picture * p.pixels + pixel;
      float v[WIDTH];
      read<WIDTH>(p, at, column * WIDTH, v);
#pragma unroll
      for (int i = 0; i < WIDTH; i++)
        v[i] = activate(v[i] * scale[i] + shift[i], p.act);
      write<WIDTH>(p, at, column * WIDTH, v);
    }
  }
  int padding = p.pitch - s.channels;
  for (int i = threadIdx.x; i < (s.last - s.first) * padding; i += THREADS)
    p.y[((size_t)s.picture * p.pixels + s.first + i / padding) * p.pitch + s.channels + i % padding] = __half(0.0f);
}

template <int WIDTH> cudaError_t launch_group_norm(const struct queue *queue, const struct norm_args *args) {
  int channels = args->c + args->c2, span = channels / WIDTH < THREADS ? channels / WIDTH : THREADS;
  int rows = THREADS / span, resident = 0;
  size_t shared = (size_t)rows * channels * sizeof(float2);
  cudaError_t status =
      cudaFuncSetAttribute(group_norm_kernel<WIDTH>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
  if (status == cudaSuccess)
    status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, group_norm_kernel<WIDTH>, THREADS, shared);
  if (status != cudaSuccess)
    return status;
  if (args->groups > NORM_GROUPS_MAX || resident < 1 || args->n > queue->sms)
    return cudaErrorInvalidConfiguration;
  int most = resident * queue->sms < NORM_BLOCKS_MAX ? resident * queue->sms : NORM_BLOCKS_MAX;
  int chunks = (int)blocks_for((size_t)args->pixels, (size_t)rows * PIXELS_A_THREAD);
  if (chunks > most / args->n)
    chunks = most / args->n;
  return launch(queue, group_norm_kernel<WIDTH>, dim3((unsigned)(chunks * args->n)), dim3(THREADS), shared, *args);
}

/* --- layer norm: a warp a row --- */

constexpr int ROW_THREADS = 128;

__device__ __forceinline__ float add_warp(float v) {
#pragma unroll
  for (int i = 16; i > 0; i /= 2)
    v += __shfl_xor_sync(0xffffffffu, v, i);
  return v;
}

template <int WIDTH>
__global__ void __launch_bounds__(ROW_THREADS) layer_norm_kernel(const __grid_constant__ struct norm_args p) {
  size_t row = (size_t)blockIdx.x * (ROW_THREADS / 32) + threadIdx.x / 32;
  int lane = threadIdx.x % 32, channels = p.c + p.c2;
  wait_for_previous();
  if (row >= (size_t)p.n * p.pixels)
    return;
  float v[WIDTH], sum = 0, square = 0;
  for (int i = lane * WIDTH; i < channels; i += 32 * WIDTH) {
    read<WIDTH>(p, row, i, v);
#pragma unroll
    for (int j = 0; j < WIDTH; j++)
      sum += v[j];
  }
  float mean = add_warp(sum) / (float)channels;
  for (int i = lane * WIDTH; i < channels; i += 32 * WIDTH) {
    read<WIDTH>(p, row, i, v);
#pragma unroll
    for (int j = 0; j < WIDTH; j++)
      square += (v[j] - mean) * (v[j] - mean);
  }
  float scale = rsqrtf(add_warp(square) / (float)channels + p.eps);
  for (int i = lane * WIDTH; i < channels; i += 32 * WIDTH) {
    read<WIDTH>(p, row, i, v);
#pragma unroll
    for (int j = 0; j < WIDTH; j++)
      v[j] =
          activate((v[j] - mean) * scale * (p.gamma ? p.gamma[i + j] : 1.0f) + (p.beta ? p.beta[i + j] : 0.0f), p.act);
    write<WIDTH>(p, row, i, v);
  }
  for (int i = channels + lane; i < p.pitch; i += 32)
    p.y[row * p.pitch + i] = __half(0.0f);
}

template <int WIDTH> cudaError_t launch_layer_norm(const struct queue *queue, const struct norm_args *args) {
  size_t rows = (size_t)args->n * args->pixels;
  return launch(queue, layer_norm_kernel<WIDTH>, dim3(blocks_for(rows, ROW_THREADS / 32)), dim3(ROW_THREADS), 0, *args);
}

} // namespace

cudaError_t launch_norm(const struct queue *queue, const struct norm_args *args) {
  bool vectors = args->c % 8 == 0 && args->c2 % 8 == 0 && args->pitch % 8 == 0 && !args->wide;
  if (args->groups)
    return vectors ? launch_group_norm<8>(queue, args) : launch_group_norm<1>(queue, args);
  return vectors ? launch_layer_norm<8>(queue, args) : launch_layer_norm<1>(queue, args);
}
