/* Helpers of the kernels of rows.h, which do parts of a transformer block in one launch each (ROWS.md): products,
 * norms, and the layout of rows in shared memory.
 *
 * A thread block has 16 rows, or a few times 16, of all C channels. It has C / 16 warps, each of which calculates 16
 * columns of every product. With so few rows a product takes as long as the loads of its weights. Only one warp uses a
 * weight, so it loads the weight directly into the registers from which the tensor cores read it. The weights of the
 * first products are loaded before the wait for the preceding kernel.
 *
 * A lane loads 16 bytes at a time, which are 8 neighbouring channels: lane l has channels 8 (l % 4) to 8 (l % 4) + 7 of
 * each 32, of both weights and rows. Two mma instructions multiply these 32 channels, and each takes four channels of a
 * lane. They need not take the channels in order, because the sum over channels may be added in any order:
 *
 *     lane l % 4      0          1          2            3
 *     channels      0 .. 7    8 .. 15    16 .. 23    24 .. 31
 *     first mma     0 1 2 3   8 9 10 11  16 17 18 19  ...
 *     second mma    4 5 6 7   ...
 *
 * Between two products, rows go through shared memory. There the first two channels of each of the four lanes come
 * first, then their next two, and so on:
 *
 *     0 1  8 9  16 17  24 25  |  2 3  10 11  18 19  26 27  |  4 5 ...
 *
 * With this order, one ldmatrix loads a warp's operand of 16 rows and 16 channels. Sums are taken in a fixed order. */
#ifndef CUDA_KERNELS_ROWS_CUH
#define CUDA_KERNELS_ROWS_CUH

#include "cuda/kernels/cluster_sm90.cuh"
#include "cuda/kernels/rows.h"

namespace rows {

enum { TILE = 16 };

/* number of halves from one row to the next in shared memory, such that ldmatrix reads eight rows without a bank
 * conflict */
template <int K> constexpr int PITCH = K + 8;
/* number of halves from one row to the next in shared memory, such that eight lanes read 16 bytes each, in two rows,
 * without a bank conflict */
template <int K> constexpr int PAIR_PITCH = K / 2 % 32 == 16 ? K : K + 32;

/* Returns the index at which a channel is stored in a row in shared memory; the comment at the top of the file shows
 * the order. */
__device__ __forceinline__ int place(int channel) {
  return (channel & ~31) + (channel >> 1 & 3) * 8 + (channel >> 3 & 3) * 2 + (channel & 1);
}

__device__ __forceinline__ int lane_row() {
  return threadIdx.x % 32 / 4;
}
__device__ __forceinline__ int lane_column() {
  return threadIdx.x % 4;
}

/* --- matrix products of a few rows --- */

/* Loads a lane's part of 8 N rows of a weight matrix, with 32 BLOCKS channels each. first: address of the first row;
 * pitch: elements from one row to the next. */
template <int N, int BLOCKS>
__device__ __forceinline__ void fetch(uint4 (&to)[N][BLOCKS], const __half *first, int pitch) {
  const __half *from = first + lane_row() * pitch + 8 * lane_column();
#pragma unroll
  for (int j = 0; j < N; j++)
#pragma unroll
    for (int s = 0; s < BLOCKS; s++)
      to[j][s] = load_weights(from + 8 * j * pitch + 32 * s);
}

/* Multiplies 16 M rows of a, in shared memory, by weights in registers: sum[m][j] += rows 16 m to 16 m + 15 of a, times
 * the weights of columns 8 j to 8 j + 7. */
template <int M, int N, int BLOCKS>
__device__ __forceinline__ void multiply(float (&sum)[M][N][4], const __half *a, int pitch,
                                         const uint4 (&weights)[N][BLOCKS]) {
  const __half *from = a + threadIdx.x % 16 * pitch + threadIdx.x % 32 / 16 * 8;
#pragma unroll
  for (int s = 0; s < BLOCKS; s++)
#pragma unroll
    for (int m = 0; m < M; m++) {
      uint32_t one[4], two[4];
      load_matrices(one, from + 16 * m * pitch + 32 * s);
      load_matrices(two, from + 16 * m * pitch + 32 * s + 16);
#pragma unroll
      for (int j = 0; j < N; j++) {
        const uint32_t w1[2] = {weights[j][s].x, weights[j][s].y}, w2[2] = {weights[j][s].z, weights[j][s].w};
        multiply_add(sum[m][j], one, w1);
        multiply_add(sum[m][j], two, w2);
      }
    }
}

/* Loads the bias of those columns whose sums a lane has: two of every 8 columns. */
template <int N> __device__ __forceinline__ void fetch_bias(float2 (&to)[N], const float *bias, int column) {
#pragma unroll
  for (int j = 0; j < N; j++)
    to[j] = bias ? load_pair(bias + column + 8 * j + 2 * lane_column()) : make_float2(0, 0);
}

template <int M, int N> __device__ __forceinline__ void begin(float (&sum)[M][N][4], const float2 (&bias)[N]) {
#pragma unroll
  for (int m = 0; m < M; m++)
#pragma unroll
    for (int j = 0; j < N; j++) {
      sum[m][j][0] = sum[m][j][2] = bias[j].x;
      sum[m][j][1] = sum[m][j][3] = bias[j].y;
    }
}

/* The values that a lane has of a block of 16 M rows and 8 N columns, as FP16: of every 8 rows one row, and two of
 * every 8 columns of that row. */
template <int M, int N> struct halves {
  uint32_t pair[M][N][2];

  __device__ __forceinline__ static size_t at(int m, int j, int half, int pitch) {
    return (size_t)(16 * m + 8 * half + lane_row()) * pitch + 8 * j + 2 * lane_column();
  }
  __device__ __forceinline__ void read(const __half *from, int pitch) {
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
      for (int j = 0; j < N; j++)
#pragma unroll
        for (int half = 0; half < 2; half++)
          pair[m][j][half] = *reinterpret_cast<const uint32_t *>(from + at(m, j, half, pitch));
  }
  __device__ __forceinline__ void write(__half *to, int pitch) const {
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
      for (int j = 0; j < N; j++)
#pragma unroll
        for (int half = 0; half < 2; half++)
          *reinterpret_cast<uint32_t *>(to + at(m, j, half, pitch)) = pair[m][j][half];
  }
  __device__ __forceinline__ void round(const float (&sum)[M][N][4]) {
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
      for (int j = 0; j < N; j++)
#pragma unroll
        for (int half = 0; half < 2; half++)
          pair[m][j][half] = pack2(sum[m][j][2 * half], sum[m][j][2 * half + 1]);
  }
  __device__ __forceinline__ void add_to(float (&sum)[M][N][4]) const {
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
      for (int j = 0; j < N; j++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
          float2 add = unpack2(pair[m][j][half]);
          sum[m][j][2 * half] += add.x;
          sum[m][j][2 * half + 1] += add.y;
        }
  }
  /* Writes the values that this lane holds in `pair` to rows in shared memory, `pitch` halves apart. In each row the
   * channels are in the order that place() gives. column: the first channel of the warp's block of 8 N channels. */
  __device__ __forceinline__ void share(__half *to, int column, int pitch) const {
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
      for (int j = 0; j < N; j++)
#pragma unroll
        for (int half = 0; half < 2; half++)
          *reinterpret_cast<uint32_t *>(to + (16 * m + 8 * half + lane_row()) * pitch +
                                        place(column + 8 * j + 2 * lane_column())) = pair[m][j][half];
  }
};

template <int M, int N>
__device__ __forceinline__ halves<M, N> share_rounded(__half *to, int column, int pitch, const float (&sum)[M][N][4]) {
  halves<M, N> rounded;
  rounded.round(sum);
  rounded.share(to, column, pitch);
  return rounded;
}

/* --- copies of rows between global and shared memory: 16 rows at a time, each thread 16 bytes of a row --- */

template <int C> struct portion {
  static constexpr int OCTETS = C / 8;
  int row = threadIdx.x / OCTETS, column = threadIdx.x % OCTETS * 8;
  __device__ __forceinline__ uint4 read(const __half *from, int pitch) const {
    return *reinterpret_cast<const uint4 *>(from + (size_t)row * pitch + column);
  }
  __device__ __forceinline__ void write(__half *to, int pitch, uint4 value) const {
    *reinterpret_cast<uint4 *>(to + (size_t)row * pitch + column) = value;
  }
  /* take() reads 16 bytes of a row from shared memory, and share_out() writes them. There the channels have the order
   * that place() gives. */
  __device__ __forceinline__ uint4 take(const __half *from) const {
    const uint32_t *pair = reinterpret_cast<const uint32_t *>(from + row * PITCH<C> + place(column));
    return make_uint4(pair[0], pair[4], pair[8], pair[12]);
  }
  __device__ __forceinline__ void share_out(__half *to, uint4 value) const {
    uint32_t *pair = reinterpret_cast<uint32_t *>(to + row * PITCH<C> + place(column));
    pair[0] = value.x;
    pair[4] = value.y;
    pair[8] = value.z;
    pair[12] = value.w;
  }
};

/* --- layer norm of rows --- */

/* Gamma and beta of one channel. Each thread loads them from global memory and writes them to shared memory later. */
template <int C> struct vectors {
  float gamma = 1, beta = 0;
  __device__ __forceinline__ void fetch(const float *g, const float *b) {
    if (threadIdx.x >= C)
      return;
    if (g)
      gamma = load_single(g + threadIdx.x);
    if (b)
      beta = load_single(b + threadIdx.x);
  }
  __device__ __forceinline__ void put(float2 *to) const {
    if (threadIdx.x < C)
      to[place(threadIdx.x)] = make_float2(gamma, beta);
  }
};

__device__ __forceinline__ float add_16_lanes(float v) {
#pragma unroll
  for (int i = 8; i > 0; i /= 2)
    v += __shfl_xor_sync(0xffffffffu, v, i);
  return v;
}

/* Layer norm of ROWS rows, from and to shared memory, with 16 lanes a row. factors: (gamma, beta) of each channel, in
 * the order in which channels are stored in shared memory (place). */
template <int C, int ROWS>
__device__ __forceinline__ void normalise(__half *to, const __half *from, const float2 *factors, float eps) {
  constexpr int PAIRS = C / 32, AT_ONCE = 2 * C / 16;
  int lane = threadIdx.x % 16;
#pragma unroll
  for (int base = 0; base < ROWS; base += AT_ONCE) {
    int row = base + threadIdx.x / 16;
    bool there = row < ROWS;
    int start = (there ? row : 0) * PITCH<C> + 2 * lane;
    /* Load a row, and calculate its mean. */
    float2 v[PAIRS];
    float sum = 0, square = 0;
#pragma unroll
    for (int i = 0; i < PAIRS; i++) {
      v[i] = unpack2(*reinterpret_cast<const uint32_t *>(from + start + 32 * i));
      sum += v[i].x + v[i].y;
    }
    float mean = add_16_lanes(sum) * (1.0f / C);
    /* Calculate the row's variance from the distances of its values to the mean. */
#pragma unroll
    for (int i = 0; i < PAIRS; i++) {
      v[i].x -= mean;
      v[i].y -= mean;
      square += v[i].x * v[i].x + v[i].y * v[i].y;
    }
    /* Normalise the row's values, and store them. */
    float rstd = rsqrtf(add_16_lanes(square) * (1.0f / C) + eps);
#pragma unroll
    for (int i = 0; i < PAIRS; i++) {
      float4 f = *reinterpret_cast<const float4 *>(factors + 2 * lane + 32 * i);
      if (there)
        *reinterpret_cast<uint32_t *>(to + start + 32 * i) =
            pack2(v[i].x * rstd * f.x + f.y, v[i].y * rstd * f.z + f.w);
    }
  }
}

/* --- checks that the host makes --- */

inline bool aligned(const void *pointer) {
  return (uintptr_t)pointer % 16 == 0;
}

inline bool has_rows(int c, int rows) {
  return (c == 128 || c == 192) && rows % TILE == 0;
}

/* Returns true if `tiles` thread blocks, each with TILE rows, are few enough that one launch is faster than several.
 * Every thread block loads all weights. With overlapping launches this was measured, up to the largest pictures. */
inline bool are_few(const struct launch_queue *queue, long tiles) {
  const long most = 4;
  return queue->overlap || tiles <= most * queue->sms;
}

} // namespace rows

#endif
