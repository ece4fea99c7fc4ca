/* Matrix products and convolutions on tensor cores: y = epilogue(A W^T), where A is the input itself or, for a
 * convolution, the matrix that im2col would make, gathered while it is loaded.
 *
 * A thread block calculates a tile of M rows (pixels) and N columns (output channels). It walks along K (taps x
 * channels) in blocks of 64 or 32: copies to shared memory run STAGES - 1 blocks ahead of the products.
 *
 *          K                   N
 *     +---------+         +---------+
 *   M | A block | x  (W^T)| block K |  ->  FP32 sums in registers, warps tiled over M x N, and over K by WARPS_K
 *     +---------+         +---------+
 *
 * Rows in shared memory have eight 16-byte chunks, of which chunk i of row r is stored at i ^ (r % 8), or four, stored
 * at i ^ (r / 2 % 4). One ldmatrix reads chunk i of eight rows, and these lie in different banks.
 *
 * A convolution behind a doubling of the picture can be done as four 2x2 convolutions of the picture before it, one for
 * each of the 2x2 pixels that a pixel becomes (gemm_args.quarters): 4/9 of the arithmetic. A tile belongs to one of the
 * four, and its rows are stored two pixels apart.
 *
 * Some tiles sum in FP16 over a span of K, and add the span's sums to the FP32 sums (gemm_sums.cuh). GeForce cards make
 * products with FP16 sums at twice the rate of products with FP32 sums.
 *
 * Limits. Memory: a tile does M N / (M + N) operations for each byte that it loads from L2 or memory: 64 for 128 x
 * 128, 71 for 128 x 160, 32 for 64 x 64. Shared memory: a warp reads 32 (m + n) bytes for 16 m n products, and 128
 * bytes come each clock: for 128 x 160 in eight warps of 32 x 80 that is 224 clocks for a depth of 16, and 72 to
 * write the blocks, where the tensor cores of an H200 need 258 with these instructions. It takes about 550 there
 * (MEASURED.md, "The generic way"). Where there are too few tiles for the chip, the sum is split, and the parts are
 * added at the end. */
#include "cuda/kernels/common.cuh"
#include "cuda/kernels/gemm_sums.cuh"

namespace {

template <int M_, int N_, int WARP_M_, int WARP_N_, int WARPS_K_, int BLOCK_K_, int STAGES_, int SPAN_ = 0>
struct tile_shape {
  static constexpr int M = M_, N = N_, WARP_M = WARP_M_, WARP_N = WARP_N_, WARPS_K = WARPS_K_, BLOCK_K = BLOCK_K_;
  static constexpr int STAGES = STAGES_;
  static constexpr int SPAN = SPAN_; /* number of products along K that are summed in FP16; 0: all sums are FP32 */
  static constexpr int WARPS_M = M / WARP_M, WARPS_N = N / WARP_N;
  static constexpr int THREADS = 32 * WARPS_M * WARPS_N * WARPS_K;
  static constexpr int CHUNKS = BLOCK_K / 8;           /* 16-byte chunks of a row of a block */
  static constexpr int STEPS = BLOCK_K / 16 / WARPS_K; /* products along K that a warp does of each block */
  static constexpr int STAGE_CHUNKS = (M + N) * CHUNKS;
  /* number of floats from one row of the sums to the next in shared memory; 8 or 24 modulo 32, so that stores to
   * several rows hit different banks */
  static constexpr int SUM_PITCH = N + 8;
  static constexpr int LOAD_BYTES = STAGES * STAGE_CHUNKS * 16, SUM_BYTES = M * SUM_PITCH * 4;
  static constexpr int SHARED_BYTES = LOAD_BYTES > SUM_BYTES ? LOAD_BYTES : SUM_BYTES;
  static constexpr int LOAD_ROWS = THREADS / CHUNKS; /* rows that all threads together copy at a time */
  static constexpr int A_LOADS = M / LOAD_ROWS, B_LOADS = (N + LOAD_ROWS - 1) / LOAD_ROWS;
  /* number of groups of four sums that a thread adds the splits of at a time: one multiprocessor reads the parts of
   * all, and what it can read in a time grows with the number of reads under way */
  static constexpr int PARTS = M * N / 4 / THREADS, ADDED = PARTS % 4 == 0 ? 4 : PARTS % 2 == 0 ? 2 : 1;
  static_assert(M * N / 4 % THREADS == 0, "all threads add equally many sums");
  static_assert(SHARED_BYTES + FLAG_BYTES <= 99 * 1024, "the limit of compute capability 8.6, 8.9 and 12.0");
  static_assert(M % LOAD_ROWS == 0 && THREADS % CHUNKS == 0, "every thread copies whole rows' chunks of A");
  static_assert(LOAD_ROWS % 8 == 0, "all rows that a thread copies have one swizzle");
  static_assert(WARP_M % 16 == 0 && WARP_N % 16 == 0, "fragments are 16 by 16");
  static_assert(CHUNKS == 8 || CHUNKS == 4, "the swizzle knows rows of 128 and of 64 bytes");
  static_assert(STEPS % 2 == 0, "the first step of each block has the first buffer, and is not the last");
  static_assert(SPAN == 0 || SPAN == 16, "a span is a step");

  /* Returns by what the chunks of a row are exchanged in shared memory. */
  static __device__ __forceinline__ int swizzle(int row) {
    return CHUNKS == 8 ? row & 7 : row >> 1 & 3;
  }
  /* Returns the position in shared memory, counted in chunks of 16 bytes, of a row's chunk. */
  static __device__ __forceinline__ int place(int row, int chunk) {
    return row * CHUNKS + (chunk ^ swizzle(row));
  }
};

/* The rows of W that belong to the columns of a tile. With GEGLU half of a tile's columns are values, and half are
 * their gates. */
struct column_map {
  /* first: first column of y in the tile; count: number of columns of y; half: number of the tile's columns that are
   * values (without GEGLU all); gate: with GEGLU, number of rows of W from a value's row to its gate's row, else 0 */
  int first, count, half, gate;
};

template <class T> __device__ __forceinline__ column_map map_columns(const struct gemm_args &p) {
  bool geglu = p.act == ACT_GEGLU;
  int width = geglu ? T::N / 2 : T::N;
  return {(int)blockIdx.y * width, geglu ? p.columns / 2 : p.columns, width, geglu ? p.columns / 2 : 0};
}

/* Which rows of y the tile has. Of a convolution in quarters a tile's rows belong to one of the four, and are counted
 * as pixels of the input. */
struct row_map {
  /* first: the tile's first row; count: number of rows, of each quarter; quarter: 0 to 3, which of the 2x2 output
   * pixels of an input pixel is meant */
  int first, count, quarter;
};

template <class T> __device__ __forceinline__ row_map map_rows(const struct gemm_args &p) {
  if (!p.quarters)
    return {(int)blockIdx.x * T::M, p.n * p.out_h * p.out_w, 0};
  int tiles = (int)gridDim.x / 4, quarter = (int)blockIdx.x / tiles;
  return {((int)blockIdx.x - quarter * tiles) * T::M, p.n * p.h * p.w, quarter};
}

/* Returns the row of y, an output pixel, that row number `row` of the product makes. */
__device__ __forceinline__ size_t output_row(const struct gemm_args &p, const row_map &rows, int row) {
  if (!p.quarters)
    return (size_t)row;
  return 2 * (size_t)row + 2 * (size_t)p.w * (row / p.w + rows.quarter / 2) + rows.quarter % 2;
}

/* The copies that one thread makes in each block along K: 16 bytes (one chunk) of A_LOADS rows of A and of B_LOADS
 * rows of W. All that can be known before the loop is calculated there: what is left for each copy is an address and
 * one bit, since instructions that come between a warp's products keep the tensor cores waiting. */
template <class T> struct loader {
  const struct gemm_args &p;
  /* chunk: index, within its row, of the 16 bytes that the thread copies; row: first row of the tile that the thread
   * copies; side: height and width of the convolution window */
  int chunk, row, side;
  /* For each row of A that the thread copies: pixel: index of the input pixel at which the convolution window begins
   * (outside of the picture perhaps); seen: bit i is set if place i of the window lies within the picture; bits 16 and
   * 17: lowest bit of the window's first row and column, which an upsampling needs. */
  int pixel[T::A_LOADS], seen[T::A_LOADS];
  int depth, channels;
  /* weight: the thread's chunk of the next block in the first of its rows of W; apart: for each of its rows, number of
   * elements from there; columns: bit i is set if row i of these exists */
  const __half *weight;
  int apart[T::B_LOADS], columns;
  int weight_k; /* index along K of the thread's chunk in the next block of W */
  /* Position of the thread's chunk in the next block of A. k: index along K; channel, dy, dx: the input channel, and
   * the row and column in the convolution window, for which that index stands. */
  int k, channel, dy, dx;

  __device__ __forceinline__ loader(const struct gemm_args &args, const column_map &map, const row_map &rows, int begin)
      : p(args) {
    chunk = threadIdx.x % T::CHUNKS;
    row = threadIdx.x / T::CHUNKS;
    side = p.quarters ? 2 : p.kernel;
    channels = p.c + p.c2;
    depth = channels * side * side;
    k = weight_k = (begin * T::CHUNKS + chunk) * 8;
    int tap = k / channels;
    channel = k - tap * channels;
    dy = tap / side;
    dx = tap - dy * side;
    int pitch = p.quarters ? 4 * depth : depth;
    weight = p.weight + (size_t)(map.first + row) * pitch + rows.quarter * depth + k;
    columns = 0;
#pragma unroll
    for (int i = 0; i < T::B_LOADS; i++) {
      int r = row + i * T::LOAD_ROWS;
      bool gates = map.gate && r >= map.half;
      apart[i] = (i * T::LOAD_ROWS + (gates ? map.gate - map.half : 0)) * pitch;
      columns |= (map.first + r - (gates ? map.half : 0) < map.count) << i;
    }
#pragma unroll
    for (int i = 0; i < T::A_LOADS; i++)
      find_window(rows, i);
  }

  __device__ __forceinline__ void find_window(const row_map &rows, int i) {
    int m = rows.first + row + i * T::LOAD_ROWS;
    bool there = m < rows.count;
    pixel[i] = m;
    seen[i] = there;
    if (side == 1 && p.stride == 1 && p.pad == 0 && !p.upsample)
      return; /* rows are pixels */
    int down = p.quarters ? p.h : p.out_h, across = p.quarters ? p.w : p.out_w, shift = p.upsample && !p.quarters;
    int picture = m / (down * across), inner = m - picture * (down * across), line = inner / across;
    int y = line * p.stride - p.pad + rows.quarter / 2;
    int x = (inner - line * across) * p.stride - p.pad + rows.quarter % 2;
    pixel[i] = (picture * p.h + (y >> shift)) * p.w + (x >> shift);
    seen[i] = (y & 1) << 16 | (x & 1) << 17;
    for (int tap_y = 0; tap_y < side && there; tap_y++)
      for (int tap_x = 0; tap_x < side; tap_x++)
        seen[i] |=
            ((unsigned)(y + tap_y) < (unsigned)(p.h << shift) && (unsigned)(x + tap_x) < (unsigned)(p.w << shift))
            << (tap_y * side + tap_x);
  }

  /* Starts the copy of the next block of W (BLOCK_K values along K) to a stage, a buffer in shared memory. there:
   * false: zeros are written. */
  __device__ __forceinline__ void load_weights(uint4 *stage, bool there) {
    uint4 *to = stage + T::M * T::CHUNKS + T::place(row, chunk);
    int within = there && weight_k < depth ? columns : 0;
#pragma unroll
    for (int i = 0; i < T::B_LOADS; i++)
      if (T::N % T::LOAD_ROWS == 0 || row + i * T::LOAD_ROWS < T::N)
        copy16(to + i * T::LOAD_ROWS * T::CHUNKS, weight + apart[i], within & 1 << i);
    weight += T::BLOCK_K;
    weight_k += T::BLOCK_K;
  }

  /* Starts the copy of the next block of A (BLOCK_K values along K) to a stage, a buffer in shared memory. there:
   * false: zeros are written. */
  __device__ __forceinline__ void load_input(uint4 *stage, bool there) {
    bool second = channel >= p.c;
    const __half *source = second ? p.x2 + (channel - p.c) : p.x + channel;
    int pitch = second ? p.c2 : p.c, step = dy * p.w + dx, tap = there && k < depth ? 1 << (dy * side + dx) : 0;
    uint4 *to = stage + T::place(row, chunk);
    if (p.upsample && !p.quarters)
#pragma unroll
      for (int i = 0; i < T::A_LOADS; i++) {
        step = (((seen[i] >> 16 & 1) + dy) >> 1) * p.w + (((seen[i] >> 17) + dx) >> 1);
        copy16(to + i * T::LOAD_ROWS * T::CHUNKS, source + (long)(pixel[i] + step) * pitch, seen[i] & tap);
      }
    else
#pragma unroll
      for (int i = 0; i < T::A_LOADS; i++)
        copy16(to + i * T::LOAD_ROWS * T::CHUNKS, source + (long)(pixel[i] + step) * pitch, seen[i] & tap);
    advance();
  }

  /* Moves the position in A on by one block. */
  __device__ __forceinline__ void advance() {
    k += T::BLOCK_K;
    for (channel += T::BLOCK_K; channel >= channels; channel -= channels)
      if (++dx == side) {
        dx = 0;
        dy++;
      }
  }
};

/* Adds the tiles of all splits: thread blocks that each have a part of the sum along K. The one that arrives last adds
 * them, in the order of K. last: in shared memory. Returns true in that thread block, whose `tile` then holds the
 * complete sums. */
template <class T> __device__ bool add_splits(const struct gemm_args &p, float *tile, bool *last) {
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
    *last = atomicAdd(&p.arrived[index], 1u) == (unsigned)p.splits - 1;
    if (*last)
      p.arrived[index] = 0;
  }
  __syncthreads();
  if (!*last)
    return false;
  __threadfence();
  /* The thread block that is the last to finish its part of the tile's sum adds up the parts of all splits. */
  const float4 *all_partials =
      reinterpret_cast<const float4 *>(p.partial) + (size_t)index * p.splits * (T::M * T::N / 4);
#pragma unroll 1
  for (int first = threadIdx.x; first < T::M * T::N / 4; first += T::THREADS * T::ADDED) {
    float4 total[T::ADDED] = {};
#pragma unroll 4
    for (int s = 0; s < p.splits; s++)
#pragma unroll
      for (int i = 0; i < T::ADDED; i++) {
        float4 part = __ldcg(all_partials + (size_t)s * (T::M * T::N / 4) + first + i * T::THREADS);
        total[i].x += part.x, total[i].y += part.y, total[i].z += part.z, total[i].w += part.w;
      }
#pragma unroll
    for (int i = 0; i < T::ADDED; i++) {
      int at = (first + i * T::THREADS) * 4;
      *reinterpret_cast<float4 *>(tile + at / T::N * T::SUM_PITCH + at % T::N) = total[i];
    }
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

/* Applies GEGLU to eight values of a row: `from` has the values, and their gates half a tile further right. */
template <class T>
__device__ __forceinline__ void gate8(const struct gemm_args &p, const column_map &map, const float *from, int column,
                                      float v[8]) {
  const float4 *gates = reinterpret_cast<const float4 *>(from + T::N / 2);
  float4 low = gates[0], high = gates[1];
  float gate[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
  for (int i = 0; i < 8; i++) {
    if (p.bias) {
      v[i] += __ldg(p.bias + column + i);
      gate[i] += __ldg(p.bias + map.count + column + i);
    }
    v[i] *= gelu(gate[i]);
  }
}

/* Applies the epilogue (bias; time row, a vector from the time embedding; residual; activation) to the tile and stores
 * it in y, eight columns at a time. GATED: the activation is GEGLU; else it is none or ReLU. */
template <class T, bool GATED>
__device__ __forceinline__ void write_vectors(const struct gemm_args &p, const column_map &map, const row_map &rows,
                                              const struct tail &tail, const float *tile) {
  constexpr int ACROSS = (GATED ? T::N / 2 : T::N) / 8;
#pragma unroll 2
  for (int i = threadIdx.x; i < T::M * ACROSS; i += T::THREADS) {
    int r = i / ACROSS, offset = i % ACROSS * 8, column = map.first + offset;
    if (rows.first + r >= rows.count || column >= map.count)
      continue;
    size_t at = output_row(p, rows, rows.first + r) * map.count + column;
    uint4 residual = fetch_residual(p.residual, at, true);
    const float *from = tile + r * T::SUM_PITCH + offset;
    float4 low = reinterpret_cast<const float4 *>(from)[0], high = reinterpret_cast<const float4 *>(from)[1];
    float v[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
    if (GATED)
      gate8<T>(p, map, from, column, v);
    else if (p.gain.there)
      apply_gain(p, v, 8, rows.first + r, column);
    finish8(tail, v, column, residual);
    store8(p.y + at, v);
  }
}

/* Applies the epilogue to the tile and stores it in y. */
template <class T>
__device__ __forceinline__ void write_tile(const struct gemm_args &p, const column_map &map, const row_map &rows,
                                           float *tile) {
  bool geglu = p.act == ACT_GEGLU;
  struct tail tail = {geglu || p.gain.there ? NULL : p.bias, p.time, p.residual, geglu ? ACT_NONE : p.act,
                      p.residual_last};
  if (map.count % 8 == 0 && geglu) {
    write_vectors<T, true>(p, map, rows, tail, tile);
    return;
  }
  if (map.count % 8 == 0 && is_simple(tail.act)) {
    write_vectors<T, false>(p, map, rows, tail, tile);
    return;
  }
  if (geglu)
    apply_gates<T>(p, map, tile);
    /* With another activation, or a number of columns that is no multiple of 8, handle one element at a time. */
#pragma unroll 1
  for (int i = threadIdx.x; i < T::M * map.half; i += T::THREADS) {
    int r = i / map.half, column = map.first + i % map.half;
    if (rows.first + r >= rows.count || column >= map.count)
      continue;
    size_t at = output_row(p, rows, rows.first + r) * map.count + column;
    float v = tile[r * T::SUM_PITCH + i % map.half];
    if (p.gain.there)
      apply_gain(p, &v, 1, rows.first + r, column);
    p.y[at] = __float2half_rn(finish(tail, v, column, at));
  }
}

/* Multiplies the blocks along K from `begin` to `end`, the first of which are on their way. While a warp multiplies one
 * step, the next one's operands are on their way from shared memory. SPAN: T::SPAN, or 0 for FP32 sums alone. */
template <class T, int SPAN>
__device__ __forceinline__ void multiply_blocks(loader<T> &from, accumulator<T> &sums, uint4 *shared, int begin,
                                                int end) {
  operands<T> held[2];
  int stage = 0, next = T::STAGES - 1;
  copies_wait<T::STAGES - 2>();
  __syncthreads();
  sums.load(held[0], shared, 0);
#pragma unroll 1
  for (int block = begin; block < end; block++) {
    /* The stage for a later block is the one that the last block was in: all warps have read it, as they have been at
     * a barrier since. */
    uint4 *later = shared + next * T::STAGE_CHUNKS;
    next = next + 1 == T::STAGES ? 0 : next + 1;
    const uint4 *present = shared + stage * T::STAGE_CHUNKS;
    stage = stage + 1 == T::STAGES ? 0 : stage + 1;
#pragma unroll
    for (int step = 0; step < T::STEPS; step++) {
      bool last = step + 1 == T::STEPS;
      if (last) {
        copies_wait<T::STAGES - 2>();
        __syncthreads();
      }
      /* behind the last block this reads what is multiplied by nothing */
      sums.load(held[(step + 1) % 2], last ? shared + stage * T::STAGE_CHUNKS : present, last ? 0 : step + 1);
      if constexpr (SPAN == 0)
        sums.multiply(held[step % 2]);
      else
        sums.multiply_span(held[step % 2]);
      if (step == 0) { /* beside the products, which take longer */
        from.load_weights(later, block + T::STAGES - 1 < end);
        from.load_input(later, block + T::STAGES - 1 < end);
        copies_commit();
      }
    }
  }
}

/* Adds the products of the blocks along K from `begin` to `end` to the sums. */
template <class T, int SPAN>
__device__ __forceinline__ void sum_blocks(const struct gemm_args &p, const column_map &map, const row_map &rows,
                                           accumulator<T> &sums, uint4 *shared, int begin, int end) {
  /* Start the copies of the first blocks along K. */
  loader<T> from(p, map, rows, begin);
#pragma unroll 1
  for (int s = 0; s < T::STAGES - 1 && begin + s < end; s++)
    from.load_weights(shared + s * T::STAGE_CHUNKS, true);
  wait_for_previous(); /* W is constant; only the copies of A must wait for the preceding kernel in the stream */
#pragma unroll 1
  for (int s = 0; s < T::STAGES - 1; s++) {
    if (begin + s < end)
      from.load_input(shared + s * T::STAGE_CHUNKS, true);
    copies_commit();
  }
  multiply_blocks<T, SPAN>(from, sums, shared, begin, end);
  copies_wait<0>();
}

template <class T>
__global__ void __launch_bounds__(T::THREADS) gemm_kernel(const __grid_constant__ struct gemm_args p) {
  extern __shared__ uint4 shared[];
  column_map map = map_columns<T>(p);
  row_map rows = map_rows<T>(p);
  int taps = p.quarters ? 4 : p.kernel * p.kernel, blocks = (taps * (p.c + p.c2) + T::BLOCK_K - 1) / T::BLOCK_K;
  int begin = (int)((long)blocks * blockIdx.z / p.splits), end = (int)((long)blocks * (blockIdx.z + 1) / p.splits);
  accumulator<T> sums;
  sum_blocks<T, T::SPAN>(p, map, rows, sums, shared, begin, end);
  if constexpr (T::SPAN > 0)
    if (__syncthreads_or(!sums.is_finite())) { /* the barrier also ends the reading of the stages */
      sums.clear();
      sum_blocks<T, 0>(p, map, rows, sums, shared, begin, end);
    }
  /* Add up the sums of warps and of splits, apply the epilogue, store. */
  float *tile = reinterpret_cast<float *>(shared);
  sums.gather(tile);
  if (p.splits > 1 && !add_splits<T>(p, tile, reinterpret_cast<bool *>(tile + T::SHARED_BYTES / sizeof(float))))
    return;
  write_tile<T>(p, map, rows, tile);
}

size_t rows_of(const struct gemm_args *args) {
  return args->quarters ? (size_t)args->n * args->h * args->w : (size_t)args->n * args->out_h * args->out_w;
}

/* Returns the number of tiles, one below the other, that hold all rows of y. */
unsigned tiles_down(const struct gemm_args *args, int m) {
  return blocks_for(rows_of(args), m) * (args->quarters ? 4 : 1);
}

using tile_128x128_f16 = tile_shape<128, 128, 64, 32, 1, 64, 3, 16>;
using tile_128x160_f16 = tile_shape<128, 160, 32, 80, 1, 32, 5, 16>;
/* eight warps: with 64 x 64 sums each, four have too few registers */
using tile_256x64_f16 = tile_shape<256, 64, 64, 32, 1, 32, 4, 16>;

template <class T> cudaError_t launch_tile(const struct launch_queue *queue, const struct gemm_args *args) {
  cudaError_t status =
      cudaFuncSetAttribute(gemm_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, T::SHARED_BYTES + FLAG_BYTES);
  if (status != cudaSuccess)
    return status;
  dim3 grid(tiles_down(args, T::M), blocks_for((size_t)args->columns, T::N), (unsigned)args->splits);
  return launch(queue, gemm_kernel<T>, grid, dim3(T::THREADS), T::SHARED_BYTES + FLAG_BYTES, *args);
}

} // namespace

const struct gemm_tile_size gemm_tile_sizes[TILES] = {[TILE_128x128] = {128, 128, 0},
                                                      [TILE_128x160] = {128, 160, 0},
                                                      [TILE_256x64] = {256, 64, 0},
                                                      [TILE_64x160] = {64, 160, 0},
                                                      [TILE_64x64] = {64, 64, 0},
                                                      [TILE_64x16] = {64, 16, 0},
                                                      [WINDOW_8x16x160] = {128, 160, 0},
                                                      [WINDOW_8x16x80] = {128, 80, 0},
                                                      [WINDOW_16x16x64] = {256, 64, 0},
                                                      [WINDOW_8x16x64] = {128, 64, 0},
                                                      [WINDOW_8x8x64] = {64, 64, 0},
                                                      [WINDOW_8x8x64_DEEP] = {64, 64, 0},
                                                      [TILE_128x128_F16] = {128, 128, tile_128x128_f16::SPAN},
                                                      [TILE_128x160_F16] = {128, 160, tile_128x160_f16::SPAN},
                                                      [TILE_256x64_F16] = {256, 64, tile_256x64_f16::SPAN}};

bool gemm_takes(const struct gemm_args *args) {
  return !is_window(args->tile) || window_takes(args);
}

int gemm_tiles(const struct gemm_args *args) {
  const struct gemm_tile_size *tile = &gemm_tile_sizes[args->tile];
  int down = is_window(args->tile) ? window_tiles_down(args) : (int)tiles_down(args, tile->m);
  return down * (int)blocks_for((size_t)args->columns, tile->n);
}

size_t gemm_partial_bytes(const struct gemm_args *args) {
  const struct gemm_tile_size *tile = &gemm_tile_sizes[args->tile];
  return (size_t)gemm_tiles(args) * args->splits * tile->m * tile->n * sizeof(float);
}

cudaError_t launch_gemm(const struct launch_queue *queue, const struct gemm_args *args) {
  switch (args->tile) {
  case TILE_128x128:
    return launch_tile<tile_shape<128, 128, 64, 32, 1, 64, 3>>(queue, args);
  case TILE_128x160:
    return launch_tile<tile_shape<128, 160, 32, 80, 1, 32, 5>>(queue, args);
  case TILE_256x64:
    return launch_tile<tile_shape<256, 64, 64, 64, 1, 32, 4>>(queue, args);
  case TILE_64x160:
    return launch_tile<tile_shape<64, 160, 32, 80, 2, 64, 3>>(queue, args);
  case TILE_64x64:
    return launch_tile<tile_shape<64, 64, 32, 32, 2, 64, 4>>(queue, args);
  case TILE_128x128_F16:
    return launch_tile<tile_128x128_f16>(queue, args);
  case TILE_128x160_F16:
    return launch_tile<tile_128x160_f16>(queue, args);
  case TILE_256x64_F16:
    return launch_tile<tile_256x64_f16>(queue, args);
  case TILE_64x16:
    return launch_tile<tile_shape<64, 16, 16, 16, 2, 64, 4>>(queue, args);
  default:
    return launch_window(queue, args);
  }
}
