/* OP_DETAIL: y += detail (x - low(x)), where low(x) is a weighted mean over 7 x 7 pixels of the input x.
 * unet/cpu/cpu_pixels.c has the definition. A block makes a tile of TILE_H rows and TILE_W columns:
 *
 *     load       the tile of x and RADIUS pixels around it, edges repeated, as floats into shared memory
 *     columns    weighted sums of 2 RADIUS + 1 rows, for the tile's rows and all loaded columns
 *     rows       weighted sums of these along each row; a thread finishes one pixel and updates y
 *
 * Reads of x and y and writes of y limit the kernel's speed. While the detail is 0, the kernel's threads end at once.
 * blockIdx.z is the number of the picture. */
#include "cuda/kernels/common.cuh"

namespace {

constexpr int TILE_W = 32, TILE_H = 8, THREADS = TILE_W * TILE_H, RADIUS = DETAIL_RADIUS;
/* size of the loaded tile with its border. LOADED_W: number of values in a row (3 for each pixel); LOADED_H: number of
 * rows */
constexpr int LOADED_W = 3 * (TILE_W + 2 * RADIUS), LOADED_H = TILE_H + 2 * RADIUS;

__global__ void __launch_bounds__(THREADS) detail_kernel(const __grid_constant__ struct detail_args p) {
  __shared__ float loaded[LOADED_H][LOADED_W], sums[TILE_H][LOADED_W];
  int x0 = blockIdx.x * TILE_W, y0 = blockIdx.y * TILE_H, thread = threadIdx.y * TILE_W + threadIdx.x;
  wait_for_previous();
  const float detail = p.block->run.detail;
  if (detail == 0.0f)
    return;
  const half_t *picture = p.x + (size_t)blockIdx.z * p.h * p.w * 3;
  for (int i = thread; i < LOADED_H * LOADED_W; i += THREADS) {
    int row = i / LOADED_W, column = i % LOADED_W;
    int y = min(max(y0 + row - RADIUS, 0), p.h - 1), x = min(max(x0 + column / 3 - RADIUS, 0), p.w - 1);
    loaded[row][column] = __half2float(picture[((size_t)y * p.w + x) * 3 + column % 3]);
  }
  __syncthreads();
  for (int i = thread; i < TILE_H * LOADED_W; i += THREADS) {
    int row = i / LOADED_W, column = i % LOADED_W;
    float sum = 0.0f;
#pragma unroll
    for (int j = -RADIUS; j <= RADIUS; j++)
      sum += (float)DETAIL_WEIGHT(j) * loaded[row + RADIUS + j][column];
    sums[row][column] = sum;
  }
  __syncthreads();
  int x = x0 + threadIdx.x, y = y0 + threadIdx.y;
  if (x >= p.w || y >= p.h)
    return;
  half_t *out = p.y + (((size_t)blockIdx.z * p.h + y) * p.w + x) * 3;
#pragma unroll
  for (int c = 0; c < 3; c++) {
    int column = 3 * (threadIdx.x + RADIUS) + c;
    float low = 0.0f;
#pragma unroll
    for (int j = -RADIUS; j <= RADIUS; j++)
      low += (float)DETAIL_WEIGHT(j) * sums[threadIdx.y][column + 3 * j];
    float fine = loaded[threadIdx.y + RADIUS][column] - low / DETAIL_SUM;
    out[c] = __float2half_rn(__half2float(out[c]) + detail * fine);
  }
}

} // namespace

cudaError_t launch_detail(const struct launch_queue *queue, const struct detail_args *args) {
  dim3 grid(blocks_for((size_t)args->w, TILE_W), blocks_for((size_t)args->h, TILE_H), args->n);
  return launch(queue, detail_kernel, grid, dim3(TILE_W, TILE_H), 0, *args);
}
