/* 3x3 convolutions with few channels over many pixels, as at the autoencoder's full resolution. An implicit matrix
 * product would read every pixel nine times. Here a thread block reads a tile of 16 x 16 pixels with its border once,
 * and keeps all weights in shared memory. It goes from tile to tile, and loads the next one while it works on the
 * present one.
 *
 * Each of eight warps calculates two rows of 16 pixels, with all output channels. For each tap (place of the window), a
 * row of 16 pixels, shifted by the tap, is the 16 rows of A, the first operand of mma.
 *
 * Limits: 18 C N operations for each pixel of C input and N output channels, and 2 (C + N) bytes of memory. */
#include "cuda/kernels/fragments.cuh"
#include "cuda/kernels/narrow_last.h"

namespace {

constexpr int SIDE = 16, BORDERED = SIDE + 2, WARPS = 8, THREADS = 32 * WARPS, ROWS = SIDE / WARPS;

/* Returns how many bytes of shared memory a thread block needs with c input and n output channels: for all weights, two
 * tiles of the input, and each warp's row of results. */
constexpr int count_bytes(int c, int n) {
  int taps = c == 8 ? 10 : 9;
  return (taps * n + 2 * BORDERED * BORDERED) * c * 2 + WARPS * SIDE * (n + 8) * 4;
}

/* A convolution from C to N channels. One step of its sum adds 16 products, the depth of an mma instruction: 16
 * channels of one tap (place of the window), or 8 channels of two taps. In the latter case there is a tenth tap, with
 * zero weights. */
template <int C_, int N_> struct shape {
  /* number of 16-byte chunks (8 channels) in a pixel of the input */
  static constexpr int C = C_, N = N_, CHUNKS = C / 8;
  static constexpr int TAPS = CHUNKS == 1 ? 10 : 9, STEPS = TAPS * CHUNKS / 2;
  static constexpr int WEIGHT_CHUNKS = TAPS * N * CHUNKS, TILE_CHUNKS = BORDERED * BORDERED * CHUNKS;
  static constexpr int UNROLL = C == 64 ? 1 : 3; /* number of iterations that are unrolled in the loop over taps (places
                                                  * of the convolution's window) */
  /* least number of thread blocks that a multiprocessor must be able to hold */
  static constexpr int BLOCKS = C == 64 ? 1 : N == 16 && C <= 16 ? 4 : 2;
  /* number of floats from one row of results to the next in shared memory, so that rows begin in different banks */
  static constexpr int OUT_PITCH = N + 8;
  static constexpr int SHARED_BYTES = count_bytes(C, N);
  static_assert(SHARED_BYTES == (WEIGHT_CHUNKS + 2 * TILE_CHUNKS) * 16 + WARPS * SIDE * OUT_PITCH * 4, "as laid out");
};

/* Returns the position of a 16-byte chunk in shared memory, counted in chunks. Chunks are swizzled, so that the same
 * chunk of eight rows lies in different banks. */
template <class S> __device__ __forceinline__ int place(int row, int chunk) {
  return row * S::CHUNKS + (S::CHUNKS == 8   ? chunk ^ (row & 7)
                            : S::CHUNKS == 4 ? chunk ^ (row >> 1 & 3)
                            : S::CHUNKS == 2 ? chunk ^ (row >> 2 & 1)
                                             : chunk);
}

struct tiling {
  int across, down, count;
};

__device__ __forceinline__ tiling make_tiling(const struct gemm_args &p) {
  int across = (p.out_w + SIDE - 1) / SIDE, down = (p.out_h + SIDE - 1) / SIDE;
  return {across, down, across * down * p.n};
}

template <class S> __device__ __forceinline__ void load_weights(const struct gemm_args &p, uint4 *weights) {
  for (int i = threadIdx.x; i < S::WEIGHT_CHUNKS; i += THREADS) {
    int chunk = i % S::CHUNKS, n = i / S::CHUNKS % S::N, tap = i / S::CHUNKS / S::N;
    bool there = n < p.columns && tap < 9;
    copy16(weights + tap * S::N * S::CHUNKS + place<S>(n, chunk),
           there ? p.weight + ((size_t)n * 9 + tap) * S::C + chunk * 8 : p.weight, there);
  }
}

template <class S>
__device__ __forceinline__ void load_tile(const struct gemm_args &p, const tiling &tiles, uint4 *tile, int index) {
  int tile_x = index % tiles.across * SIDE - 1, tile_y = index / tiles.across % tiles.down * SIDE - 1;
  int picture = index / (tiles.across * tiles.down), shift = p.upsample;
  for (int i = threadIdx.x; i < S::TILE_CHUNKS; i += THREADS) {
    int chunk = i % S::CHUNKS, pixel = i / S::CHUNKS, x = tile_x + pixel % BORDERED, y = tile_y + pixel / BORDERED;
    bool there = (unsigned)x < (unsigned)p.out_w && (unsigned)y < (unsigned)p.out_h;
    size_t source = ((size_t)picture * p.h + (y >> shift)) * p.w + (x >> shift);
    copy16(tile + place<S>(pixel, chunk), there ? p.x + source * S::C + chunk * 8 : p.x, there);
  }
}

template <class S>
__device__ __forceinline__ void multiply(const uint4 *weights, const uint4 *tile, float sum[ROWS][S::N / 8][4]) {
  /* Lane l gives ldmatrix the address of one chunk (8 channels): chunk number 2 * step + l / 16 of the pixels, chunk
   * number 2 * step + (l / 8) % 2 of the weights. */
  constexpr int INNER = S::CHUNKS == 1 ? 1 : S::CHUNKS / 2;
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll S::UNROLL
  for (int outer = 0; outer < S::STEPS; outer += INNER) {
    int tap = min((2 * outer + lane / 16) / S::CHUNKS, 8), dy = tap / 3, dx = tap - 3 * dy;
    int pixel = (warp * ROWS + dy) * BORDERED + lane % 16 + dx;
    const uint4 *tap_weights = weights + (2 * outer + lane / 8 % 2) / S::CHUNKS * S::N * S::CHUNKS;
#pragma unroll
    for (int step = 0; step < INNER; step++) {
      int pixel_chunk = (2 * step + lane / 16) % S::CHUNKS, weight_chunk = (2 * step + lane / 8 % 2) % S::CHUNKS;
      uint32_t a[ROWS][4], b[S::N / 16][4];
#pragma unroll
      for (int i = 0; i < ROWS; i++)
        load_matrices(a[i], tile + place<S>(pixel + i * BORDERED, pixel_chunk));
#pragma unroll
      for (int j = 0; j < S::N / 16; j++)
        load_matrices(b[j], tap_weights + place<S>(j * 16 + lane % 8 + lane / 16 * 8, weight_chunk));
#pragma unroll
      for (int i = 0; i < ROWS; i++)
#pragma unroll
        for (int j = 0; j < S::N / 8; j++)
          multiply_add(sum[i][j], a[i], &b[j / 2][j % 2 * 2]);
    }
  }
}

/* Applies the epilogue to one row of 16 pixels and stores it. The row goes through shared memory, after which each lane
 * has eight channels of a pixel and stores them at once. */
template <class S>
__device__ __forceinline__ void write_row(const struct gemm_args &p, const float sum[S::N / 8][4], float *out,
                                          size_t pixel, int pixels) {
  constexpr int CHUNKS = S::N / 8, TURNS = SIDE * CHUNKS / 32;
  int lane = threadIdx.x % 32;
  struct tail tail = {p.bias, p.time, p.residual, p.act, p.residual_last};
  /* Give each lane eight channels of a pixel, through shared memory. */
  __syncwarp();
#pragma unroll
  for (int j = 0; j < CHUNKS; j++)
#pragma unroll
    for (int half = 0; half < 2; half++)
      *reinterpret_cast<float2 *>(out + (lane / 4 + half * 8) * S::OUT_PITCH + j * 8 + lane % 4 * 2) =
          make_float2(sum[j][2 * half], sum[j][2 * half + 1]);
  __syncwarp();
  /* Finish eight channels at a time, if the activation and the number of channels allow it. */
  bool soft = p.act == ACT_SILU && !p.residual_last;
  if (p.columns == S::N && (is_simple(p.act) || soft)) {
    uint4 residual[TURNS];
#pragma unroll
    for (int i = 0; i < TURNS; i++) {
      int x = (lane + 32 * i) / CHUNKS, column = lane % CHUNKS * 8;
      residual[i] = fetch_residual(p.residual, (pixel + x) * S::N + column, x < pixels);
    }
#pragma unroll
    for (int i = 0; i < TURNS; i++) {
      int x = (lane + 32 * i) / CHUNKS, column = lane % CHUNKS * 8;
      const float4 *from = reinterpret_cast<const float4 *>(out + x * S::OUT_PITCH + column);
      float4 low = from[0], high = from[1];
      float v[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
      finish8(tail, v, column, residual[i]);
      if (soft)
#pragma unroll
        for (int j = 0; j < 8; j++)
          v[j] = silu(v[j]);
      if (x < pixels)
        store8(p.y + (pixel + x) * S::N + column, v);
    }
    return;
  }
  /* With other activations or numbers of channels, finish one element at a time. */
#pragma unroll 1
  for (int i = lane; i < pixels * p.columns; i += 32) {
    int x = i / p.columns, column = i % p.columns;
    p.y[pixel * p.columns + i] =
        __float2half_rn(finish(tail, out[x * S::OUT_PITCH + column], column, pixel * p.columns + i));
  }
}

template <class S>
__global__ void __launch_bounds__(THREADS, S::BLOCKS) narrow_kernel(const __grid_constant__ struct gemm_args p) {
  extern __shared__ uint4 shared[];
  uint4 *weights = shared, *tile = weights + S::WEIGHT_CHUNKS;
  int lane_row = threadIdx.x / 32 * ROWS;
  float *out = reinterpret_cast<float *>(tile + 2 * S::TILE_CHUNKS) + threadIdx.x / 32 * SIDE * S::OUT_PITCH;
  tiling tiles = make_tiling(p);
  /* the weights are constant, so their copies need not wait for the preceding kernel in the stream */
  load_weights<S>(p, weights);
  wait_for_previous();
  load_tile<S>(p, tiles, tile, blockIdx.x);
  copies_commit();
  int buffer = 0;
  for (int index = blockIdx.x; index < tiles.count; index += gridDim.x, buffer ^= 1) {
    /* Start to load the next tile, and wait for the present one. */
    if (index + (int)gridDim.x < tiles.count)
      load_tile<S>(p, tiles, tile + (buffer ^ 1) * S::TILE_CHUNKS, index + gridDim.x);
    copies_commit();
    copies_wait<1>();
    __syncthreads();
    /* Convolve. */
    float sum[ROWS][S::N / 8][4] = {};
    multiply<S>(weights, tile + buffer * S::TILE_CHUNKS, sum);
    __syncthreads();
    /* Store. */
    int x = index % tiles.across * SIDE, y = index / tiles.across % tiles.down * SIDE + lane_row;
    int picture = index / (tiles.across * tiles.down), pixels = min(SIDE, p.out_w - x);
#pragma unroll
    for (int i = 0; i < ROWS; i++)
      if (y + i < p.out_h)
        write_row<S>(p, sum[i], out, ((size_t)picture * p.out_h + y + i) * p.out_w + x, pixels);
  }
}

template <class S> cudaError_t launch_shape(const struct launch_queue *queue, const struct gemm_args *args) {
  cudaError_t status =
      cudaFuncSetAttribute(narrow_kernel<S>, cudaFuncAttributeMaxDynamicSharedMemorySize, S::SHARED_BYTES);
  int resident = 0;
  if (status == cudaSuccess)
    status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, narrow_kernel<S>, THREADS, S::SHARED_BYTES);
  if (status != cudaSuccess)
    return status;
  size_t tiles = (size_t)args->n * blocks_for((size_t)args->out_w, SIDE) * blocks_for((size_t)args->out_h, SIDE);
  size_t blocks = (size_t)queue->sms * (resident > 0 ? resident : 1);
  return launch(queue, narrow_kernel<S>, dim3((unsigned)(tiles < blocks ? tiles : blocks)), dim3(THREADS),
                S::SHARED_BYTES, *args);
}

/* --- from 64 to 64 channels, and from 32 to 32 --- */

/* A thread block has some groups of warps, with a tile each, and one copy of the weights. Each group goes from tile to
 * tile by itself. The second half of the groups begins when the first half has multiplied its first tile. So one half
 * stores its results beside the other's products, where all would otherwise store at a time, and multiply at a time. A
 * warp has ROWS rows of 16 pixels:
 *
 *     GROUPS  ROWS  tile
 *       2      2    8 x 16   the next tile is loaded beside the products
 *       4      4    8 x 16   a warp reads least of shared memory for each product (see gemm.cu); there is no room for
 *                            the next tile before the group has multiplied this one
 *       2      1    4 x 16   for few tiles
 *
 * Pixels follow each other without gaps, since copies to places that are no multiple of 32 bytes move half as much
 * again. Their chunks are exchanged instead, as those of weights are, so that the same chunk of eight neighbours lies
 * in different banks at any place of the window. */
template <int C_, int ROWS_, int GROUPS_> struct group_shape {
  static constexpr int C = C_, ROWS = ROWS_, GROUPS = GROUPS_, CHUNKS = C / 8, STEPS = C / 16, TILES_N = C / 8;
  static constexpr int THREADS = 256, MEMBERS = THREADS / GROUPS, BUFFERS = GROUPS == 2 ? 2 : 1; /* of each group */
  static constexpr int DOWN = MEMBERS / 32 * ROWS, ACROSS = 16, WIDE = ACROSS + 2, PIXELS = (DOWN + 2) * WIDE;
  static constexpr int ROW_BYTES = C * 2, TILE_BYTES = PIXELS * ROW_BYTES, TAP_BYTES = C * ROW_BYTES;
  static constexpr int SHARED_BYTES = 9 * TAP_BYTES + GROUPS * BUFFERS * TILE_BYTES;
  static constexpr int BLOCKS = C == 64 ? 1 : 2; /* thread blocks that a multiprocessor must be able to hold */
  static constexpr int LOAD_ROWS = MEMBERS / CHUNKS, LOADS = (PIXELS + LOAD_ROWS - 1) / LOAD_ROWS;

  /* Returns the position in shared memory, in bytes, of a chunk of a pixel or of a row of weights. */
  static __device__ __forceinline__ int place(int row, int chunk) {
    return row * ROW_BYTES + (chunk ^ (CHUNKS == 8 ? row & 7 : row >> 1 & 3)) * 16;
  }
};

/* The pixels of a tile, from the first that belongs to a warp. */
template <class G> struct group_rows {
  int picture, y, x, h, w;
  __device__ __forceinline__ long at(int r) const {
    int line = y + r / G::ACROSS, column = x + r % G::ACROSS;
    return line < h && column < w ? ((long)picture * h + line) * w + column : -1;
  }
};

template <class G> __device__ __forceinline__ group_rows<G> find_tile(const struct gemm_args &p, int index) {
  int across = (p.out_w + G::ACROSS - 1) / G::ACROSS, down = (p.out_h + G::DOWN - 1) / G::DOWN;
  int line = index / across, picture = line / down;
  return {picture, (line - picture * down) * G::DOWN, (index - line * across) * G::ACROSS, p.out_h, p.out_w};
}

template <class G>
__device__ __forceinline__ void load_group(const struct gemm_args &p, const group_rows<G> &tile, char *to) {
  int member = threadIdx.x % G::MEMBERS, chunk = member % G::CHUNKS, row = member / G::CHUNKS, shift = p.upsample;
#pragma unroll 4
  for (int i = 0; i < G::LOADS; i++) {
    int pixel = row + i * G::LOAD_ROWS, y = tile.y - 1 + pixel / G::WIDE, x = tile.x - 1 + pixel % G::WIDE;
    bool there = (unsigned)y < (unsigned)p.out_h && (unsigned)x < (unsigned)p.out_w;
    size_t source = ((size_t)tile.picture * p.h + (y >> shift)) * p.w + (x >> shift);
    char *at = to + G::place(pixel, chunk);
    if (pixel < G::PIXELS && there)
      copy16(at, p.x + source * G::C + chunk * 8, true);
    else if (pixel < G::PIXELS)
      *reinterpret_cast<uint4 *>(at) = make_uint4(0, 0, 0, 0);
  }
}

/* What a warp multiplies in one step along K. */
template <class G> struct group_operands { uint32_t a[G::ROWS][4], b[G::TILES_N / 2][4]; };

/* Where a lane's rows of A begin at a tap, bytes from the tile's beginning. */
template <class G> struct group_aim {
  int at[G::ROWS];

  /* pixel: the lane's first pixel at the first tap, counted in the tile with its border; places: how many pixels the
   * tap is behind the first one */
  __device__ __forceinline__ group_aim(int pixel, int places) {
#pragma unroll
    for (int i = 0; i < G::ROWS; i++)
      at[i] = G::place(pixel + places + i * G::WIDE, threadIdx.x % 32 / 16);
  }
};

/* Loads the operands of one step. b: the lane's row of W for each step of the first tap; tap: where the tap's weights
 * begin. */
template <class G>
__device__ __forceinline__ void load_operands(group_operands<G> &to, const char *tile, const group_aim<G> &a,
                                              const char *const b[G::STEPS], int tap, int step) {
#pragma unroll
  for (int i = 0; i < G::ROWS; i++)
    load_matrices(to.a[i], tile + (a.at[i] ^ step * 32)); /* two chunks further, before they are exchanged */
#pragma unroll
  for (int j = 0; j < G::TILES_N / 2; j++)
    load_matrices(to.b[j], b[step] + tap + j * 16 * G::ROW_BYTES);
}

template <class G>
__device__ __forceinline__ void multiply_group(const char *tile, int pixel, const char *const b[G::STEPS],
                                               fragments<G::ROWS, G::TILES_N> &sums) {
  group_operands<G> held[2];
  group_aim<G> aim(pixel, 0);
  load_operands<G>(held[0], tile, aim, b, 0, 0);
#pragma unroll 1
  for (int dy = 0; dy < 3; dy++) {
    int next =
        dy < 2 ? dy + 1 : 0; /* behind the last tap the first operands are read again, and multiplied by nothing */
#pragma unroll
    for (int dx = 0; dx < 3; dx++)
#pragma unroll
      for (int step = 0; step < G::STEPS; step++) {
        constexpr int LAST = G::STEPS - 1;
        int turn = (dx * G::STEPS + step) % 2, tap = dy * 3 + dx;
        if (step == LAST) {
          aim = group_aim<G>(pixel, dx < 2 ? dy * G::WIDE + dx + 1 : next * G::WIDE);
          tap = dx < 2 ? tap + 1 : next * 3;
        }
        load_operands<G>(held[turn ^ 1], tile, aim, b, tap * G::TAP_BYTES, step < LAST ? step + 1 : 0);
#pragma unroll
        for (int i = 0; i < G::ROWS; i++)
#pragma unroll
          for (int j = 0; j < G::TILES_N; j++)
            multiply_add(sums.at[i][j], held[turn].a[i], &held[turn].b[j / 2][j % 2 * 2]);
      }
  }
}

/* A barrier of the threads of one group. */
template <class G> __device__ __forceinline__ void wait_for_group(int group) {
  asm volatile("bar.sync %0, %1;" ::"r"(group + 1), "n"(G::MEMBERS) : "memory");
}

/* The barrier at which the second half of the groups waits for the first half, which goes on. */
template <class G> __device__ __forceinline__ void wait_for_first_half() {
  asm volatile("bar.sync %0, %1;" ::"n"(G::GROUPS + 1), "n"(G::THREADS) : "memory");
}
template <class G> __device__ __forceinline__ void let_second_half_begin() {
  asm volatile("bar.arrive %0, %1;" ::"n"(G::GROUPS + 1), "n"(G::THREADS) : "memory");
}

template <class G>
__global__ void __launch_bounds__(G::THREADS, G::BLOCKS) group_kernel(const __grid_constant__ struct gemm_args p) {
  extern __shared__ uint4 shared[];
  int group = threadIdx.x / G::MEMBERS, warp = threadIdx.x % G::MEMBERS / 32, lane = threadIdx.x % 32;
  char *weights = reinterpret_cast<char *>(shared),
       *tile = weights + 9 * G::TAP_BYTES + group * G::BUFFERS * G::TILE_BYTES;
  int across = (p.out_w + G::ACROSS - 1) / G::ACROSS, down = (p.out_h + G::DOWN - 1) / G::DOWN;
  int count = across * down * p.n, apart = G::GROUPS * (int)gridDim.x;
  int index = (int)blockIdx.x + group * (int)gridDim.x, buffer = 0;
  for (int i = threadIdx.x; i < 9 * G::C * G::CHUNKS; i += G::THREADS) {
    int chunk = i % G::CHUNKS, row = i / G::CHUNKS, tap = row / G::C, n = row % G::C;
    copy16(weights + tap * G::TAP_BYTES + G::place(n, chunk), p.weight + ((size_t)n * 9 + tap) * G::C + chunk * 8,
           true);
  }
  wait_for_previous(); /* the weights are constant */
  if (index < count)
    load_group(p, find_tile<G>(p, index), tile);
  copies_commit();
  copies_wait<0>();
  __syncthreads();
  const char *b[G::STEPS];
#pragma unroll
  for (int step = 0; step < G::STEPS; step++)
    b[step] = weights + G::place(lane % 8 + lane / 16 * 8, step * 2 + lane / 8 % 2);
  int pixel = warp * G::ROWS * G::WIDE + lane % 16;
  bool ahead = group < G::GROUPS / 2;
  if (!ahead)
    wait_for_first_half<G>();
  for (; index < count; index += apart, buffer ^= G::BUFFERS - 1) {
    /* All of the group have this tile, and none reads the one before any more. */
    copies_wait<0>();
    wait_for_group<G>(group);
    group_rows<G> present = find_tile<G>(p, index);
    bool more = index + apart < count;
    char *next = tile + (buffer ^ (G::BUFFERS - 1)) * G::TILE_BYTES;
    if (G::BUFFERS == 2 && more)
      load_group(p, find_tile<G>(p, index + apart), next);
    copies_commit();
    present.y += warp * G::ROWS;
    addends<G::ROWS, G::TILES_N> add;
    if (G::ROWS < 4) /* else there are not enough registers */
      fetch_addends(p, present, 0, G::C, add);
    fragments<G::ROWS, G::TILES_N> sums = {};
    multiply_group<G>(tile + buffer * G::TILE_BYTES, pixel, b, sums);
    if (ahead)
      let_second_half_begin<G>();
    ahead = false;
    if (G::BUFFERS == 1 && more) {
      wait_for_group<G>(group);
      load_group(p, find_tile<G>(p, index + apart), next);
      copies_commit();
    }
    if (G::ROWS == 4)
      fetch_addends(p, present, 0, G::C, add);
    write_fragments(p, 0, G::C, sums, add);
  }
  if (ahead) /* there was no tile */
    let_second_half_begin<G>();
}

bool in_groups(const struct gemm_args *args) {
  return (args->c == 32 || args->c == 64) && args->columns == args->c && !args->gain.there && time_in_pairs(args) &&
         (args->act == ACT_NONE || args->act == ACT_RELU);
}

bool is_last(const struct gemm_args *args) {
  return args->c >= 32 && args->columns <= LAST_COLUMNS_MAX && !args->gain.there;
}

template <class G> cudaError_t launch_groups(const struct launch_queue *queue, const struct gemm_args *args) {
  cudaError_t status =
      cudaFuncSetAttribute(group_kernel<G>, cudaFuncAttributeMaxDynamicSharedMemorySize, G::SHARED_BYTES);
  int resident = 0;
  if (status == cudaSuccess)
    status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, group_kernel<G>, G::THREADS, G::SHARED_BYTES);
  if (status != cudaSuccess)
    return status;
  size_t tiles =
      (size_t)args->n * blocks_for((size_t)args->out_w, G::ACROSS) * blocks_for((size_t)args->out_h, G::DOWN);
  size_t blocks = (size_t)queue->sms * (resident > 0 ? resident : 1);
  return launch(queue, group_kernel<G>, dim3((unsigned)(tiles < blocks ? tiles : blocks)), dim3(G::THREADS),
                G::SHARED_BYTES, *args);
}

template <int C> cudaError_t launch_shape_of(const struct launch_queue *queue, const struct gemm_args *args) {
  return args->shape == NARROW_FOUR  ? launch_groups<group_shape<C, 4, 4>>(queue, args)
         : args->shape == NARROW_LOW ? launch_groups<group_shape<C, 1, 2>>(queue, args)
                                     : launch_groups<group_shape<C, 2, 2>>(queue, args);
}

template <int C> constexpr int count_group_bytes(enum narrow_shape shape) {
  return shape == NARROW_FOUR  ? group_shape<C, 4, 4>::SHARED_BYTES
         : shape == NARROW_LOW ? group_shape<C, 1, 2>::SHARED_BYTES
                               : group_shape<C, 2, 2>::SHARED_BYTES;
}

} // namespace

bool narrow_supported(const struct gemm_args *args) {
  int c = args->c, columns = args->columns;
  bool known = c == 8    ? columns == 16 || columns == 32 || columns == 64
               : c == 16 ? columns == 16
                         : (c == 32 || c == 64) && (columns == c || columns <= 16);
  return known && args->c2 == 0 && args->kernel == 3 && args->stride == 1 && args->pad == 1 && args->act != ACT_GEGLU;
}

bool narrow_has_shape(const struct gemm_args *args) {
  return narrow_supported(args) && (args->shape == NARROW_PAIR || in_groups(args));
}

int narrow_shared_bytes(const struct gemm_args *args) {
  if (in_groups(args))
    return args->c == 64 ? count_group_bytes<64>(args->shape) : count_group_bytes<32>(args->shape);
  if (is_last(args))
    return LAST_SHARED_BYTES;
  return count_bytes(args->c, args->columns <= 16 ? 16 : args->columns);
}

cudaError_t launch_narrow(const struct launch_queue *queue, const struct gemm_args *args) {
  if (in_groups(args))
    return args->c == 64 ? launch_shape_of<64>(queue, args) : launch_shape_of<32>(queue, args);
  if (is_last(args))
    return launch_narrow_last(queue, args);
  if (args->c == 16)
    return launch_shape<shape<16, 16>>(queue, args);
  if (args->c == 8 && args->columns == 16)
    return launch_shape<shape<8, 16>>(queue, args);
  if (args->c == 8)
    return args->columns == 64 ? launch_shape<shape<8, 64>>(queue, args) : launch_shape<shape<8, 32>>(queue, args);
  if (args->c == 64)
    return args->columns == 64 ? launch_shape<shape<64, 64>>(queue, args) : launch_shape<shape<64, 16>>(queue, args);
  return args->columns == 32 ? launch_shape<shape<32, 32>>(queue, args) : launch_shape<shape<32, 16>>(queue, args);
}
