/* Each block computes a tile of one weight, 4x4 values a thread. Products are sums in FP32, as the definition has them:
 * tensor cores would round the factors. */
#include "cuda/kernels/blend.h"
#include "cuda/kernels/common.cuh"

namespace {

enum { THREADS = 256, TILE = BLEND_TILE, DEPTH = 16, SIDE = 4 };

struct tile {
  struct blend_task task;
  int row, column;       /* of the tile's first value */
  int my_row, my_column; /* of the thread's */
};

struct factors {
  float left[DEPTH][TILE + SIDE], right[DEPTH][TILE];
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
  struct tile t;
  t.task = task;
  unsigned across = (task.columns + TILE - 1) / TILE;
  t.row = (int)(number / across) * TILE;
  t.column = (int)(number % across) * TILE;
  t.my_row = t.row + (int)threadIdx.x / (TILE / SIDE) * SIDE;
  t.my_column = t.column + (int)threadIdx.x % (TILE / SIDE) * SIDE;
  return t;
}

/* out = left [rows, rank] @ right [rank, columns], of the tile. */
__device__ void multiply(const struct tile &t, const float *left, const float *right, int rank, struct factors &shared,
                         float out[SIDE][SIDE]) {
  const int r = (int)threadIdx.x / DEPTH, k = (int)threadIdx.x % DEPTH;
  const int c = (int)threadIdx.x % TILE, q = (int)threadIdx.x / TILE;
  const int top = t.my_row - t.row, start = t.my_column - t.column;
  for (int i = 0; i < SIDE; i++)
    for (int j = 0; j < SIDE; j++)
      out[i][j] = 0;
  for (int first = 0; first < rank; first += DEPTH) {
    __syncthreads();
#pragma unroll
    for (int i = 0; i < TILE * DEPTH / THREADS; i++) {
      int row = t.row + r + i * (THREADS / DEPTH), depth = first + q + i * (THREADS / TILE);
      shared.left[k][row - t.row] = row < t.task.rows && first + k < rank ? left[(size_t)row * rank + first + k] : 0;
      shared.right[depth - first][c] =
          depth < rank && t.column + c < t.task.columns ? right[(size_t)depth * t.task.columns + t.column + c] : 0;
    }
    __syncthreads();
#pragma unroll
    for (int d = 0; d < DEPTH; d++) {
      const float4 a = *reinterpret_cast<const float4 *>(&shared.left[d][top]);
      const float4 b = *reinterpret_cast<const float4 *>(&shared.right[d][start]);
      const float down[SIDE] = {a.x, a.y, a.z, a.w}, across[SIDE] = {b.x, b.y, b.z, b.w};
#pragma unroll
      for (int i = 0; i < SIDE; i++)
#pragma unroll
        for (int j = 0; j < SIDE; j++)
          out[i][j] += down[i] * across[j];
    }
  }
}

__device__ bool inside(const struct tile &t, int i, int j) {
  return t.my_row + i < t.task.rows && t.my_column + j < t.task.columns;
}

/* One value of a kind that needs no sum. */
__device__ float value_of(const struct tile &t, const struct blend_piece &p, int row, int column) {
  if (p.kind == BLEND_DENSE)
    return p.left[(size_t)row * t.task.columns + column];
  int channel = column % t.task.channels, tap = column / t.task.channels;
  int across = t.task.channels / p.block_channels;
  return p.left[(size_t)(row / p.block_rows) * across + channel / p.block_channels] *
         p.right[((size_t)(row % p.block_rows) * t.task.taps + tap) * p.block_channels + channel % p.block_channels];
}

/* D's tile. All threads of a block take the same way. */
__device__ void fill(const struct tile &t, const struct blend_piece &p, struct factors &shared, float d[SIDE][SIDE]) {
  if (p.kind == BLEND_PRODUCT || p.kind == BLEND_HADAMARD) {
    multiply(t, p.left, p.right, p.rank, shared, d);
    if (p.kind == BLEND_PRODUCT)
      return;
    float other[SIDE][SIDE];
    multiply(t, p.left2, p.right2, p.rank2, shared, other);
    for (int i = 0; i < SIDE; i++)
      for (int j = 0; j < SIDE; j++)
        d[i][j] *= other[i][j];
    return;
  }
  for (int i = 0; i < SIDE; i++)
    for (int j = 0; j < SIDE; j++)
      d[i][j] = inside(t, i, j) ? value_of(t, p, t.my_row + i, t.my_column + j) : 0;
}

__device__ float gain_of(const struct tile &t, const struct blend_piece &p, int i, int j) {
  return p.axis == GAIN_ROWS ? p.gain[t.my_row + i] : p.gain[(t.my_column + j) % t.task.channels];
}

__device__ void add(const struct tile &t, const struct blend_piece &p, const float base[SIDE][SIDE],
                    const float d[SIDE][SIDE], float sum[SIDE][SIDE]) {
#pragma unroll
  for (int i = 0; i < SIDE; i++)
#pragma unroll
    for (int j = 0; j < SIDE; j++) {
      float v = d[i][j] * p.scale;
      if (p.axis != GAIN_NONE && inside(t, i, j)) {
        float g = gain_of(t, p, i, j);
        v = (g - 1) * base[i][j] + g * v;
      }
      sum[i][j] += p.weight * v;
    }
}

__device__ bool fits(float v, enum dtype type) {
  return fabsf(v) < (type == DTYPE_F16 ? 65520.0f : INFINITY);
}

__global__ void __launch_bounds__(THREADS) blend_kernel(const __grid_constant__ struct blend_args p) {
  __shared__ struct factors shared;
  wait_for_previous();
  const int number = find_task(p, blockIdx.x);
  const struct tile t = find_tile(p.tasks[number], blockIdx.x - p.tasks[number].first_tile);
  float base[SIDE][SIDE], sum[SIDE][SIDE], d[SIDE][SIDE];
#pragma unroll
  for (int i = 0; i < SIDE; i++)
#pragma unroll
    for (int j = 0; j < SIDE; j++) {
      size_t at = (size_t)(t.my_row + i) * t.task.columns + t.my_column + j;
      sum[i][j] = base[i][j] = inside(t, i, j) ? element_read(t.task.base, t.task.base_type, at) : 0;
    }
  for (int i = 0; i < t.task.pieces; i++) {
    const struct blend_piece piece = p.pieces[t.task.first_piece + i];
    fill(t, piece, shared, d);
    add(t, piece, base, d, sum);
  }
  bool whole = true;
#pragma unroll
  for (int i = 0; i < SIDE; i++)
#pragma unroll
    for (int j = 0; j < SIDE; j++)
      if (inside(t, i, j)) {
        whole &= fits(sum[i][j], t.task.type);
        element_write(t.task.target, t.task.type, (size_t)(t.my_row + i) * t.task.columns + t.my_column + j, sum[i][j]);
      }
  if (!whole)
    atomicMax(p.overflow, number + 1);
}

} // namespace

cudaError_t launch_blend(const struct launch_queue *queue, const struct blend_args *args) {
  return launch(queue, blend_kernel, dim3(args->tiles), dim3(THREADS), 0, *args);
}
