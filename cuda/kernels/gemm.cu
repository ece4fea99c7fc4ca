/* Matrix products and convolutions on tensor cores: y = epilogue(A W^T), where A is the input itself or, for a
 * convolution, the matrix that im2col would make, gathered while it is loaded.
 *
 * A thread block calculates a tile of M rows (pixels) and N columns (output channels). It walks along K (taps x
 * channels) in blocks of 64: copies to shared memory run STAGES - 1 blocks ahead of the products.
 *
 *          K                   N
 *     +---------+         +---------+
 *   M | A block | x  (W^T)| block K |  ->  FP32 sums in registers, warps tiled over M x N, and over K by WARPS_K
 *     +---------+         +---------+
 *
 * Rows in shared memory have 128 bytes: eight 16-byte chunks, of which chunk i of row r is stored at i ^ (r % 8). One
 * ldmatrix reads chunk i of eight rows, and these lie in different banks.
 *
 * Limits: a tile does M N / (M + N) operations for each byte that it loads from L2 or memory: 64 for 128 x 128, 32 for
 * 64 x 64. Where there are too few tiles for the chip, the sum is split, and the parts are added at the end. */
#include "cuda/kernels/common.cuh"

namespace {

constexpr int BLOCK_K = 64, CHUNKS = BLOCK_K / 8;

template <int M_, int N_, int WARP_M_, int WARP_N_, int WARPS_K_, int STAGES_> struct tile_shape {
  static constexpr int M = M_, N = N_, WARP_M = WARP_M_, WARP_N = WARP_N_, WARPS_K = WARPS_K_, STAGES = STAGES_;
  static constexpr int WARPS_M = M / WARP_M, WARPS_N = N / WARP_N;
  static constexpr int THREADS = 32 * WARPS_M * WARPS_N * WARPS_K;
  static constexpr int STAGE_CHUNKS = (M + N) * CHUNKS;
  /* number of floats from one row of the sums to the next in shared memory; 8 or 24 modulo 32, so that stores to
   * several rows hit different banks */
  static constexpr int SUM_PITCH = N + 8;
  static constexpr int LOAD_BYTES = STAGES * STAGE_CHUNKS * 16, SUM_BYTES = M * SUM_PITCH * 4;
  static constexpr int SHARED_BYTES = LOAD_BYTES > SUM_BYTES ? LOAD_BYTES : SUM_BYTES;
  static constexpr int A_LOADS = M * CHUNKS / THREADS, B_LOADS = (N * CHUNKS + THREADS - 1) / THREADS;
  static_assert(SHARED_BYTES <= 99 * 1024, "the limit of compute capability 8.6, 8.9 and 12.0");
  static_assert(M * CHUNKS % THREADS == 0 && THREADS % CHUNKS == 0, "every thread copies whole rows' chunks of A");
  static_assert(WARP_M % 16 == 0 && WARP_N % 16 == 0, "fragments are 16 by 16");
};

/* Returns the position in shared memory, counted in chunks of 16 bytes, of a row's chunk; the order of chunks differs
 * from row to row, against bank conflicts. */
__device__ __forceinline__ int place(int row, int chunk) {
  return row * CHUNKS + (chunk ^ (row & 7));
}

/* Says from which rows of W the columns of a tile are computed. With GEGLU half of a tile's columns are values, and
 * half are their gates. */
struct column_map {
  /* first: first column of y in the tile; count: number of columns of y; half: number of the tile's columns that are no
   * gates (all of them without GEGLU); gate: number of rows of W from a value's row to its gate's; 0 without GEGLU */
  int first, count, half, gate;
};

template <class T> __device__ __forceinline__ column_map map_columns(const struct gemm_args &p) {
  bool geglu = p.act == ACT_GEGLU;
  int width = geglu ? T::N / 2 : T::N;
  return {(int)blockIdx.y * width, geglu ? p.columns / 2 : p.columns, width, geglu ? p.columns / 2 : 0};
}

/* The copies that one thread makes in each block along K: 16 bytes (one chunk) of A_LOADS rows of A and of B_LOADS rows
 * of W. */
template <class T> struct loader {
  const struct gemm_args &p;
  /* chunk: index, within its row, of the 16 bytes that the thread copies; row: first row of the tile that the thread
   * copies */
  int chunk, row;
  /* For each row of A that the thread copies: y, x: input row and column at which the convolution window begins; at:
   * number of pixels in all pictures before the row's own picture. */
  int y[T::A_LOADS], x[T::A_LOADS], at[T::A_LOADS];
  /* for each row of W that the thread copies: index in W of the thread's first value; -1: the row does not exist, so
   * zeros are written */
  int weight[T::B_LOADS];
  int depth, channels;
  /* Position of the thread's chunk in the next block along K. k: index along K; channel, dy, dx: the input channel, and
   * the row and column in the convolution window, for which that index stands. */
  int k, channel, dy, dx;

  __device__ __forceinline__ loader(const struct gemm_args &args, const column_map &map, int begin) : p(args) {
    chunk = threadIdx.x % CHUNKS;
    row = threadIdx.x / CHUNKS;
    channels = p.c + p.c2;
    depth = channels * p.kernel * p.kernel;
    k = (begin * CHUNKS + chunk) * 8;
    int tap = k / channels;
    channel = k - tap * channels;
    dy = tap / p.kernel;
    dx = tap - dy * p.kernel;
    int rows = p.n * p.out_h * p.out_w;
#pragma unroll
    for (int i = 0; i < T::A_LOADS; i++) {
      int m = (int)blockIdx.x * T::M + row + i * (T::THREADS / CHUNKS);
      int picture = m / (p.out_h * p.out_w), pixel = m % (p.out_h * p.out_w);
      y[i] = m < rows ? pixel / p.out_w * p.stride - p.pad : -(1 << 20);
      x[i] = pixel % p.out_w * p.stride - p.pad;
      at[i] = picture * p.h * p.w;
    }
#pragma unroll
    for (int i = 0; i < T::B_LOADS; i++) {
      int r = row + i * (T::THREADS / CHUNKS), column = map.first + r % map.half;
      bool there = r < T::N && column < map.count;
      weight[i] = there ? (column + (r >= map.half ? map.gate : 0)) * depth + chunk * 8 : -1;
    }
  }

  /* Starts the copy of block number `block` of W (64 values along K) to a stage, a buffer in shared memory. */
  __device__ __forceinline__ void load_weights(uint4 *stage, int block) const {
#pragma unroll
    for (int i = 0; i < T::B_LOADS; i++) {
      int r = row + i * (T::THREADS / CHUNKS);
      bool there = weight[i] >= 0 && block * BLOCK_K + chunk * 8 < depth;
      if (T::N * CHUNKS % T::THREADS == 0 || r < T::N)
        copy16(stage + T::M * CHUNKS + place(r, chunk), p.weight + (there ? weight[i] + block * BLOCK_K : 0), there);
    }
  }

  /* Starts the copy of the next block of A (64 values along K) to a stage, a buffer in shared memory. */
  __device__ __forceinline__ void load_input(uint4 *stage) {
    bool second = channel >= p.c;
    const __half *source = second ? p.x2 + (channel - p.c) : p.x + channel;
    int pitch = second ? p.c2 : p.c, shift = p.upsample;
#pragma unroll
    for (int i = 0; i < T::A_LOADS; i++) {
      int r = row + i * (T::THREADS / CHUNKS), yy = y[i] + dy, xx = x[i] + dx;
      bool there = k < depth && (unsigned)yy < (unsigned)(p.h << shift) && (unsigned)xx < (unsigned)(p.w << shift);
      size_t pixel = (size_t)(at[i] + (yy >> shift) * p.w + (xx >> shift));
      copy16(stage + place(r, chunk), there ? source + pixel * pitch : p.x, there);
    }
    k += BLOCK_K;
    for (channel += BLOCK_K; channel >= channels; channel -= channels)
      if (++dx == p.kernel) {
        dx = 0;
        dy++;
      }
  }
};

/* The sums of a warp's part of the tile. */
template <class T> struct accumulator {
  static constexpr int TILES_M = T::WARP_M / 16, TILES_N = T::WARP_N / 8;
  float sum[TILES_M][TILES_N][4];
  /* m, n: first row and first column of the warp's part of the tile; k: index of the warp among those that divide K
   * between them */
  int m, n, k;

  __device__ __forceinline__ accumulator() {
    int warp = threadIdx.x / 32, place_mn = warp % (T::WARPS_M * T::WARPS_N);
    k = warp / (T::WARPS_M * T::WARPS_N);
    m = place_mn % T::WARPS_M * T::WARP_M;
    n = place_mn / T::WARPS_M * T::WARP_N;
#pragma unroll
    for (int i = 0; i < TILES_M; i++)
#pragma unroll
      for (int j = 0; j < TILES_N; j++)
#pragma unroll
        for (int e = 0; e < 4; e++)
          sum[i][j][e] = 0.0f;
  }

  /* Adds the products of the blocks of A and W in one stage (buffer in shared memory) to the warp's sums. */
  __device__ __forceinline__ void multiply(const uint4 *stage) {
    int lane = threadIdx.x % 32;
    const uint4 *weights = stage + T::M * CHUNKS;
#pragma unroll
    for (int step = 0; step < BLOCK_K / 16 / T::WARPS_K; step++) {
      int chunk = (step * T::WARPS_K + k) * 2;
      uint32_t a[TILES_M][4], b[TILES_N / 2][4];
#pragma unroll
      for (int i = 0; i < TILES_M; i++)
        load_matrices(a[i], stage + place(m + i * 16 + lane % 16, chunk + lane / 16));
#pragma unroll
      for (int j = 0; j < TILES_N / 2; j++)
        load_matrices(b[j], weights + place(n + j * 16 + lane % 8 + lane / 16 * 8, chunk + lane / 8 % 2));
#pragma unroll
      for (int i = 0; i < TILES_M; i++)
#pragma unroll
        for (int j = 0; j < TILES_N; j++)
          multiply_add(sum[i][j], a[i], &b[j / 2][j % 2 * 2]);
    }
  }

  /* Stores the sums of the whole tile in shared memory. Warps that divide K between them add their sums one after the
   * other. */
  __device__ __forceinline__ void gather(float *tile) const {
    int lane = threadIdx.x % 32;
    for (int turn = T::WARPS_K - 1; turn >= 0; turn--) {
      __syncthreads();
      if (turn == k)
#pragma unroll
        for (int i = 0; i < TILES_M; i++)
#pragma unroll
          for (int j = 0; j < TILES_N; j++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
              float2 *to = reinterpret_cast<float2 *>(tile + (m + i * 16 + lane / 4 + half * 8) * T::SUM_PITCH + n +
                                                      j * 8 + lane % 4 * 2);
              float2 two = make_float2(sum[i][j][2 * half], sum[i][j][2 * half + 1]);
              if (turn < T::WARPS_K - 1)
                two.x += to->x, two.y += to->y;
              *to = two;
            }
    }
    __syncthreads();
  }
};

/* Adds the tiles of all splits: thread blocks that each have a part of the sum along K. The one that arrives last adds
 * them, in the order of K. Returns true in that thread block, whose `tile` then holds the complete sums. */
template <class T> __device__ bool add_splits(const struct gemm_args &p, float *tile) {
  __shared__ bool last;
  int index = blockIdx.y * gridDim.x + blockIdx.x;
  /* Store this thread block's tile, and count it as arrived. */
  float4 *own_partial =
      reinterpret_cast<float4 *>(p.partial) + ((size_t)index * p.splits + blockIdx.z) * (T::M * T::N / 4);
#pragma unroll 2
  for (int i = threadIdx.x; i < T::M * T::N / 4; i += T::THREADS)
    own_partial[i] = *reinterpret_cast<const float4 *>(tile + i * 4 / T::N * T::SUM_PITCH + i * 4 % T::N);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(&p.arrived[index], 1u) == (unsigned)p.splits - 1;
    if (last)
      p.arrived[index] = 0;
  }
  __syncthreads();
  if (!last)
    return false;
  __threadfence();
  /* The thread block that is the last to finish its part of the tile's sum adds up the parts of all splits. */
  const float4 *all_partials =
      reinterpret_cast<const float4 *>(p.partial) + (size_t)index * p.splits * (T::M * T::N / 4);
#pragma unroll 1
  for (int i = threadIdx.x; i < T::M * T::N / 4; i += T::THREADS) {
    float4 total = make_float4(0, 0, 0, 0);
#pragma unroll 4
    for (int s = 0; s < p.splits; s++) {
      float4 part = __ldcg(all_partials + (size_t)s * (T::M * T::N / 4) + i);
      total.x += part.x, total.y += part.y, total.z += part.z, total.w += part.w;
    }
    *reinterpret_cast<float4 *>(tile + i * 4 / T::N * T::SUM_PITCH + i * 4 % T::N) = total;
  }
  __syncthreads();
  return true;
}

/* Applies GEGLU: the left half of the tile's columns holds values, the right half their gates. The results replace the
 * values. */
template <class T>
__device__ __forceinline__ void apply_gates(const struct gemm_args &p, const column_map &map, float *tile) {
#pragma unroll 1
  for (int i = threadIdx.x; i < T::M * map.half; i += T::THREADS) {
    int offset = i % map.half, column = map.first + offset;
    float *value = tile + i / map.half * T::SUM_PITCH + offset, gate = value[map.half], bias = 0.0f;
    if (p.bias && column < map.count) {
      bias = __ldg(p.bias + column);
      gate += __ldg(p.bias + map.count + column);
    }
    *value = (*value + bias) * gelu(gate);
  }
  __syncthreads();
}

/* For OP_INJECT (adds a control network's result): multiplies `count` values of a row, with their bias added, by the
 * gain of the row's picture. */
__device__ __forceinline__ void apply_gain(const struct gemm_args &p, float *v, int count, int row, int column) {
  float gain = gain_of(p.gain, row / (p.out_h * p.out_w));
  for (int i = 0; i < count; i++)
    v[i] = gain * (p.bias ? v[i] + __ldg(p.bias + column + i) : v[i]);
}

/* Applies the epilogue (bias; time row, a vector from the time embedding; residual; activation) to the tile and stores
 * it in y. */
template <class T>
__device__ __forceinline__ void write_tile(const struct gemm_args &p, const column_map &map, const float *tile) {
  int rows = p.n * p.out_h * p.out_w, first = (int)blockIdx.x * T::M;
  bool geglu = p.act == ACT_GEGLU;
  struct tail tail = {geglu || p.gain.there ? NULL : p.bias, p.time, p.residual, geglu ? ACT_NONE : p.act,
                      p.residual_last};
  /* Handle eight columns at a time, where the activation allows it. */
  if (map.count % 8 == 0 && is_simple(tail.act)) {
    int across = map.half / 8;
#pragma unroll 2
    for (int i = threadIdx.x; i < T::M * across; i += T::THREADS) {
      int r = i / across, offset = i % across * 8, column = map.first + offset;
      if (first + r >= rows || column >= map.count)
        continue;
      size_t at = (size_t)(first + r) * map.count + column;
      uint4 residual = fetch_residual(p.residual, at, true);
      const float4 *from = reinterpret_cast<const float4 *>(tile + r * T::SUM_PITCH + offset);
      float4 low = from[0], high = from[1];
      float v[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
      if (p.gain.there)
        apply_gain(p, v, 8, first + r, column);
      finish8(tail, v, column, residual);
      store8(p.y + at, v);
    }
    return;
  }
  /* With another activation, or a number of columns that is no multiple of 8, handle one element at a time. */
#pragma unroll 1
  for (int i = threadIdx.x; i < T::M * map.half; i += T::THREADS) {
    int r = i / map.half, column = map.first + i % map.half;
    size_t at = (size_t)(first + r) * map.count + column;
    if (first + r >= rows || column >= map.count)
      continue;
    float v = tile[r * T::SUM_PITCH + i % map.half];
    if (p.gain.there)
      apply_gain(p, &v, 1, first + r, column);
    p.y[at] = __float2half_rn(finish(tail, v, column, at));
  }
}

template <class T>
__global__ void __launch_bounds__(T::THREADS) gemm_kernel(const __grid_constant__ struct gemm_args p) {
  extern __shared__ uint4 shared[];
  column_map map = map_columns<T>(p);
  int blocks = (p.kernel * p.kernel * (p.c + p.c2) + BLOCK_K - 1) / BLOCK_K;
  int begin = (int)((long)blocks * blockIdx.z / p.splits), end = (int)((long)blocks * (blockIdx.z + 1) / p.splits);
  /* Start the copies of the first blocks along K. */
  loader<T> from(p, map, begin);
  accumulator<T> sums;
#pragma unroll 1
  for (int s = 0; s < T::STAGES - 1 && begin + s < end; s++)
    from.load_weights(shared + s * T::STAGE_CHUNKS, begin + s);
  wait_for_previous(); /* W is constant; only the copies of A must wait for the preceding kernel in the stream */
#pragma unroll 1
  for (int s = 0; s < T::STAGES - 1; s++) {
    if (begin + s < end)
      from.load_input(shared + s * T::STAGE_CHUNKS);
    copies_commit();
  }
  /* Walk along K: start to copy a later block, and multiply the present one. */
  int stage = 0, next = T::STAGES - 1;
#pragma unroll 1
  for (int block = begin; block < end; block++) {
    copies_wait<T::STAGES - 2>();
    __syncthreads();
    if (block + T::STAGES - 1 < end) {
      from.load_weights(shared + next * T::STAGE_CHUNKS, block + T::STAGES - 1);
      from.load_input(shared + next * T::STAGE_CHUNKS);
    }
    copies_commit();
    sums.multiply(shared + stage * T::STAGE_CHUNKS);
    stage = stage + 1 == T::STAGES ? 0 : stage + 1;
    next = next + 1 == T::STAGES ? 0 : next + 1;
  }
  copies_wait<0>();
  /* Add up the sums of warps and of splits, apply the epilogue, store. */
  float *tile = reinterpret_cast<float *>(shared);
  sums.gather(tile);
  if (p.splits > 1 && !add_splits<T>(p, tile))
    return;
  if (p.act == ACT_GEGLU)
    apply_gates<T>(p, map, tile);
  write_tile<T>(p, map, tile);
}

template <class T> cudaError_t launch_tile(const struct launch_queue *queue, const struct gemm_args *args) {
  cudaError_t status =
      cudaFuncSetAttribute(gemm_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, T::SHARED_BYTES);
  if (status != cudaSuccess)
    return status;
  size_t rows = (size_t)args->n * args->out_h * args->out_w;
  dim3 grid(blocks_for(rows, T::M), blocks_for((size_t)args->columns, T::N), (unsigned)args->splits);
  return launch(queue, gemm_kernel<T>, grid, dim3(T::THREADS), T::SHARED_BYTES, *args);
}

} // namespace

const struct gemm_tile_size gemm_tile_sizes[TILES] = {{128, 128}, {64, 160}, {64, 64}, {64, 16}};

int gemm_tiles(const struct gemm_args *args) {
  const struct gemm_tile_size *tile = &gemm_tile_sizes[args->tile];
  size_t rows = (size_t)args->n * args->out_h * args->out_w;
  return (int)(blocks_for(rows, tile->m) * blocks_for((size_t)args->columns, tile->n));
}

size_t gemm_partial_bytes(const struct gemm_args *args) {
  const struct gemm_tile_size *tile = &gemm_tile_sizes[args->tile];
  return (size_t)gemm_tiles(args) * args->splits * tile->m * tile->n * sizeof(float);
}

cudaError_t launch_gemm(const struct launch_queue *queue, const struct gemm_args *args) {
  switch (args->tile) {
  case TILE_128x128:
    return launch_tile<tile_shape<128, 128, 64, 32, 1, 3>>(queue, args);
  case TILE_64x160:
    return launch_tile<tile_shape<64, 160, 32, 80, 2, 3>>(queue, args);
  case TILE_64x64:
    return launch_tile<tile_shape<64, 64, 32, 32, 2, 4>>(queue, args);
  default:
    return launch_tile<tile_shape<64, 16, 16, 16, 2, 4>>(queue, args);
  }
}
