/* 3x3 convolutions of 32 i channels, as products on tensor cores whose input is read once for all places of the window.
 *
 * An implicit matrix product (gemm.cu) reads each pixel nine times from L2, and calculates an address for each of these
 * reads between its products. Here a thread block calculates a tile of pixels, and goes along the sum in blocks of 32
 * or 64 channels. Of each block it reads the tile's pixels with their border once, and then makes the products of all
 * taps (places of the window), each with N weights for each channel.
 *
 *     input    | block i: pixels with border | block i + 1, on its way |
 *     weights  | tap | tap + 1 | ... | the last of SLOTS taps, on its way |     a ring
 *
 * A tap's rows of A are the same pixels, moved by as many places. A row of taps is unrolled; it has one branch, for the
 * copies of the next input. What lies outside of the picture, or beyond the last column, is set to zero once and never
 * copied: copies of nothing still ask for their address, and all of them for the same one, which is slow.
 *
 * Pixels and rows of weights follow each other without gaps, since copies to rows that do not begin at a multiple of 32
 * bytes move half as much again (MEASURED.md, "Windows"). Their chunks of 16 bytes are exchanged instead, so that the
 * same chunk of eight neighbours lies in different banks.
 *
 * The picture may be doubled before the convolution: pixels of the input are then read twice, or the four convolutions
 * of 2x2 that do the same are done (gemm_args.quarters; a tile belongs to one of them). With stride 2 the even columns
 * of the input come first in shared memory, then the odd ones, so that a tap's pixels are neighbours there, too.
 *
 * Limits. L2: a tap of 32 channels brings 64 N bytes of weights, and the input PIXELS / (9 M) times what gemm.cu reads:
 * 1/6 for 8 x 16 pixels. Shared memory: as in gemm.cu. */
#include "cuda/kernels/fragments.cuh"

namespace {

/* A tile of DOWN x ACROSS pixels and N output channels, in blocks of DEPTH channels. SIDE: height and width of the
 * window; if it is 2, the tile's pixels belong to one of the four convolutions of a doubled picture
 * (gemm_args.quarters). SLOTS: number of taps whose weights are there or on their way. */
template <int SIDE_, int DOWN_, int ACROSS_, int N_, int WARP_M_, int WARP_N_, int WARPS_K_, int DEPTH_, int SLOTS_,
          int STRIDE_ = 1>
struct window_shape {
  static constexpr int SIDE = SIDE_, TAPS = SIDE * SIDE, STRIDE = STRIDE_, SLOTS = SLOTS_;
  static constexpr int DOWN = DOWN_, ACROSS = ACROSS_, M = DOWN * ACROSS, N = N_, WARP_M = WARP_M_, WARP_N = WARP_N_;
  static constexpr int WARPS_K = WARPS_K_, WARPS_M = M / WARP_M, WARPS_N = N / WARP_N;
  static constexpr int THREADS = 32 * WARPS_M * WARPS_N * WARPS_K;
  /* the input of a tile, with its border */
  static constexpr int WIDE = (ACROSS - 1) * STRIDE + SIDE, PIXELS = ((DOWN - 1) * STRIDE + SIDE) * WIDE;
  static constexpr int EVEN = ACROSS + 1; /* with stride 2: number of even columns in a row of the input */
  static constexpr int DEPTH = DEPTH_, CHUNKS = DEPTH / 8, ROW_BYTES = DEPTH * 2; /* chunks: 16 bytes, 8 channels */
  static constexpr int INPUT_BYTES = PIXELS * ROW_BYTES, TAP_BYTES = N * ROW_BYTES, RING_BYTES = SLOTS * TAP_BYTES;
  static constexpr int LOAD_BYTES = 2 * INPUT_BYTES + RING_BYTES, SUM_BYTES = WARPS_K == 2 ? M * N * 4 : 0;
  static constexpr int SHARED_BYTES = LOAD_BYTES > SUM_BYTES ? LOAD_BYTES : SUM_BYTES;
  static constexpr int TILES_M = WARP_M / 16, TILES_N = WARP_N / 8;
  static constexpr int STEPS = DEPTH / 16 / WARPS_K; /* products along K that a warp does of each tap */
  static constexpr int LOAD_ROWS = THREADS / CHUNKS;
  static constexpr int INPUT_LOADS = (PIXELS + LOAD_ROWS - 1) / LOAD_ROWS,
                       WEIGHT_LOADS = (N + LOAD_ROWS - 1) / LOAD_ROWS;
  static_assert(SHARED_BYTES + FLAG_BYTES <= 99 * 1024, "the limit of compute capability 8.6, 8.9 and 12.0");
  static_assert(SLOTS <= TAPS + 1, "the next block's input, copied with weights SLOTS - 1 taps ahead, comes in time");
  static_assert(WARPS_K == 1 || (WARPS_K == 2 && TILES_M % 2 == 0), "each of two warps finishes half of the sums");
  static_assert(WARP_M % 16 == 0 && WARP_N % 16 == 0, "fragments are 16 by 16");
  static_assert(LOAD_ROWS % 8 == 0, "all rows that a thread copies have one swizzle");
  static_assert(DEPTH == 32 || DEPTH == 64, "the swizzle knows rows of 64 and of 128 bytes");

  /* Returns how many places the window's column dx is behind its first one. */
  static __device__ __forceinline__ constexpr int place(int dx) {
    return STRIDE == 2 ? dx % 2 * EVEN + dx / 2 : dx;
  }
  /* Returns the column of the input, from the tile's first, that lies at a place within a row in shared memory. */
  static __device__ __forceinline__ int column_at(int place) {
    return STRIDE == 1 ? place : place < EVEN ? 2 * place : 2 * (place - EVEN) + 1;
  }
  /* Returns where a chunk of a pixel or of a row of weights lies, bytes from the beginning. */
  static __device__ __forceinline__ int chunk_at(int row, int chunk) {
    return row * ROW_BYTES + (chunk ^ (CHUNKS == 8 ? row & 7 : row >> 1 & 3)) * 16;
  }
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
  int pixel[T::INPUT_LOADS]; /* index of the pixel; -1: it lies outside of the picture, or there is none */
  const __half *weight;      /* the thread's chunk of the next tap in the first of its rows of W */
  int apart, columns;        /* number of elements from one row to the next; bit i is set if row i exists */
  int channels, tap, left;   /* tap, left: the next tap of which weights are copied; number of taps that are left */
  int first_chunk; /* where the thread's first chunk goes, bytes from the beginning of the input or of a slot */

  __device__ __forceinline__ window_loader(const struct gemm_args &args, const window_rows &rows, int first_column,
                                           int begin, int end)
      : p(args) {
    int chunk = threadIdx.x % T::CHUNKS, row = threadIdx.x / T::CHUNKS, quarter = T::SIDE == 2 ? rows.quarter : 0;
    int y = rows.y * T::STRIDE - 1 + quarter / 2, x = rows.x * T::STRIDE - 1 + quarter % 2;
    int h = T::STRIDE == 2 ? p.h : rows.h, w = T::STRIDE == 2 ? p.w : rows.w, shift = T::SIDE == 3 && p.upsample;
#pragma unroll
    for (int i = 0; i < T::INPUT_LOADS; i++) {
      int index = row + i * T::LOAD_ROWS, line = y + index / T::WIDE, column = x + T::column_at(index % T::WIDE);
      bool there = index < T::PIXELS && (unsigned)line < (unsigned)h && (unsigned)column < (unsigned)w;
      pixel[i] = there ? (rows.picture * p.h + (line >> shift)) * p.w + (column >> shift) : -1;
    }
    channels = p.c + p.c2;
    tap = 0;
    left = (end - begin) * T::TAPS;
    int pitch = (T::SIDE == 2 ? 4 : 1) * T::TAPS * channels;
    weight =
        p.weight + (size_t)(first_column + row) * pitch + quarter * T::TAPS * channels + chunk * 8 + begin * T::DEPTH;
    apart = T::LOAD_ROWS * pitch;
    columns = 0;
#pragma unroll
    for (int i = 0; i < T::WEIGHT_LOADS; i++)
      columns |= (first_column + row + i * T::LOAD_ROWS < p.columns) << i;
    first_chunk = T::chunk_at(row, chunk);
  }

  /* Returns true if the thread has a row number i of so many rows. */
  static __device__ __forceinline__ bool has(int i, int rows) {
    return (i + 1) * T::LOAD_ROWS <= rows || (int)threadIdx.x < (rows - i * T::LOAD_ROWS) * T::CHUNKS;
  }

  /* Sets to zero what is never copied: pixels outside of the picture, and rows of W beyond the last column. */
  __device__ __forceinline__ void clear(char *input, char *weights) const {
    uint4 zero = make_uint4(0, 0, 0, 0);
#pragma unroll
    for (int i = 0; i < T::INPUT_LOADS; i++)
      if (has(i, T::PIXELS) && pixel[i] < 0)
#pragma unroll
        for (int buffer = 0; buffer < 2; buffer++)
          *reinterpret_cast<uint4 *>(input + buffer * T::INPUT_BYTES + first_chunk + i * T::LOAD_ROWS * T::ROW_BYTES) =
              zero;
#pragma unroll
    for (int i = 0; i < T::WEIGHT_LOADS; i++)
      if (has(i, T::N) && !(columns & 1 << i))
#pragma unroll 1
        for (int slot = 0; slot < T::SLOTS; slot++)
          *reinterpret_cast<uint4 *>(weights + slot * T::TAP_BYTES + first_chunk + i * T::LOAD_ROWS * T::ROW_BYTES) =
              zero;
  }

  /* Starts the copy of the next tap's weights to a slot, if there is one. */
  __device__ __forceinline__ void load_weights(char *slot) {
    int within = left > 0 ? columns : 0;
#pragma unroll
    for (int i = 0; i < T::WEIGHT_LOADS; i++)
      if (has(i, T::N) && within & 1 << i)
        copy16(slot + first_chunk + i * T::LOAD_ROWS * T::ROW_BYTES, weight + (long)i * apart, true);
    bool last = tap == T::TAPS - 1;
    weight += last ? T::DEPTH - (T::TAPS - 1) * channels : channels;
    tap = last ? 0 : tap + 1;
    left--;
  }

  /* Starts the copies of a block of channels of the input. */
  __device__ __forceinline__ void load_input(char *buffer, int channel) const {
    bool second = channel >= p.c;
    const __half *from = (second ? p.x2 + (channel - p.c) : p.x + channel) + threadIdx.x % T::CHUNKS * 8;
    int pitch = second ? p.c2 : p.c;
#pragma unroll
    for (int i = 0; i < T::INPUT_LOADS; i++)
      if (pixel[i] >= 0)
        copy16(buffer + first_chunk + i * T::LOAD_ROWS * T::ROW_BYTES, from + (long)pixel[i] * pitch, true);
  }
};

template <class T> struct window_operands { uint32_t a[T::TILES_M][4], b[T::TILES_N / 2][4]; };

/* A warp's part of the tile. */
template <class T> struct window_sums {
  fragments<T::TILES_M, T::TILES_N> sums;
  int m, n, k;           /* first row and column; k: index of the warp among those that divide K between them */
  int first[T::TILES_M]; /* the place of the lane's row of A at the first tap, in pixels */
  int a
      [T::TILES_M]; /* where the lane's chunk of that row begins at the present tap, bytes from the input's beginning */
  int b[T::STEPS];  /* where the lane's row of W begins in each step, bytes from a tap's beginning */

  __device__ __forceinline__ window_sums() {
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    m = warp % T::WARPS_M * T::WARP_M;
    n = warp / T::WARPS_M % T::WARPS_N * T::WARP_N;
    k = warp / (T::WARPS_M * T::WARPS_N);
#pragma unroll
    for (int i = 0; i < T::TILES_M; i++) {
      int r = m + i * 16 + lane % 16;
      first[i] = r / T::ACROSS * T::STRIDE * T::WIDE + r % T::ACROSS;
#pragma unroll
      for (int j = 0; j < T::TILES_N; j++)
#pragma unroll
        for (int e = 0; e < 4; e++)
          sums.at[i][j][e] = 0.0f;
    }
#pragma unroll
    for (int step = 0; step < T::STEPS; step++)
      b[step] = T::chunk_at(n + lane % 8 + lane / 16 * 8, (k * T::STEPS + step) * 2 + lane / 8 % 2);
  }

  /* Goes to a tap, `places` pixels behind the first one in shared memory. */
  __device__ __forceinline__ void aim(int places) {
#pragma unroll
    for (int i = 0; i < T::TILES_M; i++)
      a[i] = T::chunk_at(first[i] + places, k * T::STEPS * 2 + threadIdx.x % 32 / 16);
  }

  /* Loads the operands of one step. tap: the slot of its weights. */
  __device__ __forceinline__ void load(window_operands<T> &to, const char *input, const char *tap, int step) const {
#pragma unroll
    for (int i = 0; i < T::TILES_M; i++)
      load_matrices(to.a[i], input + (a[i] ^ step * 32)); /* two chunks further, before they are exchanged */
#pragma unroll
    for (int j = 0; j < T::TILES_N / 2; j++)
      load_matrices(to.b[j], tap + b[step] + j * 16 * T::ROW_BYTES);
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
  /* the slots of the tap before, and of the present one, bytes from the first slot */
  int before = T::RING_BYTES - T::TAP_BYTES, slot = 0;
  char *present = input, *other = input + T::INPUT_BYTES;
  copies_wait<T::SLOTS - 2>();
  __syncthreads();
  warp.aim(0);
  warp.load(held[0], present, weights, 0);
#pragma unroll 1
  for (int block = begin; block < end; block++) {
    bool more = block + 1 < end;
#pragma unroll 1
    for (int dy = 0; dy < T::SIDE; dy++) {
      bool ends = dy == T::SIDE - 1;
#pragma unroll
      for (int dx = 0; dx < T::SIDE; dx++) {
        constexpr int LAST = T::STEPS - 1;
        int after = slot == T::RING_BYTES - T::TAP_BYTES ? 0 : slot + T::TAP_BYTES;
        bool row_ends = dx == T::SIDE - 1;
#pragma unroll
        for (int step = 0; step < T::STEPS; step++) {
          int turn = (dx * T::STEPS + step) % 2;
          if (step < LAST)
            warp.load(held[turn ^ 1], present, weights + slot, step + 1);
          if (step == 0) { /* into the slot of the tap before: all warps have been at a barrier since they read it */
            from.load_weights(weights + before);
            if (dx == 0 && dy == 0 && more)
              from.load_input(other, (block + 1) * T::DEPTH);
            copies_commit();
          }
          if (step == LAST) {
            copies_wait<T::SLOTS - 2>();
            __syncthreads();
            /* behind the last tap this reads what is multiplied by nothing */
            warp.aim(!row_ends ? dy * T::WIDE + T::place(dx + 1) : ends ? 0 : (dy + 1) * T::WIDE);
            warp.load(held[turn ^ 1], row_ends && ends ? other : present, weights + after, 0);
          }
          warp.multiply(held[turn]);
        }
        before = slot;
        slot = after;
      }
      if (T::SIDE * T::STEPS % 2) /* what was loaded last is used first */
        held[0] = held[1];
    }
    char *swap = present;
    present = other;
    other = swap;
  }
}

template <class T>
__global__ void __launch_bounds__(T::THREADS) window_kernel(const __grid_constant__ struct gemm_args p) {
  extern __shared__ uint4 shared[];
  char *input = reinterpret_cast<char *>(shared), *weights = input + 2 * T::INPUT_BYTES;
  window_rows rows = find_rows<T>(p);
  int blocks = (p.c + p.c2) / T::DEPTH, first_column = (int)blockIdx.y * T::N;
  int begin = blocks * (int)blockIdx.z / p.splits, end = blocks * ((int)blockIdx.z + 1) / p.splits;
  window_loader<T> from(p, rows, first_column, begin, end);
  from.load_weights(weights); /* W is constant; only the copies of A must wait for the preceding kernel */
  from.clear(input, weights);
  wait_for_previous();
  from.load_input(input, begin * T::DEPTH);
  copies_commit();
#pragma unroll 1
  for (int tap = 1; tap < T::SLOTS - 1; tap++) {
    from.load_weights(weights + tap * T::TAP_BYTES);
    copies_commit();
  }
  window_sums<T> warp;
  multiply_windows(from, warp, input, weights, begin, end);
  copies_wait<0>();
  __syncthreads();
  int index = blockIdx.y * gridDim.x + blockIdx.x;
  bool *last = reinterpret_cast<bool *>(input + T::SHARED_BYTES);
  float *own = reinterpret_cast<float *>(shared) + threadIdx.x / 32 * 16 * T::WARP_N;
  if constexpr (T::WARPS_K == 2) {
    fragments<T::TILES_M / 2, T::TILES_N> half;
    halve<T::THREADS>(warp.sums, warp.k, half, shared);
    __syncthreads();
    rows.first = warp.m + warp.k * T::WARP_M / 2;
    finish_sums<T::THREADS>(p, rows, first_column + warp.n, p.columns, index, half, own, last);
  } else {
    rows.first = warp.m;
    finish_sums<T::THREADS>(p, rows, first_column + warp.n, p.columns, index, warp.sums, own, last);
  }
}

template <class T> cudaError_t launch_windows(const struct launch_queue *queue, const struct gemm_args *args) {
  cudaError_t status =
      cudaFuncSetAttribute(window_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, T::SHARED_BYTES + FLAG_BYTES);
  if (status != cudaSuccess)
    return status;
  dim3 grid((unsigned)window_tiles_down(args), blocks_for((size_t)args->columns, T::N), (unsigned)args->splits);
  return launch(queue, window_kernel<T>, grid, dim3(T::THREADS), T::SHARED_BYTES + FLAG_BYTES, *args);
}

} // namespace

/* What each tile is: down, across: number of pixels; depth: number of channels of a block; quarters: it can do the four
 * convolutions of a doubled picture; strided: it can do stride 2. */
static const struct window_tile {
  int down, across, depth;
  bool quarters, strided;
} window_tiles[TILES_F32 - WINDOW_FIRST] = {[WINDOW_8x16x160 - WINDOW_FIRST] = {8, 16, 32, true, false},
                                            [WINDOW_8x16x80 - WINDOW_FIRST] = {8, 16, 64, true, false},
                                            [WINDOW_16x16x64 - WINDOW_FIRST] = {16, 16, 32, true, false},
                                            [WINDOW_8x16x64 - WINDOW_FIRST] = {8, 16, 64, false, false},
                                            [WINDOW_8x8x64 - WINDOW_FIRST] = {8, 8, 32, false, true},
                                            [WINDOW_8x8x64_DEEP - WINDOW_FIRST] = {8, 8, 64, false, false}};

bool window_takes(const struct gemm_args *args) {
  const struct window_tile *tile = &window_tiles[args->tile - WINDOW_FIRST];
  bool strided = args->stride == 2 && tile->strided && !args->upsample && !args->quarters;
  return args->kernel == 3 && (args->stride == 1 || strided) && args->pad == 1 && args->c % tile->depth == 0 &&
         args->c2 % tile->depth == 0 && args->act != ACT_GEGLU && !args->gain.there && time_in_pairs(args) &&
         args->splits <= (args->c + args->c2) / tile->depth && (tile->quarters || !args->quarters);
}

int window_tiles_down(const struct gemm_args *args) {
  const struct window_tile *tile = &window_tiles[args->tile - WINDOW_FIRST];
  int h = args->quarters ? args->h : args->out_h, w = args->quarters ? args->w : args->out_w;
  return args->n * (int)(blocks_for((size_t)h, tile->down) * blocks_for((size_t)w, tile->across)) *
         (args->quarters ? 4 : 1);
}

cudaError_t launch_window(const struct launch_queue *queue, const struct gemm_args *args) {
  switch (args->tile) {
  case WINDOW_8x16x160:
    return args->quarters ? launch_windows<window_shape<2, 8, 16, 160, 32, 80, 1, 32, 4>>(queue, args)
                          : launch_windows<window_shape<3, 8, 16, 160, 32, 80, 1, 32, 7>>(queue, args);
  case WINDOW_8x16x80:
    return args->quarters ? launch_windows<window_shape<2, 8, 16, 80, 32, 80, 2, 64, 4>>(queue, args)
                          : launch_windows<window_shape<3, 8, 16, 80, 32, 80, 2, 64, 5>>(queue, args);
  case WINDOW_16x16x64:
    return args->quarters ? launch_windows<window_shape<2, 16, 16, 64, 64, 32, 1, 32, 4>>(queue, args)
                          : launch_windows<window_shape<3, 16, 16, 64, 64, 32, 1, 32, 9>>(queue, args);
  case WINDOW_8x16x64:
    return launch_windows<window_shape<3, 8, 16, 64, 32, 64, 2, 64, 6>>(queue, args);
  case WINDOW_8x8x64_DEEP:
    return launch_windows<window_shape<3, 8, 8, 64, 32, 32, 2, 64, 9>>(queue, args);
  default:
    return args->stride == 2 ? launch_windows<window_shape<3, 8, 8, 64, 32, 32, 2, 32, 6, 2>>(queue, args)
                             : launch_windows<window_shape<3, 8, 8, 64, 32, 32, 2, 32, 9>>(queue, args);
  }
}
