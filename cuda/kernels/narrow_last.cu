/* 3x3 convolutions from 64 or 32 to at most 3 channels, such as an autoencoder's last. They are limited by their input,
 * which is read once.
 *
 * Each pixel's products with the weights of all taps and columns are made at once, 27 sums a pixel, which go to shared
 * memory. Then an output is the sum of nine of them, of as many pixels. So pixels need not go through shared memory
 * nine times. A thread block has 14 x 30 outputs, of 16 x 32 pixels; a warp has two rows of these.
 *
 * Operands come straight from memory to the registers from which tensor cores read them. The order of a sum does not
 * matter, so lane q of four takes channels 8 q to 8 q + 7 of each 32, 16 bytes that follow each other, in the places
 * where the tensor cores expect others. */
#include "cuda/kernels/common.cuh"
#include "cuda/kernels/narrow_last.h"

namespace {

constexpr int LAST_WARPS = 8, LAST_THREADS = 32 * LAST_WARPS;

/* Multiplies 16 bytes of each of 16 pixels (a lane has those of pixels lane / 4 and lane / 4 + 8) by 16 bytes of each
 * of eight rows of W: the first halves of these are one step along K, the second halves another. */
__device__ __forceinline__ void multiply_wide(float sum[4], const uint4 a[2], const uint4 &w) {
  uint32_t first[4] = {a[0].x, a[1].x, a[0].y, a[1].y}, second[4] = {a[0].z, a[1].z, a[0].w, a[1].w};
  uint32_t first_w[2] = {w.x, w.y}, second_w[2] = {w.z, w.w};
  multiply_add(sum, first, first_w);
  multiply_add(sum, second, second_w);
}

/* Reads 16 bytes of a pixel of the input, from `channel` on; zeros outside of the picture. y, x: the pixel, counted as
 * those of the output. */
__device__ __forceinline__ uint4 fetch_pixel(const struct gemm_args &p, int picture, int y, int x, int channel) {
  int shift = p.upsample;
  if ((unsigned)y >= (unsigned)p.out_h || (unsigned)x >= (unsigned)p.out_w)
    return make_uint4(0, 0, 0, 0);
  size_t pixel = ((size_t)picture * p.h + (y >> shift)) * p.w + (x >> shift);
  return *reinterpret_cast<const uint4 *>(p.x + pixel * p.c + channel);
}

constexpr int LAST_WIDE = 32, LAST_HIGH = 2 * LAST_WARPS, LAST_ACROSS = LAST_WIDE - 2, LAST_DOWN = LAST_HIGH - 2,
              LAST_SUMS = 9 * LAST_COLUMNS_MAX;
constexpr int LAST_SUM_TILES = (LAST_SUMS + 7) / 8;
static_assert(LAST_WIDE * LAST_HIGH * LAST_SUMS * sizeof(float) == LAST_SHARED_BYTES, "as the header says");

template <int C>
__global__ void __launch_bounds__(LAST_THREADS, 2) last_kernel(const __grid_constant__ struct gemm_args p) {
  /* [LAST_HIGH][LAST_WIDE][LAST_SUMS]: sums of a pixel are those of tap 0, then of tap 1... */
  extern __shared__ float products[];
  constexpr int PARTS = C / 32;
  int g = threadIdx.x % 32 / 4, q = threadIdx.x % 4, warp = threadIdx.x / 32;
  int across = (p.out_w + LAST_ACROSS - 1) / LAST_ACROSS, down = (p.out_h + LAST_DOWN - 1) / LAST_DOWN,
      line = (int)blockIdx.x / across;
  int picture = line / down, x = ((int)blockIdx.x - line * across) * LAST_ACROSS,
      y = (line - picture * down) * LAST_DOWN;
  uint4 weights[PARTS][LAST_SUM_TILES];
#pragma unroll
  for (int part = 0; part < PARTS; part++)
#pragma unroll
    for (int j = 0; j < LAST_SUM_TILES; j++) {
      int n = j * 8 + g, tap = n / LAST_COLUMNS_MAX, column = n - tap * LAST_COLUMNS_MAX;
      bool there = n < LAST_SUMS && column < p.columns;
      weights[part][j] = there
                             ? __ldg(reinterpret_cast<const uint4 *>(p.weight + (column * 9 + tap) * C + part * 32) + q)
                             : make_uint4(0, 0, 0, 0);
    }
  wait_for_previous(); /* the weights are constant */
#pragma unroll 2
  for (int i = 0; i < 4; i++) {
    int row = warp * 2 + i / 2, column = i % 2 * 16 + g;
    uint4 pixels[PARTS][2];
#pragma unroll
    for (int part = 0; part < PARTS; part++)
#pragma unroll
      for (int half = 0; half < 2; half++)
        pixels[part][half] = fetch_pixel(p, picture, y + row - 1, x + column + 8 * half - 1, part * 32 + q * 8);
    float sums[LAST_SUM_TILES][4] = {};
#pragma unroll
    for (int part = 0; part < PARTS; part++)
#pragma unroll
      for (int j = 0; j < LAST_SUM_TILES; j++)
        multiply_wide(sums[j], pixels[part], weights[part][j]);
    float *to = products + (row * LAST_WIDE + column) * LAST_SUMS;
#pragma unroll
    for (int j = 0; j < LAST_SUM_TILES; j++)
#pragma unroll
      for (int e = 0; e < 4; e++)
        if (j * 8 + 2 * q + e % 2 < LAST_SUMS)
          to[e / 2 * 8 * LAST_SUMS + j * 8 + 2 * q + e % 2] = sums[j][e];
  }
  __syncthreads();
  struct tail tail = {p.bias, p.time, p.residual, p.act, p.residual_last};
#pragma unroll 1
  for (int i = threadIdx.x; i < LAST_DOWN * LAST_ACROSS; i += LAST_THREADS) {
    int row = i / LAST_ACROSS, column = i - row * LAST_ACROSS;
    if (y + row >= p.out_h || x + column >= p.out_w)
      continue;
    float v[LAST_COLUMNS_MAX] = {};
#pragma unroll
    for (int tap = 0; tap < 9; tap++)
#pragma unroll
      for (int c = 0; c < LAST_COLUMNS_MAX; c++)
        v[c] += products[((row + tap / 3) * LAST_WIDE + column + tap % 3) * LAST_SUMS + tap * LAST_COLUMNS_MAX + c];
    size_t at = (((size_t)picture * p.out_h + y + row) * p.out_w + x + column) * p.columns;
#pragma unroll
    for (int c = 0; c < LAST_COLUMNS_MAX; c++)
      if (c < p.columns)
        p.y[at + c] = __float2half_rn(finish(tail, v[c], c, at + c));
  }
}

template <int C> cudaError_t launch_last(const struct launch_queue *queue, const struct gemm_args *args) {
  cudaError_t status =
      cudaFuncSetAttribute(last_kernel<C>, cudaFuncAttributeMaxDynamicSharedMemorySize, LAST_SHARED_BYTES);
  if (status != cudaSuccess)
    return status;
  unsigned tiles =
      (unsigned)args->n * blocks_for((size_t)args->out_w, LAST_ACROSS) * blocks_for((size_t)args->out_h, LAST_DOWN);
  return launch(queue, last_kernel<C>, dim3(tiles), dim3(LAST_THREADS), LAST_SHARED_BYTES, *args);
}

} // namespace

cudaError_t launch_narrow_last(const struct launch_queue *queue, const struct gemm_args *args) {
  return args->c == 64 ? launch_last<64>(queue, args) : launch_last<32>(queue, args);
}
