/* Makes one linear layer of two (fold_weights_args). It runs when weights are loaded and when adapters change them. */
#include <mma.h>

#include "cuda/kernels/common.cuh"

namespace {

/* A thread block of four warps makes a tile of TILE x TILE weights, DEPTH channels of the sum at a time. Rows in shared
 * memory are a little longer, so that neighbours do not lie in the same banks. */
constexpr int TILE = 64, DEPTH = 32, THREADS = 128, WARP_TILE = 32, VECTOR = 8;
constexpr int OUTER_PITCH = DEPTH + 8, INNER_PITCH = TILE + 8, SUM_PITCH = TILE + 4;

struct tile_memory {
  union {
    struct {
      __half outer[TILE * OUTER_PITCH], inner[DEPTH * INNER_PITCH];
    } operands;
    float sums[TILE * SUM_PITCH];
  };
};

/* Copies a box of a matrix to shared memory, with zeros beyond the matrix. */
__device__ __forceinline__ void load_tile(__half *to, int to_pitch, const __half *from, int pitch, int row, int column,
                                          int rows, int columns, int box_columns, int box_rows) {
  int vectors = box_columns / VECTOR;
  for (int i = (int)threadIdx.x; i < box_rows * vectors; i += THREADS) {
    int y = i / vectors, x = i % vectors * VECTOR;
    uint4 v = make_uint4(0, 0, 0, 0);
    if (row + y < rows && column + x < columns)
      v = *reinterpret_cast<const uint4 *>(from + (size_t)(row + y) * pitch + column + x);
    *reinterpret_cast<uint4 *>(to + y * to_pitch + x) = v;
  }
}

/* weight[:, :width] = outer inner */
__global__ void __launch_bounds__(THREADS) fold_kernel(const __grid_constant__ struct fold_weights_args p) {
  using namespace nvcuda;
  __shared__ alignas(32) tile_memory m;
  int row = (int)blockIdx.y * TILE, column = (int)blockIdx.x * TILE, warp = (int)threadIdx.x / 32;
  int own_row = warp / 2 * WARP_TILE, own_column = warp % 2 * WARP_TILE;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[2][2];
  for (int i = 0; i < 4; i++)
    wmma::fill_fragment(sum[i / 2][i % 2], 0.0f);
  wait_for_previous();
  for (int k = 0; k < p.c; k += DEPTH) {
    load_tile(m.operands.outer, OUTER_PITCH, p.outer, p.c, row, k, p.rows, p.c, DEPTH, TILE);
    load_tile(m.operands.inner, INNER_PITCH, p.inner, p.width, k, column, p.c, p.width, TILE, DEPTH);
    __syncthreads();
    for (int step = 0; step < DEPTH; step += 16)
      for (int i = 0; i < 4; i++) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b;
        wmma::load_matrix_sync(a, m.operands.outer + (own_row + i / 2 * 16) * OUTER_PITCH + step, OUTER_PITCH);
        wmma::load_matrix_sync(b, m.operands.inner + step * INNER_PITCH + own_column + i % 2 * 16, INNER_PITCH);
        wmma::mma_sync(sum[i / 2][i % 2], a, b, sum[i / 2][i % 2]);
      }
    __syncthreads();
  }
  for (int i = 0; i < 4; i++)
    wmma::store_matrix_sync(m.sums + (own_row + i / 2 * 16) * SUM_PITCH + own_column + i % 2 * 16, sum[i / 2][i % 2],
                            SUM_PITCH, wmma::mem_row_major);
  __syncthreads();
  for (int i = (int)threadIdx.x; i < TILE * TILE; i += THREADS) {
    int y = i / TILE, x = i % TILE;
    if (row + y < p.rows && column + x < p.width)
      p.weight[(size_t)(row + y) * (p.width + p.c) + column + x] = __float2half_rn(m.sums[y * SUM_PITCH + x]);
  }
}

/* weight[:, width:] = outer, and the bias. Each warp has a row. */
__global__ void __launch_bounds__(THREADS) fold_rest_kernel(const __grid_constant__ struct fold_weights_args p) {
  int row = (int)(blockIdx.x * (THREADS / 32) + threadIdx.x / 32), lane = (int)threadIdx.x % 32;
  float sum = 0;
  wait_for_previous();
  if (row >= p.rows)
    return;
  const __half *outer = p.outer + (size_t)row * p.c;
  __half *to = p.weight + (size_t)row * (p.width + p.c) + p.width;
  for (int i = lane; i < p.c; i += 32) {
    to[i] = outer[i];
    sum += p.inner_bias ? __half2float(outer[i]) * p.inner_bias[i] : 0.0f;
  }
#pragma unroll
  for (int i = 16; i > 0; i /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, i);
  if (lane == 0)
    p.y_bias[row] = sum + (p.bias ? p.bias[row] : 0.0f);
}

} // namespace

cudaError_t launch_fold_weights(const struct launch_queue *queue, const struct fold_weights_args *args) {
  dim3 tiles(blocks_for((size_t)args->width, TILE), blocks_for((size_t)args->rows, TILE));
  cudaError_t status = launch(queue, fold_kernel, tiles, dim3(THREADS), 0, *args);
  return status == cudaSuccess ? launch(queue, fold_rest_kernel, dim3(blocks_for((size_t)args->rows, THREADS / 32)),
                                        dim3(THREADS), 0, *args)
                               : status;
}
