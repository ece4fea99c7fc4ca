/* 3x3 convolutions of 32 i channels, as products on tensor cores whose input is read once for all places of the window.
 *
 * An implicit matrix product (gemm.cu) reads each pixel nine times from L2, and calculates an address for each of these
 * reads between its products. Here a thread block calculates a tile of pixels, and goes along the sum in blocks of 32
 * channels. Of each block it reads the tile's pixels with their border once, and then makes the products of all taps
 * (places of the window), each with 32 x N weights.
 *
 *     input    | block i: pixels with border | block i + 1, on its way |
 *     weights  | tap | tap + 1 | ... | tap + 5, on its way |               a ring
 *
 * A tap's rows of A are the same pixels, moved by a constant number of bytes, so that the loop has no address to
 * calculate but those of the copies. A row of taps is unrolled; it has one branch, for the copies of the next input.
 *
 * The picture may be doubled before the convolution: pixels of the input are then read twice, or the four convolutions
 * of 2x2 that do the same are done (gemm_args.quarters; a tile belongs to one of them).
 *
 * Limits. L2: a tap of 32 channels brings 64 N bytes of weights, and the input (PIXELS / (9 M)) as many bytes as in
 * gemm.cu: 1/6 for 8 x 16 pixels. Shared memory: as in gemm.cu. */
#include "cuda/kernels/fragments.cuh"

namespace {

/* A tile of DOWN x ACROSS pixels and N output channels. SIDE: height and width of the window; if it is 2, the tile's
 * pixels belong to one of the four convolutions of a doubled picture (gemm_args.quarters). */
template <int SIDE_, int DOWN_, int ACROSS_, int N_, int WARP_M_, int WARP_N_, int WARPS_K_> struct window_shape {
  static constexpr int SIDE = SIDE_, TAPS = SIDE * SIDE;
  static constexpr int DOWN = DOWN_, ACROSS = ACROSS_, M = DOWN * ACROSS, N = N_, WARP_M = WARP_M_, WARP_N = WARP_N_;
  static constexpr int WARPS_K = WARPS_K_, WARPS_M = M / WARP_M, WARPS_N = N / WARP_N;
  static constexpr int THREADS = 32 * WARPS_M * WARPS_N * WARPS_K;
  /* the input of a tile, with its border */
  static constexpr int WIDE = ACROSS + SIDE - 1, PIXELS = (DOWN + SIDE - 1) * WIDE;
  static constexpr int DEPTH = 32, CHUNKS = DEPTH / 8; /* channels of a block, chunks of 16 bytes */
  /* bytes from one pixel to the next: eight of them begin in different banks, at any place of the window */
  static constexpr int PITCH = DEPTH * 2 + 16;
  static constexpr int SLOTS = 2 * SIDE; /* taps whose weights are there or on their way */
  static constexpr int INPUT_BYTES = PIXELS * PITCH, TAP_BYTES = N * DEPTH * 2;
  static constexpr int LOAD_BYTES = 2 * INPUT_BYTES + SLOTS * TAP_BYTES, SUM_BYTES = WARPS_K == 2 ? M * N * 4 : 0;
  static constexpr int SHARED_BYTES = LOAD_BYTES > SUM_BYTES ? LOAD_BYTES : SUM_BYTES;
  static constexpr int TILES_M = WARP_M / 16, TILES_N = WARP_N / 8;
  static constexpr int STEPS = 2 / WARPS_K; /* products along K that a warp does of each tap */
  static constexpr int LOAD_ROWS = THREADS / CHUNKS;
  static constexpr int INPUT_LOADS = (PIXELS + LOAD_ROWS - 1) / LOAD_ROWS,
                       WEIGHT_LOADS = (N + LOAD_ROWS - 1) / LOAD_ROWS;
  static constexpr int LOADS_A_TAP = (INPUT_LOADS + SIDE - 1) / SIDE; /* the input comes beside a row of taps */
  static_assert(SHARED_BYTES <= 99 * 1024, "the limit of compute capability 8.6, 8.9 and 12.0");
  static_assert(WARPS_K == 1 || (WARPS_K == 2 && TILES_M % 2 == 0), "each of two warps finishes half of the sums");
  static_assert(WARP_M % 16 == 0 && WARP_N % 16 == 0, "fragments are 16 by 16");
  static_assert(LOAD_ROWS % 8 == 0, "all rows of weights that a thread copies have one swizzle");
};

/* The pixels of the output that a warp's rows make. */
struct window_rows {
  int picture, y, x, h, w; /* y, x: the tile's first pixel, of h x w */
  int quarter;       /* -1: pixels are those of the output; else each is 2 x 2 pixels of it, of which this is meant */
  int across, first; /* number of pixels in a row of the tile; the warp's first row within the tile */
  __device__ __forceinline__ long at(int r) const {
    int line = y + (first + r) / across, column = x + (first + r) % across;
    if (line >= h || column >= w)
      return -1;
    if (quarter >= 0)
      return ((long)picture * 2 * h + 2 * line + quarter / 2) * 2 * w + 2 * column + quarter % 2;
    return ((long)picture * h + line) * w + column;
  }
};

template <class T> __device__ __forceinline__ window_rows find_rows(const struct gemm_args &p) {
  int h = T::SIDE == 2 ? p.h : p.out_h, w = T::SIDE == 2 ? p.w : p.out_w;
  int across = (w + T::ACROSS - 1) / T::ACROSS, down = (h + T::DOWN - 1) / T::DOWN;
  int each = across * down * p.n, quarter = T::SIDE == 2 ? (int)blockIdx.x / each : -1;
  int tile = T::SIDE == 2 ? (int)blockIdx.x - quarter * each : (int)blockIdx.x;
  int line = tile / across, picture = line / down;
  return {picture, (line - picture * down) * T::DOWN, (tile - line * across) * T::ACROSS, h, w, quarter, T::ACROSS, 0};
}

/* The copies that one thread makes: 16 bytes (one chunk) of INPUT_LOADS pixels of each block, and of WEIGHT_LOADS rows
 * of W for each tap. */
template <class T> struct window_loader {
  const struct gemm_args &p;
  int pixel[T::INPUT_LOADS];          /* index of the pixel; -1: it lies outside of the picture, or there is none */
  const __half *weight;               /* the thread's chunk of the next tap in the first of its rows of W */
  int apart, columns;                 /* number of elements from one row to the next; bit i is set if row i exists */
  int channels, to_weights, to_input; /* to: where the thread's first chunk goes, bytes from the beginning */

  __device__ __forceinline__ window_loader(const struct gemm_args &args, const window_rows &rows, int first_column,
                                           int begin)
      : p(args) {
    int chunk = threadIdx.x % T::CHUNKS, row = threadIdx.x / T::CHUNKS, quarter = T::SIDE == 2 ? rows.quarter : 0;
    int y = rows.y - 1 + quarter / 2, x = rows.x - 1 + quarter % 2, shift = T::SIDE == 3 && p.upsample;
#pragma unroll
    for (int i = 0; i < T::INPUT_LOADS; i++) {
      int index = row + i * T::LOAD_ROWS, line = y + index / T::WIDE, column = x + index % T::WIDE;
      bool there = index < T::PIXELS && (unsigned)line < (unsigned)rows.h && (unsigned)column < (unsigned)rows.w;
      pixel[i] = there ? (rows.picture * p.h + (line >> shift)) * p.w + (column >> shift) : -1;
    }
    channels = p.c + p.c2;
    int pitch = (T::SIDE == 2 ? 4 : 1) * T::TAPS * channels;
    weight =
        p.weight + (size_t)(first_column + row) * pitch + quarter * T::TAPS * channels + chunk * 8 + begin * T::DEPTH;
    apart = T::LOAD_ROWS * pitch;
    columns = 0;
#pragma unroll
    for (int i = 0; i < T::WEIGHT_LOADS; i++)
      columns |= (first_column + row + i * T::LOAD_ROWS < p.columns) << i;
    to_weights = row * T::DEPTH * 2 + (chunk ^ (row >> 1 & 3)) * 16;
    to_input = row * T::PITCH + chunk * 16;
  }

  /* Starts the copy of one tap's weights to a slot. there: false: zeros are written. */
  __device__ __forceinline__ void load_weights(char *slot, bool there) const {
    int within = there ? columns : 0;
#pragma unroll
    for (int i = 0; i < T::WEIGHT_LOADS; i++)
      if ((i + 1) * T::LOAD_ROWS <= T::N || threadIdx.x < (T::N - i * T::LOAD_ROWS) * T::CHUNKS)
        copy16(slot + to_weights + i * T::LOAD_ROWS * T::DEPTH * 2, weight + (long)i * apart, within & 1 << i);
  }

  /* Starts the copies from number `first` to `last` of a block of channels of the input. */
  __device__ __forceinline__ void load_input(char *buffer, int channel, int first, int last, bool there) const {
    bool second = channel >= p.c;
    const __half *from = (second ? p.x2 + (channel - p.c) : p.x + channel) + threadIdx.x % T::CHUNKS * 8;
    int pitch = second ? p.c2 : p.c;
#pragma unroll
    for (int i = 0; i < T::INPUT_LOADS; i++)
      if (i >= first && i < last &&
          ((i + 1) * T::LOAD_ROWS <= T::PIXELS || threadIdx.x < (T::PIXELS - i * T::LOAD_ROWS) * T::CHUNKS))
        copy16(buffer + to_input + i * T::LOAD_ROWS * T::PITCH, from + (long)pixel[i] * pitch, there && pixel[i] >= 0);
  }
};

template <class T> struct window_operands { uint32_t a[T::TILES_M][4], b[T::TILES_N / 2][4]; };

/* A warp's part of the tile. */
template <class T> struct window_sums {
  fragments<T::TILES_M, T::TILES_N> sums;
  int m, n, k;             /* first row and column; k: index of the warp among those that divide K between them */
  int a[T::TILES_M], b[2]; /* where the lane's rows of matrices begin, bytes from the input's or a tap's beginning */

  __device__ __forceinline__ window_sums() {
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    m = warp % T::WARPS_M * T::WARP_M;
    n = warp / T::WARPS_M % T::WARPS_N * T::WARP_N;
    k = warp / (T::WARPS_M * T::WARPS_N);
#pragma unroll
    for (int i = 0; i < T::TILES_M; i++) {
      int r = m + i * 16 + lane % 16;
      a[i] = (r / T::ACROSS * T::WIDE + r % T::ACROSS) * T::PITCH + k * 32 + lane / 16 * 16;
#pragma unroll
      for (int j = 0; j < T::TILES_N; j++)
#pragma unroll
        for (int e = 0; e < 4; e++)
          sums.at[i][j][e] = 0.0f;
    }
    int row = n + lane % 8 + lane / 16 * 8;
#pragma unroll
    for (int step = 0; step < 2; step++)
      b[step] = row * T::DEPTH * 2 + (((k + step) * 2 + lane / 8 % 2) ^ (row >> 1 & 3)) * 16;
  }

  /* Loads the operands of one step: `input` is the input's beginning, moved by the tap's place in the window; `tap` is
   * the slot of its weights. */
  __device__ __forceinline__ void load(window_operands<T> &to, const char *input, const char *tap, int step) const {
#pragma unroll
    for (int i = 0; i < T::TILES_M; i++)
      load_matrices(to.a[i], input + a[i] + step * 32);
#pragma unroll
    for (int j = 0; j < T::TILES_N / 2; j++)
      load_matrices(to.b[j], tap + b[step] + j * 16 * T::DEPTH * 2);
  }

  __device__ __forceinline__ void multiply(const window_operands<T> &by) {
#pragma unroll
    for (int i = 0; i < T::TILES_M; i++)
#pragma unroll
      for (int j = 0; j < T::TILES_N; j++)
        multiply_add(sums.at[i][j], by.a[i], &by.b[j / 2][j % 2 * 2]);
  }
};

/* Multiplies blocks of channels from `begin` to `end`. Weights come SLOTS - 1 taps ahead, and the input a block ahead.
 * While a warp multiplies one step, the next one's operands are on their way from shared memory. */
template <class T>
__device__ __forceinline__ void multiply_windows(window_loader<T> &from, window_sums<T> &warp, char *input,
                                                 char *weights, int begin, int end) {
  window_operands<T> held[2];
  char *present = weights, *other = weights + T::SIDE * T::TAP_BYTES; /* slots of this row of taps, and of the next */
  int buffer = 0;
  copies_wait<T::SLOTS - 2>();
  __syncthreads();
  warp.load(held[0], input, weights, 0);
#pragma unroll 1
  for (int block = begin; block < end; block++) {
    bool more = block + 1 < end;
    const char *line = input + buffer * T::INPUT_BYTES;
    buffer ^= 1;
#pragma unroll 1
    for (int dy = 0; dy < T::SIDE; dy++) {
      const char *next = dy < T::SIDE - 1 ? line + T::WIDE * T::PITCH : input + buffer * T::INPUT_BYTES;
      /* SLOTS - 1 taps ahead are taps of this block up to the first of the row before the last */
      bool same = dy < T::SIDE - 2;
      int step_on = dy == T::SIDE - 2 ? T::DEPTH - (T::TAPS - 1) * from.channels : from.channels;
#pragma unroll
      for (int dx = 0; dx < T::SIDE; dx++)
#pragma unroll
        for (int step = 0; step < T::STEPS; step++) {
          constexpr int LAST = T::STEPS - 1;
          int turn = (dx * T::STEPS + step) % 2;
          if (step < LAST)
            warp.load(held[turn ^ 1], line + dx * T::PITCH, present + dx * T::TAP_BYTES, step + 1);
          if (step == 0) { /* into the slot of the tap before: all warps have been at a barrier since they read it */
            char *slot = dx == 0 ? other + (T::SIDE - 1) * T::TAP_BYTES : present + (dx - 1) * T::TAP_BYTES;
            from.load_weights(slot, more || same || (dx == 0 && dy == T::SIDE - 2));
            from.weight += dx == 0 ? step_on : from.channels;
            if (dy == 0)
              from.load_input(input + buffer * T::INPUT_BYTES, (block + 1) * T::DEPTH, dx * T::LOADS_A_TAP,
                              (dx + 1) * T::LOADS_A_TAP, more);
            copies_commit();
          }
          if (step == LAST) {
            copies_wait<T::SLOTS - 2>();
            __syncthreads();
            /* behind the last tap this reads what is multiplied by nothing */
            bool row_ends = dx == T::SIDE - 1;
            warp.load(held[turn ^ 1], row_ends ? next : line + (dx + 1) * T::PITCH,
                      row_ends ? other : present + (dx + 1) * T::TAP_BYTES, 0);
          }
          warp.multiply(held[turn]);
        }
      if (T::SIDE * T::STEPS % 2) /* what was loaded last is used first */
        held[0] = held[1];
      char *swap = present;
      present = other;
      other = swap;
      line = next;
    }
  }
}

template <class T>
__global__ void __launch_bounds__(T::THREADS) window_kernel(const __grid_constant__ struct gemm_args p) {
  extern __shared__ uint4 shared[];
  char *input = reinterpret_cast<char *>(shared), *weights = input + 2 * T::INPUT_BYTES;
  window_rows rows = find_rows<T>(p);
  int blocks = (p.c + p.c2) / T::DEPTH, first_column = (int)blockIdx.y * T::N;
  int begin = blocks * (int)blockIdx.z / p.splits, end = blocks * ((int)blockIdx.z + 1) / p.splits;
  window_loader<T> from(p, rows, first_column, begin);
  from.load_weights(weights, true); /* W is constant; only the copies of A must wait for the preceding kernel */
  wait_for_previous();
  from.load_input(input, begin * T::DEPTH, 0, T::INPUT_LOADS, true);
  copies_commit();
#pragma unroll 1
  for (int tap = 1; tap < T::SLOTS - 1; tap++) {
    from.weight += from.channels;
    from.load_weights(weights + tap * T::TAP_BYTES, true);
    copies_commit();
  }
  from.weight += from.channels;
  window_sums<T> warp;
  multiply_windows(from, warp, input, weights, begin, end);
  copies_wait<0>();
  __syncthreads();
  int index = blockIdx.y * gridDim.x + blockIdx.x;
  float *own = reinterpret_cast<float *>(shared) + threadIdx.x / 32 * 16 * T::WARP_N;
  if constexpr (T::WARPS_K == 2) {
    fragments<T::TILES_M / 2, T::TILES_N> half;
    halve<T::THREADS>(warp.sums, warp.k, half, shared);
    __syncthreads();
    rows.first = warp.m + warp.k * T::WARP_M / 2;
    finish_sums<T::THREADS>(p, rows, first_column + warp.n, p.columns, index, half, own);
  } else {
    rows.first = warp.m;
    finish_sums<T::THREADS>(p, rows, first_column + warp.n, p.columns, index, warp.sums, own);
  }
}

template <class T> cudaError_t launch_windows(const struct launch_queue *queue, const struct gemm_args *args) {
  cudaError_t status =
      cudaFuncSetAttribute(window_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, T::SHARED_BYTES);
  if (status != cudaSuccess)
    return status;
  dim3 grid((unsigned)window_tiles_down(args), blocks_for((size_t)args->columns, T::N), (unsigned)args->splits);
  return launch(queue, window_kernel<T>, grid, dim3(T::THREADS), T::SHARED_BYTES, *args);
}

} // namespace

bool window_takes(const struct gemm_args *args) {
  bool quarters = args->tile == WINDOW_8x16x160 || args->tile == WINDOW_16x16x64 || args->tile == WINDOW_8x8x160;
  return args->kernel == 3 && args->stride == 1 && args->pad == 1 && args->c % 32 == 0 && args->c2 % 32 == 0 &&
         args->act != ACT_GEGLU && !args->gain.there && args->splits <= (args->c + args->c2) / 32 &&
         (quarters || !args->quarters);
}

int window_tiles_down(const struct gemm_args *args) {
  int down = args->tile == WINDOW_16x16x64 ? 16 : 8;
  int across = args->tile == WINDOW_8x8x160 || args->tile == WINDOW_8x8x64 ? 8 : 16;
  int h = args->quarters ? args->h : args->out_h, w = args->quarters ? args->w : args->out_w;
  return args->n * (int)(blocks_for((size_t)h, down) * blocks_for((size_t)w, across)) * (args->quarters ? 4 : 1);
}

cudaError_t launch_window(const struct launch_queue *queue, const struct gemm_args *args) {
  switch (args->tile) {
  case WINDOW_8x16x160:
    return args->quarters ? launch_windows<window_shape<2, 8, 16, 160, 32, 80, 1>>(queue, args)
                          : launch_windows<window_shape<3, 8, 16, 160, 32, 80, 1>>(queue, args);
  case WINDOW_8x16x128:
    return launch_windows<window_shape<3, 8, 16, 128, 64, 64, 2>>(queue, args);
  case WINDOW_16x16x64:
    return args->quarters ? launch_windows<window_shape<2, 16, 16, 64, 64, 32, 1>>(queue, args)
                          : launch_windows<window_shape<3, 16, 16, 64, 64, 32, 1>>(queue, args);
  case WINDOW_8x16x64:
    return launch_windows<window_shape<3, 8, 16, 64, 64, 64, 2>>(queue, args);
  case WINDOW_8x8x160:
    return args->quarters ? launch_windows<window_shape<2, 8, 8, 160, 32, 80, 2>>(queue, args)
                          : launch_windows<window_shape<3, 8, 8, 160, 32, 80, 2>>(queue, args);
  default:
    return launch_windows<window_shape<3, 8, 8, 64, 32, 32, 2>>(queue, args);
  }
}
