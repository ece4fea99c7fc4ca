/* An autoencoder's first two convolutions as one, from three channels to 32 (composed_conv.h). What a result depends on
 * is a window of 5 x 5 pixels of the input, which lie one after the other in each row: 15 values, and with a weight of
 * zero for the next one 16, as many as a product of the tensor cores sums. So a result takes five of them.
 *
 *                  columns 2x - 2 ... 2x + 2                    rows of the product: 16 pixels x
 *     row 2y - 2   r g b r g b r g b r g b r g b (r)            its columns: 8 of the 32 channels
 *        ...
 *     row 2y + 2   r g b r g b r g b r g b r g b (r)
 *
 * Outside the picture, the second convolution reads zeros, not what the first one would give there. This concerns
 * results in the first row and in the first column alone, since sizes are even. There are weights for them that leave
 * those places out (variants TOP, LEFT, and TOP + LEFT). */
#include "cuda/kernels/composed_conv.h"

#include "cuda/kernels/common.cuh"

namespace composed_conv {

/* TAPS: width and height of the window; TILE_W, TILE_H: size of the tile of results that a thread block calculates;
 * OWN_ROWS: number of rows of a warp; PARTS: number of products for 16 pixels, of 8 channels each */
enum { TAPS = 5, TILE_W = 16, TILE_H = 8, BLOCK_WARPS = 4, OWN_ROWS = TILE_H / BLOCK_WARPS, PARTS = COMPOSED_OUT / 8 };
enum { BLOCK_THREADS = 32 * BLOCK_WARPS, TOP = 1, LEFT = 2, VARIANTS = 4 };
/* A tile of the input in shared memory has rows of PITCH bytes, copied in chunks of 16. AHEAD: number of bytes in a row
 * before the first pixel of the first window; with them the row begins at a multiple of 16 bytes of the input. PIXEL:
 * bytes of an input pixel */
enum { ROWS = 2 * TILE_H + TAPS - 2, CHUNKS = 14, PITCH = 16 * CHUNKS, AHEAD = 4, PIXEL = 2 * COMPOSED_IN };
static_assert(AHEAD + (2 * TILE_W - 2) * PIXEL + 32 <= PITCH, "the last window is in the tile");
static_assert(COMPOSED_WEIGHTS == VARIANTS * TAPS * 32 * PARTS * 4, "a lane has two pairs of weights for each product");

/* A lane's weights of all products, and the biases of its channels, which are numbers 8 (lane % 4) to 8 (lane % 4) + 7.
 * For that, column n of product number j is channel n / 2 * 8 + 2 j + n % 2. */
struct weights {
  uint32_t pair[TAPS][PARTS][2];
  float bias[8];
  __device__ __forceinline__ weights(const struct composed_args &p, int variant) {
    int lane = threadIdx.x % 32;
    const uint4 *from = reinterpret_cast<const uint4 *>(p.weight) + (size_t)(variant * TAPS * 32 + lane) * (PARTS / 2);
#pragma unroll
    for (int i = 0; i < TAPS * PARTS / 2; i++) {
      uint4 four = __ldg(from + i / (PARTS / 2) * 32 * (PARTS / 2) + i % (PARTS / 2));
      uint32_t(&to)[PARTS][2] = pair[i / (PARTS / 2)];
      int j = i % (PARTS / 2) * 2;
      to[j][0] = four.x, to[j][1] = four.y, to[j + 1][0] = four.z, to[j + 1][1] = four.w;
    }
#pragma unroll
    for (int i = 0; i < 8; i++)
      bias[i] = __ldg(p.bias + variant * COMPOSED_OUT + lane % 4 * 8 + i);
  }
};

/* Calculates 16 results of row number `row` of the tile. The lane gets those of pixels lane / 4 and lane / 4 + 8. */
__device__ __forceinline__ void convolve(const char *tile, int row, const weights &w, float (&result)[2][8]) {
  int lane = threadIdx.x % 32;
  const char *first = tile + 2 * row * PITCH + AHEAD + lane / 4 * 2 * PIXEL + lane % 4 * 4;
  float sum[PARTS][4] = {};
#pragma unroll
  for (int dy = 0; dy < TAPS; dy++) {
    uint32_t a[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
      a[i] = *reinterpret_cast<const uint32_t *>(first + dy * PITCH + i % 2 * 8 * 2 * PIXEL + i / 2 * 16);
#pragma unroll
    for (int j = 0; j < PARTS; j++)
      multiply_add(sum[j], a, w.pair[dy][j]);
  }
#pragma unroll
  for (int half = 0; half < 2; half++)
#pragma unroll
    for (int i = 0; i < 8; i++)
      result[half][i] = sum[i / 2][2 * half + i % 2] + w.bias[i];
}

/* Copies the tile of the input whose results begin at column `left` and row `top`. Pixels outside the picture are 0. */
__device__ __forceinline__ void load_tile(const struct composed_args &p, char *tile, int left, int top) {
  const char *x = reinterpret_cast<const char *>(p.x) + (size_t)blockIdx.z * p.h * p.w * PIXEL;
  for (int i = threadIdx.x; i < ROWS * CHUNKS; i += BLOCK_THREADS) {
    int row = i / CHUNKS, y = 2 * top - 2 + row, at = (2 * left - 2) * PIXEL - AHEAD + i % CHUNKS * 16;
    bool there = y >= 0 && y < p.h && at >= 0 && at < p.w * PIXEL;
    copy16(tile + row * PITCH + i % CHUNKS * 16, there ? x + (size_t)y * p.w * PIXEL + at : x, there);
  }
  copies_commit();
}

__global__ void __launch_bounds__(BLOCK_THREADS, 4) composed_kernel(const __grid_constant__ struct composed_args p) {
  __shared__ alignas(16) char tile[ROWS * PITCH];
  int left = blockIdx.x * TILE_W, top = blockIdx.y * TILE_H, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int out_w = p.w / 2, out_h = p.h / 2;
  const weights inside(p, 0); /* they are constant, and come before the wait for the preceding kernel */
  wait_for_previous();
  load_tile(p, tile, left, top);
  copies_wait<0>();
  __syncthreads();
#pragma unroll
  for (int i = 0; i < OWN_ROWS; i++) {
    int row = warp * OWN_ROWS + i, y = top + row, variant = y == 0 ? TOP : 0;
    float result[2][8];
    if (y >= out_h)
      break;
    if (variant)
      convolve(tile, row, weights(p, variant), result);
    else
      convolve(tile, row, inside, result);
    if (left == 0) {
      float edge[2][8];
      convolve(tile, row, weights(p, variant + LEFT), edge);
#pragma unroll
      for (int k = 0; k < 8; k++)
        result[0][k] = lane < 4 ? edge[0][k] : result[0][k];
    }
#pragma unroll
    for (int half = 0; half < 2; half++) {
      int x = left + lane / 4 + 8 * half;
      if (x < out_w)
        store8(p.y + (((size_t)blockIdx.z * out_h + y) * out_w + x) * COMPOSED_OUT + lane % 4 * 8, result[half]);
    }
  }
}

/* Writes the weights and biases of all variants, in the order in which struct weights reads them. Each thread
 * calculates a weight, and the first ones a bias, too. */
__global__ void __launch_bounds__(BLOCK_THREADS) compose_kernel(const __grid_constant__ struct compose_args p) {
  int i = blockIdx.x * BLOCK_THREADS + threadIdx.x;
  wait_for_previous();
  if (i < COMPOSED_BIASES) {
    int channel = i % COMPOSED_OUT, variant = i / COMPOSED_OUT;
    float sum = p.outer_bias ? p.outer_bias[channel] : 0.0f;
    for (int tap = 0; tap < 9 && p.inner_bias; tap++)
      for (int c = 0; c < p.c && !(variant & TOP && tap / 3 == 0) && !(variant & LEFT && tap % 3 == 0); c++)
        sum += __half2float(p.outer[(channel * 9 + tap) * p.c + c]) * p.inner_bias[c];
    p.bias[i] = sum;
  }
  if (i >= COMPOSED_WEIGHTS)
    return;
  /* which place of the window, and which channels, element i is the weight of */
  int lane = i / 16 % 32, part = i / 4 % PARTS, dy = i / 512 % TAPS, variant = i / (512 * TAPS);
  int value = lane % 4 * 2 + i % 2 + i / 2 % 2 * 8, dx = value / COMPOSED_IN, in = value % COMPOSED_IN;
  int channel = lane / 8 * 8 + 2 * part + lane / 4 % 2;
  float sum = 0;
  for (int tap = 0; tap < 9 && dx < TAPS; tap++) {
    int at_y = dy - tap / 3, at_x = dx - tap % 3; /* place in the first convolution's window */
    if (at_y < 0 || at_y > 2 || at_x < 0 || at_x > 2 || (variant & TOP && tap / 3 == 0) ||
        (variant & LEFT && tap % 3 == 0))
      continue;
    for (int c = 0; c < p.c; c++)
      sum += __half2float(p.outer[(channel * 9 + tap) * p.c + c]) *
             __half2float(p.inner[(c * 9 + at_y * 3 + at_x) * COMPOSED_IN + in]);
  }
  p.weight[i] = __float2half_rn(sum);
}

} // namespace composed_conv

bool composed_supported(const struct composed_args *a) {
  return a->h % 2 == 0 && a->w % 8 == 0 && (uintptr_t)a->x % 16 == 0 && (uintptr_t)a->y % 16 == 0;
}

cudaError_t launch_composed(const struct launch_queue *queue, const struct composed_args *a) {
  using namespace composed_conv;
  dim3 grid(blocks_for((size_t)a->w / 2, TILE_W), blocks_for((size_t)a->h / 2, TILE_H), (unsigned)a->n);
  return composed_supported(a) ? launch(queue, composed_kernel, grid, dim3(BLOCK_THREADS), 0, *a)
                               : cudaErrorNotSupported;
}

cudaError_t launch_compose(const struct launch_queue *queue, const struct compose_args *args) {
  using namespace composed_conv;
  return launch(queue, compose_kernel, dim3(blocks_for(COMPOSED_WEIGHTS, BLOCK_THREADS)), dim3(BLOCK_THREADS), 0,
                *args);
}
