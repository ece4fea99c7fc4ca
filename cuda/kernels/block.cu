/* An autoencoder's block of three 3x3 convolutions in one launch (ROWS.md), with 32 channels: y = relu(x +
 * conv(relu(conv(relu(conv(x)))))).
 *
 * A thread block calculates a tile of pixels. Results between the convolutions stay in shared memory, with the borders
 * that the next convolution reads. Several thread blocks calculate the same borders.
 *
 *     input  H + 6          first  H + 4        second  H + 2        result  H
 *     +-----------+         +---------+
 *     |           |         |         |         +-------+            +-----+
 *     |           |   ->    |         |   ->    |       |     ->     |     |  + the input's middle
 *     |           |         |         |         +-------+            +-----+
 *     +-----------+         +---------+
 *
 * y^T = W x^T: output channels are the tensor cores' rows, pixels their columns. A warp calculates 16 channels of every
 * fourth group of 8 pixels, with its part of a convolution's weights in 72 registers. The weights of the first two
 * convolutions are loaded while the preceding kernel still runs. Lane l has channels 8 (l % 4) to 8 (l % 4) + 7 of
 * weights and pixels (see rows.cuh), so one load of 16 bytes serves two products, and the taps of the window are
 * constant offsets. */
#include "cuda/kernels/block_sm90.h"

#include "cuda/kernels/cluster_sm90.cuh"

namespace {

enum { C = 32, WARPS = 8, THREADS = 32 * WARPS, GROUPS = 4, CHUNK = 4 };

template <int WIDTH_, int HEIGHT_> struct tile {
  static constexpr int WIDTH = WIDTH_, HEIGHT = HEIGHT_;
  /* Returns how many FP16 values a tile takes in shared memory if it has a border of this many pixels on each side. The
   * number is rounded up, because eight pixels are written at a time. */
  static constexpr int size(int border) {
    return ((HEIGHT + border) * (WIDTH + border) + 7) / 8 * 8 * C;
  }
  struct memory {
    /* the pixels of a tile with their border: the block's input, the first convolution's result, the second one's;
     * `first` also holds the block's result */
    __half input[size(6)], first[size(4)], second[size(2)];
  };
};

/* The part of a convolution's weights that one lane of a warp has: those of two output channels, 8 of 32 input
 * channels, and all nine taps (places) of the window. */
struct weights {
  uint4 low[9], high[9];
  float bias[2];

  __device__ __forceinline__ void fetch(const __half *from, const float *biases, int row) {
    from += row * 9 * C + threadIdx.x % 4 * 8;
#pragma unroll
    for (int tap = 0; tap < 9; tap++) {
      low[tap] = load_weights(from + tap * C);
      high[tap] = load_weights(from + (8 * 9 + tap) * C);
    }
    bias[0] = biases ? load_single(biases + row) : 0.0f;
    bias[1] = biases ? load_single(biases + row + 8) : 0.0f;
  }
};

/* Convolves a region of pixels in shared memory: from [HEIGHT + 2][WIDTH + 2] to [HEIGHT][WIDTH]. left, top: position
 * of the result's first pixel in the picture. Results outside the picture become 0, the padding of the next
 * convolution. LAST: adds `middle`, the block's input, before the activation. */
template <int WIDTH, int HEIGHT, bool LAST>
__device__ __forceinline__ void convolve(__half *to, const __half *from, const __half *middle, const weights &w,
                                         const struct block_args &p, int left, int top) {
  constexpr int PIXELS = WIDTH * HEIGHT, TILES = (PIXELS + 7) / 8, EACH = (TILES + GROUPS - 1) / GROUPS;
  constexpr int TURNS = (EACH + CHUNK - 1) / CHUNK, N = (EACH + TURNS - 1) / TURNS, FROM = WIDTH + 2;
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = warp / 2, channel = warp % 2 * 16;
#pragma unroll 1
  for (int begin = 0; begin < EACH; begin += N) {
    /* Calculate the addresses of the input pixels. Set each sum to its channel's bias, to which products are added. */
    float sum[N][4];
    const __half *at[N];
#pragma unroll
    for (int i = 0; i < N; i++) {
      int pixel = ((begin + i) * GROUPS + group) * 8 + lane / 4;
      pixel = pixel < PIXELS ? pixel : PIXELS - 1;
      at[i] = from + (pixel / WIDTH * FROM + pixel % WIDTH) * C + lane % 4 * 8;
      sum[i][0] = sum[i][1] = w.bias[0];
      sum[i][2] = sum[i][3] = w.bias[1];
    }
    /* Add the products at the nine taps (places of the 3x3 window). */
#pragma unroll
    for (int tap = 0; tap < 9; tap++) {
      const uint32_t one[4] = {w.low[tap].x, w.high[tap].x, w.low[tap].y, w.high[tap].y};
      const uint32_t two[4] = {w.low[tap].z, w.high[tap].z, w.low[tap].w, w.high[tap].w};
#pragma unroll
      for (int i = 0; i < N; i++) {
        uint4 x = *reinterpret_cast<const uint4 *>(at[i] + (tap / 3 * FROM + tap % 3) * C);
        const uint32_t x1[2] = {x.x, x.y}, x2[2] = {x.z, x.w};
        multiply_add(sum[i], one, x1);
        multiply_add(sum[i], two, x2);
      }
    }
#pragma unroll
    for (int i = 0; i < N; i++) {
      /* Add the block's input, activate, and store the results in shared memory. */
      int first = ((begin + i) * GROUPS + group) * 8;
      if (LAST) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
          int pixel = first + lane % 4 * 2 + k % 2;
          pixel = pixel < PIXELS ? pixel : PIXELS - 1;
          sum[i][k] += __half2float(
              middle[((pixel / WIDTH + 3) * (WIDTH + 6) + pixel % WIDTH + 3) * C + channel + lane / 4 + k / 2 * 8]);
        }
      }
      /* Lanes 0 to 15 each give stmatrix the address of 8 channels of a pixel: lanes 0 to 7 the first half of this
       * warp's 16 channels, for eight pixels; lanes 8 to 15 the second half, for the same pixels */
      int pixel = first + lane % 8, x = left + pixel % WIDTH, y = top + pixel / WIDTH;
      unsigned inside = __ballot_sync(0xffffffffu, pixel < PIXELS && x >= 0 && x < p.w && y >= 0 && y < p.h);
      bool left_in = inside >> (lane % 4 * 2) & 1, right_in = inside >> (lane % 4 * 2 + 1) & 1;
      uint32_t upper = pack2(left_in ? fmaxf(sum[i][0], 0.0f) : 0.0f, right_in ? fmaxf(sum[i][1], 0.0f) : 0.0f);
      uint32_t lower = pack2(left_in ? fmaxf(sum[i][2], 0.0f) : 0.0f, right_in ? fmaxf(sum[i][3], 0.0f) : 0.0f);
      if (first < PIXELS)
        store_transposed(to + pixel * C + channel + lane / 8 % 2 * 8, upper, lower);
    }
  }
}

template <class T>
__global__ void __launch_bounds__(THREADS, 1) block_kernel(const __grid_constant__ struct block_args p) {
  extern __shared__ uint4 dynamic_memory[];
  typename T::memory *m = reinterpret_cast<typename T::memory *>(dynamic_memory);
  constexpr int WIDTH = T::WIDTH, HEIGHT = T::HEIGHT, OCTETS = C / 8;
  int left = blockIdx.x * WIDTH, top = blockIdx.y * HEIGHT;
  int row = threadIdx.x / 32 % 2 * 16 + threadIdx.x % 32 / 4;
  const __half *x = p.x + (size_t)blockIdx.z * p.h * p.w * C;
  weights one, two;
  /* Load the weights of two convolutions, then the input tile with its border. */
  one.fetch(p.weight[0], p.bias[0], row);
  two.fetch(p.weight[1], p.bias[1], row);
  wait_for_previous();
  for (int i = threadIdx.x; i < (HEIGHT + 6) * (WIDTH + 6) * OCTETS; i += THREADS) {
    int pixel = i / OCTETS, at_x = left - 3 + pixel % (WIDTH + 6), at_y = top - 3 + pixel / (WIDTH + 6);
    bool inside = at_x >= 0 && at_x < p.w && at_y >= 0 && at_y < p.h;
    size_t at = inside ? ((size_t)at_y * p.w + at_x) * C + i % OCTETS * 8 : 0;
    copy16(m->input + i * 8, x + at, inside);
  }
  copies_commit();
  copies_wait<0>();
  __syncthreads();
  /* Do the three convolutions; the third one's weights are loaded during the second. */
  convolve<WIDTH + 4, HEIGHT + 4, false>(m->first, m->input, nullptr, one, p, left - 2, top - 2);
  one.fetch(p.weight[2], p.bias[2], row);
  __syncthreads();
  convolve<WIDTH + 2, HEIGHT + 2, false>(m->second, m->first, nullptr, two, p, left - 1, top - 1);
  __syncthreads();
  convolve<WIDTH, HEIGHT, true>(m->first, m->second, m->input, one, p, left, top);
  __syncthreads();
  /* Store the tile of the result. */
  for (int i = threadIdx.x; i < WIDTH * HEIGHT * OCTETS; i += THREADS) {
    int pixel = i / OCTETS, at_x = left + pixel % WIDTH, at_y = top + pixel / WIDTH;
    if (at_x < p.w && at_y < p.h)
      *reinterpret_cast<uint4 *>(p.y + (((size_t)blockIdx.z * p.h + at_y) * p.w + at_x) * C + i % OCTETS * 8) =
          *reinterpret_cast<const uint4 *>(m->first + i * 8);
  }
}

template <class T> cudaError_t launch_tile(const struct launch_queue *queue, const struct block_args *a) {
  constexpr size_t bytes = (sizeof(typename T::memory) + 15) / 16 * 16;
  cudaError_t status = cudaFuncSetAttribute(block_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
  dim3 grid(blocks_for((size_t)a->w, T::WIDTH), blocks_for((size_t)a->h, T::HEIGHT), (unsigned)a->n);
  return status == cudaSuccess ? launch(queue, block_kernel<T>, grid, dim3(THREADS), bytes, *a) : status;
}

bool aligned(const void *pointer) {
  return (uintptr_t)pointer % 16 == 0;
}

/* Returns true for pictures so small that all their tiles are calculated at the same time. For larger ones three
 * separate convolutions (narrow.cu) are faster. */
bool is_small(const struct launch_queue *queue, const struct block_args *a) {
  using T = tile<8, 4>;
  long tiles = (long)a->n * blocks_for((size_t)a->w, T::WIDTH) * blocks_for((size_t)a->h, T::HEIGHT);
  return a->c == C && tiles <= queue->sms && aligned(a->x) && aligned(a->y) && aligned(a->weight[0]) &&
         aligned(a->weight[1]) && aligned(a->weight[2]);
}

} // namespace

bool block_supported(const struct product_device *device, const struct launch_queue *queue,
                     const struct block_args *a) {
  return block_sm90_supported(device, queue, a) || is_small(queue, a);
}

cudaError_t launch_block(const struct product_device *device, const struct launch_queue *queue,
                         const struct block_args *a) {
  if (block_sm90_supported(device, queue, a))
    return launch_block_sm90(device, queue, a);
  return is_small(queue, a) ? launch_tile<tile<8, 4>>(queue, a) : cudaErrorNotSupported;
}
