/* Group norm and layer norm, each one launch: statistics, then the normalised, activated, concatenated result that a
 * convolution or a linear layer reads. Sums are taken in a fixed order: the same bits every time. */
#include "cuda/kernels/common.cuh"

namespace {

/* WIDTH channels of a pixel: 8 halves at once, as they are in memory, or one element of either type. */
template <int WIDTH> struct carrier { float value; };
template <> struct carrier<8> { uint4 raw; };

template <int WIDTH>
__device__ __forceinline__ carrier<WIDTH> fetch(const struct norm_args &p, size_t pixel, int channel) {
  bool second = channel >= p.c;
  size_t at = second ? pixel * p.c2 + (channel - p.c) : pixel * p.c + channel;
  const __half *narrow = static_cast<const __half *>(second ? p.x2 : p.x) + at;
  if constexpr (WIDTH == 8)
    return {*reinterpret_cast<const uint4 *>(narrow)};
  else
    return {!second && p.wide ? static_cast<const float *>(p.x)[at] : __half2float(*narrow)};
}

__device__ __forceinline__ void unpack(const carrier<1> &from, float out[1]) {
  out[0] = from.value;
}

__device__ __forceinline__ void unpack(const carrier<8> &from, float out[8]) {
  unpack8(from.raw, out);
}

template <int WIDTH>
__device__ __forceinline__ void read(const struct norm_args &p, size_t pixel, int channel, float out[WIDTH]) {
  unpack(fetch<WIDTH>(p, pixel, channel), out);
}

/* WIDTH floats of gamma or beta, which may be left out. */
template <int WIDTH>
__device__ __forceinline__ void read_vector(const float *from, int channel, float otherwise, float out[WIDTH]) {
  if (!from) {
#pragma unroll
    for (int i = 0; i < WIDTH; i++)
      out[i] = otherwise;
  } else if constexpr (WIDTH == 8) {
    float4 low = __ldg(reinterpret_cast<const float4 *>(from + channel));
    float4 high = __ldg(reinterpret_cast<const float4 *>(from + channel) + 1);
    out[0] = low.x, out[1] = low.y, out[2] = low.z, out[3] = low.w;
    out[4] = high.x, out[5] = high.y, out[6] = high.z, out[7] = high.w;
  } else {
    out[0] = __ldg(from + channel);
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

/* --- group norm ---
 *
 * A block reads its pixels once, keeps them in registers, and leaves each group's sums for all blocks to see. When all
 * have (a barrier across the grid: every block is resident), each adds them up and writes its pixels normalised.
 * Small pictures are not divided into runs of pixels but into slices of whole groups: then no block waits for another.
 */

constexpr int THREADS = 512, LANES = 16; /* threads that add up one group */
constexpr int HELD = 4;                  /* pixels a thread keeps in registers; with more it reads them twice */
constexpr int FEW = 2;                   /* pixels a thread has at least, where there are enough */

/* A block's share of one picture: a run of pixels, a slice of the channels. Threads lie in rows of `span` over the
 * slice. */
struct share {
  int picture, first, last, chunk, chunks;
  int base, channels, groups; /* first channel of the slice, its channels and groups */
  int columns, span, rows, row, column;
  int size; /* channels of a group */
  float groups_a_channel;
  bool held; /* each thread's pixels fit in its registers */
};

template <int WIDTH> __device__ __forceinline__ share make_share(const struct norm_args &p, int slices) {
  share s;
  int part = blockIdx.x % (gridDim.x / p.n);
  s.picture = blockIdx.x / (gridDim.x / p.n);
  s.chunks = slices > 1 ? 1 : gridDim.x / p.n;
  s.chunk = slices > 1 ? 0 : part;
  s.first = (int)((long)p.pixels * s.chunk / s.chunks);
  s.last = (int)((long)p.pixels * (s.chunk + 1) / s.chunks);
  s.size = (p.c + p.c2) / p.groups;
  s.groups = p.groups / slices;
  s.channels = s.groups * s.size;
  s.base = slices > 1 ? part * s.channels : 0;
  s.columns = s.channels / WIDTH;
  s.span = min(s.columns, THREADS);
  s.rows = THREADS / s.span;
  s.row = threadIdx.x / s.span;
  s.column = threadIdx.x % s.span;
  s.groups_a_channel = 1.0f / (float)s.size;
  s.held = s.columns == s.span && s.last - s.first <= HELD * s.rows;
  return s;
}

/* The slice's group that its channel is in. Exact: channels are far fewer than a float's digits tell apart. */
__device__ __forceinline__ int group_of(const share &s, int channel) {
  return (int)(((float)channel + 0.5f) * s.groups_a_channel);
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

/* A thread's pixels of one column: HELD of them at a time. */
template <int WIDTH> struct batch {
  carrier<WIDTH> held[HELD];

  /* use(held, pixel) for each pixel of the share among those from start on. */
  template <typename Use> __device__ __forceinline__ void each(const share &s, int start, Use use) {
#pragma unroll
    for (int j = 0; j < HELD; j++)
      if (start + j * s.rows < s.last)
        use(held[j], start + j * s.rows);
  }

  __device__ __forceinline__ void load(const struct norm_args &p, const share &s, int start, int column) {
    each(s, start, [&](carrier<WIDTH> &to, int pixel) {
      to = fetch<WIDTH>(p, (size_t)s.picture * p.pixels + pixel, s.base + column * WIDTH);
    });
  }

  /* Adds the distances from base, and their squares. */
  __device__ __forceinline__ void add(const share &s, int start, const float base[WIDTH], float sum[WIDTH],
                                      float square[WIDTH]) {
    each(s, start, [&](const carrier<WIDTH> &from, int) {
      float v[WIDTH];
      unpack(from, v);
#pragma unroll
      for (int i = 0; i < WIDTH; i++) {
        sum[i] += v[i] - base[i];
        square[i] += (v[i] - base[i]) * (v[i] - base[i]);
      }
    });
  }

  __device__ __forceinline__ void store(const struct norm_args &p, const share &s, int start, int column,
                                        const float scale[WIDTH], const float shift[WIDTH]) {
    each(s, start, [&](const carrier<WIDTH> &from, int pixel) {
      float v[WIDTH];
      unpack(from, v);
#pragma unroll
      for (int i = 0; i < WIDTH; i++)
        v[i] = v[i] * scale[i] + shift[i];
      if (p.act == ACT_SILU)
#pragma unroll
        for (int i = 0; i < WIDTH; i++)
          v[i] = silu(v[i]);
      write<WIDTH>(p, (size_t)s.picture * p.pixels + pixel, s.base + column * WIDTH, v);
    });
  }
};

/* The sums of the block's threads, [rows][channels] in shared memory, to one for each group: in totals. */
__device__ __forceinline__ void add_rows(const share &s, float2 *sums, float2 *totals) {
#pragma unroll 1
  for (int channel = threadIdx.x; channel < s.channels; channel += THREADS) {
    float2 total = sums[channel];
    for (int row = 1; row < s.rows; row++) {
      float2 part = sums[row * s.channels + channel];
      total.x += part.x, total.y += part.y;
    }
    sums[channel] = total;
  }
  __syncthreads();
  int lane = threadIdx.x % LANES, turns = (s.groups + THREADS / LANES - 1) / (THREADS / LANES);
#pragma unroll 1
  for (int turn = 0; turn < turns; turn++) {
    int group = turn * (THREADS / LANES) + threadIdx.x / LANES;
    float2 total = make_float2(0, 0);
    for (int i = lane; group < s.groups && i < s.size; i += LANES) {
      float2 part = sums[group * s.size + i];
      total.x += part.x, total.y += part.y;
    }
#pragma unroll
    for (int i = LANES / 2; i > 0; i /= 2) {
      total.x += __shfl_xor_sync(0xffffffffu, total.x, i);
      total.y += __shfl_xor_sync(0xffffffffu, total.y, i);
    }
    if (lane == 0 && group < s.groups)
      totals[group] = total;
  }
}

/* A group's sums to mean and reciprocal deviation, in stats, which holds the groups' pivots. */
__device__ __forceinline__ void finish_group(const struct norm_args &p, const share &s, float2 total, float2 *stat) {
  float count = (float)p.pixels * (float)s.size;
  float mean = total.x / count, variance = fmaxf(total.y / count - mean * mean, 0.0f);
  *stat = make_float2(stat->x + mean, rsqrtf(variance + p.eps));
}

/* All blocks' sums of the picture, once all have left them, to stats. sums: shared, LANES * groups. */
__device__ __forceinline__ void combine(const struct norm_args &p, const share &s, float2 *sums, float2 *stats) {
  const float2 *partial = reinterpret_cast<const float2 *>(p.partial) + (size_t)s.picture * s.chunks * p.groups;
#pragma unroll 1
  for (int i = threadIdx.x; i < LANES * p.groups; i += THREADS) {
    int group = i % p.groups;
    float2 total = make_float2(0, 0);
#pragma unroll 4
    for (int chunk = i / p.groups; chunk < s.chunks; chunk += LANES) {
      float2 part = __ldcg(partial + (size_t)chunk * p.groups + group);
      total.x += part.x, total.y += part.y;
    }
    sums[i] = total;
  }
  __syncthreads();
#pragma unroll 1
  for (int group = threadIdx.x; group < p.groups; group += THREADS) {
    float2 total = make_float2(0, 0);
#pragma unroll
    for (int i = 0; i < LANES; i++) {
      float2 part = sums[i * p.groups + group];
      total.x += part.x, total.y += part.y;
    }
    finish_group(p, s, total, &stats[group]);
  }
  __syncthreads();
}

template <int WIDTH>
__global__ void __launch_bounds__(THREADS, 1)
    group_norm_kernel(const __grid_constant__ struct norm_args p, int slices) {
  extern __shared__ float2 sums[];
  __shared__ float2 stats[NORM_GROUPS_MAX];
  __shared__ float2 totals[NORM_GROUPS_MAX];
  share s = make_share<WIDTH>(p, slices);
  bool active = s.row < s.rows;
  int start = s.first + s.row, stride = HELD * s.rows;
  batch<WIDTH> own;
  wait_for_previous();
  if (active)
    own.load(p, s, start, s.column);
  /* Sums are of distances to each group's pivot, one of its values, so that a large mean costs no digits. */
  for (int group = threadIdx.x; group < s.groups; group += THREADS)
    read<1>(p, (size_t)s.picture * p.pixels, s.base + group * s.size, &stats[group].x);
  __syncthreads();
#pragma unroll 1
  for (int column = s.column; active && column < s.columns; column += s.span) {
    float base[WIDTH], sum[WIDTH] = {}, square[WIDTH] = {};
#pragma unroll
    for (int i = 0; i < WIDTH; i++)
      base[i] = stats[group_of(s, column * WIDTH + i)].x;
#pragma unroll 1
    for (int pixel = start; pixel < s.last; pixel += stride) {
      if (pixel != start || column != s.column)
        own.load(p, s, pixel, column);
      own.add(s, pixel, base, sum, square);
    }
#pragma unroll
    for (int i = 0; i < WIDTH; i++)
      sums[s.row * s.channels + column * WIDTH + i] = make_float2(sum[i], square[i]);
  }
  __syncthreads();
  if (s.chunks > 1) {
    add_rows(s, sums, reinterpret_cast<float2 *>(p.partial) + (size_t)blockIdx.x * p.groups);
    grid_barrier(p.barrier);
    combine(p, s, sums, stats);
  } else {
    add_rows(s, sums, totals);
    __syncthreads();
    for (int group = threadIdx.x; group < s.groups; group += THREADS)
      finish_group(p, s, totals[group], &stats[group]);
    __syncthreads();
  }
#pragma unroll 1
  for (int column = s.column; active && column < s.columns; column += s.span) {
    float scale[WIDTH], shift[WIDTH];
    read_vector<WIDTH>(p.gamma, s.base + column * WIDTH, 1.0f, scale);
    read_vector<WIDTH>(p.beta, s.base + column * WIDTH, 0.0f, shift);
#pragma unroll
    for (int i = 0; i < WIDTH; i++) {
      float2 stat = stats[group_of(s, column * WIDTH + i)];
      scale[i] *= stat.y;
      shift[i] -= stat.x * scale[i];
    }
#pragma unroll 1
    for (int pixel = start; pixel < s.last; pixel += stride) {
      if (!s.held)
        own.load(p, s, pixel, column);
      own.store(p, s, pixel, column, scale, shift);
    }
  }
  int padding = s.base ? 0 : p.pitch - p.c - p.c2;
#pragma unroll 1
  for (int i = threadIdx.x; i < (s.last - s.first) * padding; i += THREADS)
    p.y[((size_t)s.picture * p.pixels + s.first + i / padding) * p.pitch + p.c + p.c2 + i % padding] = __half(0.0f);
}

/* Into how many slices of whole vectors of channels a small picture is divided; 1: too large, or it does not divide. */
template <int WIDTH> int count_slices(const struct norm_args *args) {
  int channels = args->c + args->c2, size = channels / args->groups, slices = args->groups;
  while (slices > 1 && (args->groups % slices || args->groups / slices * size % WIDTH))
    slices--;
  int vectors = args->pixels * (channels / slices / WIDTH);
  return vectors <= HELD * THREADS ? slices : 1;
}

template <int WIDTH> cudaError_t launch_group_norm(const struct launch_queue *queue, const struct norm_args *args) {
  int most = queue->sms < NORM_BLOCKS_MAX ? queue->sms : NORM_BLOCKS_MAX; /* one a multiprocessor: all are resident */
  if (args->groups > NORM_GROUPS_MAX || args->n > most)
    return cudaErrorInvalidConfiguration;
  int slices = count_slices<WIDTH>(args), channels = (args->c + args->c2) / slices;
  int span = channels / WIDTH < THREADS ? channels / WIDTH : THREADS, rows = THREADS / span;
  int elements = rows * channels > LANES * args->groups ? rows * channels : LANES * args->groups;
  size_t shared = (size_t)elements * sizeof(float2);
  cudaError_t status =
      cudaFuncSetAttribute(group_norm_kernel<WIDTH>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
  if (status != cudaSuccess)
    return status;
  int parts = slices;
  if (slices == 1) {
    parts = (int)blocks_for((size_t)args->pixels, (size_t)rows * FEW);
    parts = parts < most / args->n ? parts : most / args->n;
  }
  dim3 grid((unsigned)(parts * args->n));
  return launch(queue, group_norm_kernel<WIDTH>, grid, dim3(THREADS), shared, *args, slices);
}

/* --- layer norm: a warp a row --- */

constexpr int ROW_THREADS = 128;

__device__ __forceinline__ float add_warp(float v) {
#pragma unroll
  for (int i = 16; i > 0; i /= 2)
    v += __shfl_xor_sync(0xffffffffu, v, i);
  return v;
}

/* Lane l has channels WIDTH * (l + 32 j), j < HOLD, in registers: rows of at most 32 * WIDTH * HOLD channels. */
template <int WIDTH, int HOLD>
__global__ void __launch_bounds__(ROW_THREADS) layer_norm_kernel(const __grid_constant__ struct norm_args p) {
  size_t row = (size_t)blockIdx.x * (ROW_THREADS / 32) + threadIdx.x / 32;
  int lane = threadIdx.x % 32, channels = p.c + p.c2;
  wait_for_previous();
  if (row >= (size_t)p.n * p.pixels)
    return;
  float v[HOLD][WIDTH], sum = 0, square = 0;
#pragma unroll
  for (int j = 0; j < HOLD; j++)
    if ((lane + 32 * j) * WIDTH < channels)
      read<WIDTH>(p, row, (lane + 32 * j) * WIDTH, v[j]);
#pragma unroll
  for (int j = 0; j < HOLD; j++)
#pragma unroll
    for (int i = 0; i < WIDTH; i++)
      sum += (lane + 32 * j) * WIDTH < channels ? v[j][i] : 0.0f;
  float mean = add_warp(sum) / (float)channels;
#pragma unroll
  for (int j = 0; j < HOLD; j++)
#pragma unroll
    for (int i = 0; i < WIDTH; i++)
      square += (lane + 32 * j) * WIDTH < channels ? (v[j][i] - mean) * (v[j][i] - mean) : 0.0f;
  float scale = rsqrtf(add_warp(square) / (float)channels + p.eps);
#pragma unroll
  for (int j = 0; j < HOLD; j++) {
    int channel = (lane + 32 * j) * WIDTH;
    if (channel >= channels)
      continue;
    float gamma[WIDTH], beta[WIDTH];
    read_vector<WIDTH>(p.gamma, channel, 1.0f, gamma);
    read_vector<WIDTH>(p.beta, channel, 0.0f, beta);
#pragma unroll
    for (int i = 0; i < WIDTH; i++)
      v[j][i] = (v[j][i] - mean) * scale * gamma[i] + beta[i];
    if (p.act == ACT_SILU)
#pragma unroll
      for (int i = 0; i < WIDTH; i++)
        v[j][i] = silu(v[j][i]);
    write<WIDTH>(p, row, channel, v[j]);
  }
  for (int i = channels + lane; i < p.pitch; i += 32)
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
  float mean = add_warp(sum) / (float)channels;
  for (int i = lane; i < channels; i += 32) {
    read<1>(p, row, i, &v);
    square += (v - mean) * (v - mean);
  }
  float scale = rsqrtf(add_warp(square) / (float)channels + p.eps);
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

cudaError_t launch_layer_norm(const struct launch_queue *queue, const struct norm_args *args, bool vectors) {
  dim3 grid(blocks_for((size_t)args->n * args->pixels, ROW_THREADS / 32)), block(ROW_THREADS);
  int channels = args->c + args->c2;
  if (vectors && channels <= 512)
    return launch(queue, layer_norm_kernel<8, 2>, grid, block, 0, *args);
  if (vectors && channels <= 1280)
    return launch(queue, layer_norm_kernel<8, 5>, grid, block, 0, *args);
  return launch(queue, layer_norm_long_kernel, grid, block, 0, *args);
}

} // namespace

cudaError_t launch_norm(const struct launch_queue *queue, const struct norm_args *args) {
  bool vectors = args->c % 8 == 0 && args->c2 % 8 == 0 && args->pitch % 8 == 0 && !args->wide;
  cudaError_t status = !args->groups ? launch_layer_norm(queue, args, vectors)
                       : vectors     ? launch_group_norm<8>(queue, args)
                                     : launch_group_norm<1>(queue, args);
  if (status != cudaSuccess || args->act == ACT_NONE || args->act == ACT_SILU)
    return status;
  /* No network we run has another activation behind a norm: in place, with a launch of its own. */
  struct gather_args rest = {};
  rest.x = rest.y = args->y;
  rest.n = args->n;
  rest.h = 1;
  rest.w = args->pixels;
  rest.c = rest.pitch = args->pitch;
  rest.act = args->act;
  return launch_gather(queue, &rest);
}
