/* 3x3 convolutions from eight channels, of small pictures: a U-Net's first one takes the latent's 4 channels, padded to
 * eight, to 320. There are 72 products a sum, so the launch and its code, which has to be fetched, take longer than all
 * else. Therefore the code is short: its loop over columns makes eight of them at a time, for 16 pixels a warp.
 *
 *     tile of 16 x 4 pixels          warp 0: 16 pixels x 8 columns, then the next 8
 *     input of 18 x 6 pixels         warp 1: the row below   ...
 *
 * A pixel's eight channels are 16 bytes, a row of the 8x8 matrices from which tensor cores are fed. So the operand of a
 * tap is the input itself, read from one pixel further on, and nothing is rearranged. For pictures of many tiles
 * halo_sm90.cu and narrow.cu are faster. */
#include "cuda/kernels/common.cuh"
#include "cuda/kernels/eight.h"

namespace {

/* EIGHT_TAPS: taps of the window, and three more with weights of 0, since they are read four at a time. */
enum { EIGHT_WARPS = 4, EIGHT_THREADS = 32 * EIGHT_WARPS, EIGHT_COLUMNS = 32 };
enum { TAPS_THERE = 9, EIGHT_TAPS = 12, PAIRS = (TAPS_THERE + 1) / 2 };
/* The tile of output pixels, and the part of the input that it reads. */
enum { TILE_WIDE = 16, TILE_HIGH = EIGHT_WARPS, INPUT_WIDE = TILE_WIDE + 2, INPUT_HIGH = TILE_HIGH + 2 };
/* Chunks of 16 bytes from one column's weights to the next one's, and from one pixel's results to the next one's: odd
 * numbers, so that eight of them in a row lie in different banks. */
enum { WEIGHTS_PITCH = EIGHT_TAPS + 1, RESULTS_PITCH = EIGHT_COLUMNS / 8 + 1 };

/* Starts the copies of the weights of columns `first` and on, with zeros for taps that are not there. */
__device__ __forceinline__ void copy_weights(const struct gemm_args &p, int first, uint4 *weights) {
#pragma unroll 1
  for (int i = threadIdx.x; i < EIGHT_COLUMNS * EIGHT_TAPS; i += EIGHT_THREADS) {
    int column = i / EIGHT_TAPS, tap = i % EIGHT_TAPS;
    bool there = tap < TAPS_THERE;
    copy16(weights + column * WEIGHTS_PITCH + tap,
           p.weight + ((size_t)(first + column) * TAPS_THERE + (there ? tap : 0)) * 8, there);
  }
}

/* Starts the copies of the tile's input with its border; zeros beyond the picture. */
__device__ __forceinline__ void copy_tile(const struct gemm_args &p, int picture, int left, int top, uint4 *input) {
  const __half *x = p.x + (size_t)picture * p.h * p.w * 8;
#pragma unroll 1
  for (int i = threadIdx.x; i < INPUT_WIDE * INPUT_HIGH; i += EIGHT_THREADS) {
    int column = left - 1 + i % INPUT_WIDE, row = top - 1 + i / INPUT_WIDE;
    bool there = column >= 0 && row >= 0 && column < p.w && row < p.h;
    copy16(input + i, there ? x + ((size_t)row * p.w + column) * 8 : x, there);
  }
}

/* Thread block (i, j) makes tile i of columns EIGHT_COLUMNS j and on. across, down: number of a picture's tiles. */
__global__ void __launch_bounds__(EIGHT_THREADS)
    eight_kernel(const __grid_constant__ struct gemm_args p, int across, int down) {
  __shared__ uint4 weights[EIGHT_COLUMNS * WEIGHTS_PITCH], input[INPUT_WIDE * INPUT_HIGH];
  __shared__ uint4 results[EIGHT_WARPS][TILE_WIDE * RESULTS_PITCH];
  __shared__ float2 begin[EIGHT_COLUMNS / 2]; /* with what sums of two columns begin: bias and time row */
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, first = blockIdx.y * EIGHT_COLUMNS;
  int tile = blockIdx.x, left = tile % across * TILE_WIDE, top = tile / across % down * TILE_HIGH;
  int picture = tile / across / down, y = top + warp, pixels = y < p.h ? min(TILE_WIDE, p.w - left) : 0;
  size_t row = (((size_t)picture * p.h + y) * p.w + left) * p.columns + first;
  copy_weights(p, first, weights);
  float bias = p.bias && threadIdx.x < EIGHT_COLUMNS ? p.bias[first + threadIdx.x] : 0.0f;
  wait_for_previous();
  copy_tile(p, picture, left, top, input);
  copies_commit();
  if (threadIdx.x < EIGHT_COLUMNS)
    reinterpret_cast<float *>(begin)[threadIdx.x] = bias + (p.time ? __half2float(p.time[first + threadIdx.x]) : 0.0f);
  copies_wait<0>();
  __syncthreads();
  /* Lanes 0 to 15 give the addresses of a tap's 16 pixels, lanes 16 to 31 those of the next tap's. */
  uint32_t a[PAIRS][4];
#pragma unroll
  for (int i = 0; i < PAIRS; i++) {
    int tap = 2 * i + lane / 16;
    const uint4 *zeros = weights + TAPS_THERE;
    load_matrices(a[i], tap < TAPS_THERE ? input + (warp + tap / 3) * INPUT_WIDE + lane % 16 + tap % 3 : zeros);
  }
  struct tail tail = {NULL, NULL, p.residual, p.act, p.residual_last};
#pragma unroll 1
  for (int group = 0; group < EIGHT_COLUMNS / 8; group++) {
    int column = group * 8 + lane % 4 * 2;
    float2 from = begin[column / 2];
    float sum[4] = {from.x, from.y, from.x, from.y};
#pragma unroll
    for (int i = 0; i < EIGHT_TAPS / 4; i++) { /* lanes 8 j to 8 j + 7 give the addresses of columns for tap 4 i + j */
      uint32_t b[4];
      load_matrices(b, weights + (group * 8 + lane % 8) * WEIGHTS_PITCH + i * 4 + lane / 8);
      multiply_add(sum, a[2 * i], (const uint32_t[2]){b[0], b[1]});
      if (2 * i + 1 < PAIRS)
        multiply_add(sum, a[2 * i + 1], (const uint32_t[2]){b[2], b[3]});
    }
#pragma unroll
    for (int half = 0; half < 2; half++) {
      int pixel = lane / 4 + 8 * half;
      size_t at = row + (size_t)(pixel < pixels ? pixel : 0) * p.columns + column;
      float low = 0, high = 0;
      if (pixels) {
        low = finish(tail, sum[2 * half], first + column, at);
        high = finish(tail, sum[2 * half + 1], first + column + 1, at + 1);
      }
      reinterpret_cast<uint32_t *>(&results[warp][pixel * RESULTS_PITCH + group])[lane % 4] = pack2(low, high);
    }
  }
  __syncwarp();
#pragma unroll 1
  for (int i = lane; i < pixels * (EIGHT_COLUMNS / 8); i += 32) {
    int pixel = i / (EIGHT_COLUMNS / 8), group = i % (EIGHT_COLUMNS / 8);
    *reinterpret_cast<uint4 *>(p.y + row + (size_t)pixel * p.columns + group * 8) =
        results[warp][pixel * RESULTS_PITCH + group];
  }
}

} // namespace

bool eight_supported(const struct gemm_args *args) {
  return args->kernel == 3 && args->stride == 1 && args->pad == 1 && !args->upsample && args->c == 8 && !args->c2 &&
         !args->more.x && !args->gain.there && args->act != ACT_GEGLU && args->columns % EIGHT_COLUMNS == 0 &&
         args->out_h == args->h && args->out_w == args->w;
}

cudaError_t launch_eight(const struct launch_queue *queue, const struct gemm_args *args) {
  int across = (args->w + TILE_WIDE - 1) / TILE_WIDE, down = (args->h + TILE_HIGH - 1) / TILE_HIGH;
  dim3 grid((unsigned)(across * down * args->n), (unsigned)(args->columns / EIGHT_COLUMNS));
  return launch(queue, eight_kernel, grid, dim3(EIGHT_THREADS), 0, *args, across, down);
}
