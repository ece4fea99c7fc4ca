/* Adds the terms of adapters to weights of the checkpoint: target = base + sum of terms. Each thread block calculates a
 * tile of one weight, and each thread 4 rows and 8 columns of it. Products are summed in FP32, as the CPU device does;
 * tensor cores would round the factors to FP16.
 *
 * Nearly all weights have only terms of ordinary LoRAs: weight * scale * left right, the product of two small matrices.
 * For these there is a kernel that adds them directly to the result. Other terms have gains (factors for rows or
 * channels). */
#include "cuda/kernels/blend.h"
#include "cuda/kernels/common.cuh"

namespace {

enum {
  THREADS = 256,
  ROWS = BLEND_ROWS,
  COLUMNS = BLEND_COLUMNS,
  DEPTH = 16,
  DOWN = 4,
  GROUPS = 2, /* number of groups of columns that a thread has: two groups of GROUP columns each, half a tile apart */
  GROUP = 4,
};

struct tile {
  int row, column;       /* position, in the weight, of the tile's first value */
  int my_row, my_column; /* position, in the weight, of the first value that this thread calculates */
};

/* The values of the weight that a thread calculates: 4 rows, and in each row two groups of 4 columns. */
struct block {
  float at[DOWN][GROUPS][GROUP];
};

struct factors {
  float left[DEPTH][ROWS + 4], right[DEPTH][COLUMNS];
};

__device__ int find_task(const struct blend_args &p, unsigned tile) {
  int low = 0, high = p.count - 1;
  while (low < high) {
    int middle = (low + high + 1) / 2;
    if (p.tasks[middle].first_tile <= tile)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

__device__ struct tile find_tile(const struct blend_task &task, unsigned number) {
  unsigned across = (task.columns + COLUMNS - 1) / COLUMNS;
  struct tile t;
  t.row = (int)(number / across) * ROWS;
  t.column = (int)(number % across) * COLUMNS;
  t.my_row = t.row + (int)threadIdx.x / (ROWS / DOWN) * DOWN;
  t.my_column = t.column + (int)threadIdx.x % (ROWS / DOWN) * GROUP;
  return t;
}

template <typename F> __device__ __forceinline__ void each(F f) {
#pragma unroll
  for (int i = 0; i < DOWN; i++)
#pragma unroll
    for (int g = 0; g < GROUPS; g++)
#pragma unroll
      for (int j = 0; j < GROUP; j++)
        f(i, g, j);
}

__device__ __forceinline__ int row_of(const struct tile &t, int i) {
  return t.my_row + i;
}

__device__ __forceinline__ int column_of(const struct tile &t, int g, int j) {
  return t.my_column + g * (COLUMNS / GROUPS) + j;
}

__device__ __forceinline__ bool inside(const struct blend_task &task, const struct tile &t, int i, int g, int j) {
  return row_of(t, i) < task.rows && column_of(t, g, j) < task.columns;
}

/* --- reading and storing a thread's values of a weight --- */

__device__ __forceinline__ void read4(const void *from, enum dtype type, size_t at, float to[GROUP]) {
  if (type == DTYPE_F32) {
    const float4 v = *reinterpret_cast<const float4 *>(static_cast<const float *>(from) + at);
    to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
  } else {
    const uint2 raw = *reinterpret_cast<const uint2 *>(static_cast<const __half *>(from) + at);
    const float2 a = __half22float2(*reinterpret_cast<const __half2 *>(&raw.x));
    const float2 b = __half22float2(*reinterpret_cast<const __half2 *>(&raw.y));
    to[0] = a.x, to[1] = a.y, to[2] = b.x, to[3] = b.y;
  }
}

__device__ __forceinline__ void write4(void *to, enum dtype type, size_t at, const float from[GROUP]) {
  if (type == DTYPE_F32) {
    *reinterpret_cast<float4 *>(static_cast<float *>(to) + at) = make_float4(from[0], from[1], from[2], from[3]);
  } else {
    const __half2 a = __floats2half2_rn(from[0], from[1]), b = __floats2half2_rn(from[2], from[3]);
    const uint2 raw = {*reinterpret_cast<const unsigned *>(&a), *reinterpret_cast<const unsigned *>(&b)};
    *reinterpret_cast<uint2 *>(static_cast<__half *>(to) + at) = raw;
  }
}

__device__ __forceinline__ void load(const struct blend_task &task, const struct tile &t, struct block &v) {
  const bool whole = task.columns % GROUP == 0;
#pragma unroll
  for (int i = 0; i < DOWN; i++)
#pragma unroll
    for (int g = 0; g < GROUPS; g++) {
      size_t at = (size_t)row_of(t, i) * task.columns + column_of(t, g, 0);
      if (whole && inside(task, t, i, g, 0)) {
        read4(task.base, task.base_type, at, v.at[i][g]);
        continue;
      }
      for (int j = 0; j < GROUP; j++)
        v.at[i][g][j] = inside(task, t, i, g, j) ? element_read(task.base, task.base_type, at + j) : 0;
    }
}

/* Stores a thread's values of the weight. Returns true if all of them are finite in the target's type. */
__device__ __forceinline__ bool store(const struct blend_task &task, const struct tile &t, const struct block &v) {
  const bool whole = task.columns % GROUP == 0;
  const float limit = task.type == DTYPE_F16 ? 65520.0f : INFINITY;
  bool finite = true;
#pragma unroll
  for (int i = 0; i < DOWN; i++)
#pragma unroll
    for (int g = 0; g < GROUPS; g++) {
      size_t at = (size_t)row_of(t, i) * task.columns + column_of(t, g, 0);
      for (int j = 0; j < GROUP; j++)
        finite &= fabsf(v.at[i][g][j]) < limit || !inside(task, t, i, g, j);
      if (whole && inside(task, t, i, g, 0)) {
        write4(task.target, task.type, at, v.at[i][g]);
        continue;
      }
      for (int j = 0; j < GROUP; j++)
        if (inside(task, t, i, g, j))
          element_write(task.target, task.type, at + j, v.at[i][g][j]);
    }
  return finite;
}

/* --- products of two factors --- */

/* Copies a block of each of the two matrices (factors) to shared memory. From `left` it copies columns `first` to
 * `first + DEPTH - 1` of the tile's rows, multiplied by `factor`; from `right`, rows `first` to `first + DEPTH - 1` of
 * the tile's columns. Positions outside of the matrices become 0. */
__device__ __forceinline__ void share(const struct blend_task &task, const struct tile &t, const float *left,
                                      const float *right, int rank, int first, float factor, struct factors &shared) {
  const int r = (int)threadIdx.x / DEPTH, k = (int)threadIdx.x % DEPTH;
#pragma unroll
  for (int i = 0; i < ROWS * DEPTH / THREADS; i++) {
    int row = r + i * (THREADS / DEPTH);
    bool there = t.row + row < task.rows && first + k < rank;
    shared.left[k][row] = there ? factor * left[(size_t)(t.row + row) * rank + first + k] : 0;
  }
  const int c = (int)threadIdx.x % COLUMNS, q = (int)threadIdx.x / COLUMNS;
#pragma unroll
  for (int i = 0; i < COLUMNS * DEPTH / THREADS; i++) {
    int depth = q + i * (THREADS / COLUMNS);
    bool there = first + depth < rank && t.column + c < task.columns;
    shared.right[depth][c] = there ? right[(size_t)(first + depth) * task.columns + t.column + c] : 0;
  }
}

/* Adds factor * left [rows, rank] @ right [rank, columns] to `sum`, for the values of this tile. */
__device__ __forceinline__ void multiply(const struct blend_task &task, const struct tile &t, const float *left,
                                         const float *right, int rank, float factor, struct factors &shared,
                                         struct block &sum) {
  const int top = t.my_row - t.row, start = t.my_column - t.column;
  for (int first = 0; first < rank; first += DEPTH) {
    __syncthreads();
    share(task, t, left, right, rank, first, factor, shared);
    __syncthreads();
#pragma unroll
    for (int d = 0; d < DEPTH; d++) {
      const float4 a = *reinterpret_cast<const float4 *>(&shared.left[d][top]);
      const float4 b = *reinterpret_cast<const float4 *>(&shared.right[d][start]);
      const float4 c = *reinterpret_cast<const float4 *>(&shared.right[d][start + COLUMNS / GROUPS]);
      const float down[DOWN] = {a.x, a.y, a.z, a.w};
      const float across[GROUPS][GROUP] = {{b.x, b.y, b.z, b.w}, {c.x, c.y, c.z, c.w}};
      each([&](int i, int g, int j) { sum.at[i][g][j] += down[i] * across[g][j]; });
    }
  }
}

/* --- terms with gains (factors for rows or channels), and terms that are not a product of two matrices --- */

/* Returns one value of a term's matrix (BLEND_DENSE or BLEND_KRONECKER), before it is multiplied by weight and
 * scale. */
__device__ float value_of(const struct blend_task &task, const struct blend_piece &p, int row, int column) {
  if (p.kind == BLEND_DENSE)
    return p.left[(size_t)row * task.columns + column];
  int channel = column % task.channels, tap = column / task.channels, across = task.channels / p.block_channels;
  return p.left[(size_t)(row / p.block_rows) * across + channel / p.block_channels] *
         p.right[((size_t)(row % p.block_rows) * task.taps + tap) * p.block_channels + channel % p.block_channels];
}

/* Calculates the values of a term's matrix D (unet/plan/blend.h) in the tile, without scale, gain and weight. The
 * barriers in multiply() need all threads of the thread block, which therefore take the same branches. */
__device__ void fill(const struct blend_task &task, const struct tile &t, const struct blend_piece &p,
                     struct factors &shared, struct block &d) {
  d = {};
  if (p.kind == BLEND_PRODUCT || p.kind == BLEND_HADAMARD)
    multiply(task, t, p.left, p.right, p.rank, 1, shared, d);
  else
    each([&](int i, int g, int j) {
      if (inside(task, t, i, g, j))
        d.at[i][g][j] = value_of(task, p, row_of(t, i), column_of(t, g, j));
    });
  if (p.kind != BLEND_HADAMARD)
    return;
  struct block other = {};
  multiply(task, t, p.left2, p.right2, p.rank2, 1, shared, other);
  each([&](int i, int g, int j) { d.at[i][g][j] *= other.at[i][g][j]; });
}

__device__ void add(const struct blend_task &task, const struct tile &t, const struct blend_piece &p,
                    const struct block &base, const struct block &d, struct block &sum) {
  each([&](int i, int g, int j) {
    float v = d.at[i][g][j] * p.scale;
    if (p.axis != GAIN_NONE && inside(task, t, i, g, j)) {
      float gain = p.axis == GAIN_ROWS ? p.gain[row_of(t, i)] : p.gain[column_of(t, g, j) % task.channels];
      v = (gain - 1) * base.at[i][g][j] + gain * v;
    }
    sum.at[i][g][j] += p.weight * v;
  });
}

/* --- the kernel in two versions: plain, if all terms are ordinary LoRAs (products of two matrices), and general --- */

template <bool plain>
__global__ void __launch_bounds__(THREADS, plain ? 3 : 1) blend_kernel(const __grid_constant__ struct blend_args p) {
  __shared__ struct factors shared;
  wait_for_previous();
  /* Find the weight and the tile that this thread block calculates; load the checkpoint's values. */
  const unsigned place = p.first + blockIdx.x;
  const int number = find_task(p, place);
  const struct blend_task task = p.tasks[number];
  if (task.plain != plain)
    return;
  const struct tile t = find_tile(task, place - task.first_tile);
  struct block sum;
  load(task, t, sum);
  /* Add the adapters' terms. */
  if constexpr (plain) {
    for (int i = 0; i < task.pieces; i++) {
      const struct blend_piece &piece = p.pieces[task.first_piece + i];
      multiply(task, t, piece.left, piece.right, piece.rank, piece.weight * piece.scale, shared, sum);
    }
  } else {
    const struct block base = sum;
    struct block d;
    for (int i = 0; i < task.pieces; i++) {
      const struct blend_piece piece = p.pieces[task.first_piece + i];
      fill(task, t, piece, shared, d);
      add(task, t, piece, base, d, sum);
    }
  }
  /* Store the tile, and tell the host of a value that is not finite. */
  if (!store(task, t, sum))
    atomicMax(p.overflow, number + 1);
}

} // namespace

cudaError_t launch_blend(const struct launch_queue *queue, const struct blend_args *args) {
  cudaError_t status = cudaSuccess;
  if (args->any_plain)
    status = launch(queue, blend_kernel<true>, dim3(args->tiles), dim3(THREADS), 0, *args);
  if (status == cudaSuccess && args->any_other)
    status = launch(queue, blend_kernel<false>, dim3(args->tiles), dim3(THREADS), 0, *args);
  return status;
}
