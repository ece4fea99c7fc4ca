/* Flash attention with cp.async and mma.sync for many rows and many keys: the generic kernel's long shape.
 *
 * A warp owns 32 rows, in two halves of 16, and a thread block of four warps owns 128. So the keys and values that a
 * warp reads from shared memory (ldmatrix) are multiplied with twice as many rows as in the tall shape, where these
 * reads take longer than the products: 16 rows and 64 keys of 64 channels are 64 products, about 410 cycles of a
 * quarter of a multiprocessor, and their reads are 128 cycles of the memory that four quarters share.
 *
 * Two thread blocks fit a multiprocessor. All pairs of row tile and block of keys, in one line, are cut into as many
 * equal ranges as thread blocks fit the GPU (cuts.h), because few heads have few tiles. A tile that is cut leaves
 * partial results in the workspace. The thread block that is the last to finish its part of a tile adds them up, in
 * the order of the keys.
 *
 *     tiles    |     0     |     1     |     2     |
 *     blocks   |    0    |    1    |    2   |   3   |      block 1 has the end of tile 0 and the beginning of tile 1
 *
 * Shared memory has two stages. Q passes through the second one to the registers, before keys come there. */
#ifndef ATTENTION_LONG_SM80_CUH
#define ATTENTION_LONG_SM80_CUH

#include "kernel_sm80.cuh"
#include "partial.cuh"

namespace attention {

template <class T> struct LongRows {
  uint32_t q[T::HALVES][T::DP / 16][4];
  float o[T::HALVES][T::O_GROUPS][4];
  OnlineSoftmax softmax[T::HALVES];

  __device__ __forceinline__ void reset() {
#pragma unroll
    for (int r = 0; r < T::HALVES; r++) {
      softmax[r].reset();
#pragma unroll
      for (int g = 0; g < T::O_GROUPS; g++)
#pragma unroll
        for (int i = 0; i < 4; i++)
          o[r][g][i] = 0;
    }
  }

  /* Loads Q of the warp's rows to registers. address: shared memory with the warp's first row. */
  __device__ __forceinline__ void load_queries(uint32_t address, int lane) {
#pragma unroll
    for (int r = 0; r < T::HALVES; r++)
#pragma unroll
      for (int d = 0; d < T::DP / 16; d++)
        load_matrices(q[r][d], address + T::Rows::at(lane % 16, 2 * d + lane / 16) + r * 16 * T::Rows::BYTES);
  }

  /* Computes the scores S = Q K^T with a block of keys. */
  __device__ __forceinline__ void multiply_keys(float (&s)[T::HALVES][T::BN / 8][4], uint32_t keys, int lane) const {
    int row = lane % 8 + lane / 16 * 8, chunk = lane / 8 % 2;
#pragma unroll
    for (int r = 0; r < T::HALVES; r++)
#pragma unroll
      for (int g = 0; g < T::BN / 8; g++)
#pragma unroll
        for (int i = 0; i < 4; i++)
          s[r][g][i] = 0;
#pragma unroll
    for (int d = 0; d < T::DP / 16; d++)
#pragma unroll
      for (int g = 0; g < T::BN / 8; g += 2) {
        uint32_t b[4];
        load_matrices(b, keys + T::Rows::at(row, 2 * d + chunk) + g * 8 * T::Rows::BYTES);
#pragma unroll
        for (int r = 0; r < T::HALVES; r++) {
          multiply_add(s[r][g], q[r][d], b[0], b[1]);
          multiply_add(s[r][g + 1], q[r][d], b[2], b[3]);
        }
      }
  }

  /* Rescales what was accumulated if a score is too large for a row's reference m. One vote serves all rows: after the
   * first blocks hardly any score is. */
  __device__ __forceinline__ void expect(const float (&s)[T::HALVES][T::BN / 8][4], float scale) {
    float top[T::HALVES][2], keep[2];
    bool within = true;
#pragma unroll
    for (int r = 0; r < T::HALVES; r++)
      largest(s[r], top[r]);
#pragma unroll
    for (int r = 0; r < T::HALVES; r++)
#pragma unroll
      for (int i = 0; i < 2; i++)
        within = within && top[r][i] <= softmax[r].limit[i];
    if (__all_sync(0xffffffff, within))
      return;
#pragma unroll
    for (int r = 0; r < T::HALVES; r++)
      if (softmax[r].expect(top[r], scale, keep))
        scale_rows<T::O_GROUPS>(o[r], keep);
  }

  /* Adds P V to O with a block of values. */
  __device__ __forceinline__ void multiply_values(const uint32_t (&p)[T::HALVES][T::BN / 16][4], uint32_t values,
                                                  int lane) {
#pragma unroll
    for (int k = 0; k < T::BN / 16; k++)
#pragma unroll
      for (int g = 0; g < T::O_GROUPS; g += 2) {
        uint32_t b[4];
        load_matrices_transposed(b, values + T::Rows::at(lane % 16, g + lane / 16) + k * 16 * T::Rows::BYTES);
#pragma unroll
        for (int r = 0; r < T::HALVES; r++) {
          multiply_add(o[r][g], p[r][k], b[0], b[1]);
          multiply_add(o[r][g + 1], p[r][k], b[2], b[3]);
        }
      }
  }

  /* Does one block of keys and values, which lies at `stage` in shared memory. valid: number of keys from its first one
   * on. */
  __device__ __forceinline__ void add_block(uint32_t stage, int valid, float scale, int lane) {
    float s[T::HALVES][T::BN / 8][4];
    uint32_t p[T::HALVES][T::BN / 16][4];
    multiply_keys(s, stage, lane);
    if (valid < T::BN)
#pragma unroll
      for (int r = 0; r < T::HALVES; r++)
        mask_columns(s[r], valid, lane % 4 * 2);
    expect(s, scale);
#pragma unroll
    for (int r = 0; r < T::HALVES; r++) {
      softmax[r].template exponentiate<true>(s[r], scale);
      pack_tile(p[r], s[r]);
    }
    multiply_values(p, stage + T::TILE_BYTES, lane);
  }
};

/* Goes through the blocks of keys `first` to `last` - 1. Q of the thread block's rows is loaded first. */
template <class T>
__device__ __forceinline__ void walk_keys(const attn_args &a, LongRows<T> &rows, const KeyBlocks<T> &keys,
                                          const __half *q, int tile, int first, int last, uint32_t stages) {
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float scale = scale_of(a);
  uint32_t queries = stages + T::STAGE_BYTES;
  __syncthreads(); /* all warps have done the piece before, and its memory is free */
  load_rows<T::DP, T::BM, T::THREADS>(queries, q, a.q_row, tile, a.Tq, a.D, threadIdx.x);
  copies_commit();
  keys.load(first, stages, a.D, threadIdx.x);
  copies_commit();
  copies_wait<1>();
  __syncthreads();
  rows.reset();
  rows.load_queries(queries + warp * 32 * T::Rows::BYTES, lane);
#pragma unroll 1
  for (int j = first, i = 0; j < last; j++, i ^= 1) {
    /* After this barrier the present block is there, and all warps have read the other stage. */
    copies_wait<0>();
    __syncthreads();
    if (j + 1 < last)
      keys.load(j + 1, stages + (i ^ 1) * T::STAGE_BYTES, a.D, threadIdx.x);
    copies_commit();
    rows.add_block(stages + i * T::STAGE_BYTES, keys.valid(j), scale, lane);
  }
}

/* Memory for partial results of tiles that are cut. */
struct LongParts {
  /* one counter for each thread block, zero between launches: how many thread blocks have finished their parts of the
   * cut tile whose first keys this thread block has */
  unsigned *arrivals;
  /* Partial results (O, maxima and sums), [thread blocks][2][HALVES][O_GROUPS + 1][THREADS]. A thread block has parts
   * of at most two tiles that are cut; the second entry is for the tile whose first keys it has. */
  float4 *partials;
};

/* Leaves a part of a tile's result. Returns true in the thread block that is the last to do so: `rows` then has the
 * whole tile's result. */
template <class T>
__device__ __forceinline__ bool merge_parts(LongRows<T> &rows, const LongParts &parts, const attn_work &work,
                                            const attn_piece &piece, float scale, bool &last) {
  constexpr int HALF = (T::O_GROUPS + 1) * T::THREADS;
  int from = attn_cluster_of(&work, piece.tile * work.blocks);
  int to = attn_cluster_of(&work, (piece.tile + 1) * work.blocks - 1);
  float4 *own = parts.partials + (2 * (int)blockIdx.x + (piece.first == 0)) * (size_t)(T::HALVES * HALF);
#pragma unroll
  for (int r = 0; r < T::HALVES; r++)
    leave_partial<T>(own + r * HALF, rows.o[r], rows.softmax[r], threadIdx.x);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(&parts.arrivals[from], 1u) == (unsigned)(to - from);
    if (last)
      parts.arrivals[from] = 0;
  }
  __syncthreads();
  if (!last)
    return false;
  __threadfence();
  rows.reset();
#pragma unroll 1
  for (int i = from; i <= to; i++) {
    const float4 *part = parts.partials + (2 * i + (i == from)) * (size_t)(T::HALVES * HALF);
#pragma unroll
    for (int r = 0; r < T::HALVES; r++)
      add_partial<T, true>(part + r * HALF, rows.o[r], rows.softmax[r], scale, threadIdx.x);
  }
  return true;
}

/* Divides O by the row sums and stores it. */
template <class T>
__device__ __forceinline__ void finish_rows(const attn_args &a, LongRows<T> &rows, __half *out, char *shared,
                                            int tile) {
  int lane = threadIdx.x % 32, first = threadIdx.x / 32 * 32;
  __syncthreads(); /* no warp reads keys or values any more, so results are put there */
#pragma unroll
  for (int r = 0; r < T::HALVES; r++) {
    const float(&sum)[2] = rows.softmax[r].sum;
    float inverse[2] = {inverse_approx(quad_sum(sum[0])), inverse_approx(quad_sum(sum[1]))};
    scale_rows<T::O_GROUPS>(rows.o[r], inverse);
    store_rows<T>(a, out, shared + (first + 16 * r) * T::Rows::BYTES, rows.o[r], tile + first + 16 * r, a.D, lane);
  }
}

template <class T>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS)
    attention_long_kernel(const __grid_constant__ attn_args a, const __grid_constant__ attn_cuts cuts,
                          const LongParts parts) {
  extern __shared__ __align__(128) char shared[];
  KeyBlocks<T> all(a, 0, 0, a.Tk);
  attn_work work = attn_work_begin(&cuts, true, 1, blockIdx.x, a.Tk, all.split, all.two.count, all.total - all.split);
  attn_piece piece;
  int row_tiles = (a.Tq + T::BM - 1) / T::BM;
#pragma unroll 1
  while (attn_work_next(&work, 1, 0, &piece)) {
    int tile = piece.tile % row_tiles * T::BM, head = piece.tile / row_tiles, h = head % a.H, b = head / a.H;
    LongRows<T> rows;
    walk_keys<T>(a, rows, KeyBlocks<T>(a, b, h, a.Tk), static_cast<const __half *>(a.q) + b * a.q_batch + h * a.D, tile,
                 piece.first, piece.last, shared_address(shared));
    bool whole = piece.last - piece.first == work.blocks;
    if (whole ||
        merge_parts<T>(rows, parts, work, piece, scale_of(a), *reinterpret_cast<bool *>(shared + 2 * T::STAGE_BYTES)))
      finish_rows<T>(a, rows, static_cast<__half *>(a.o) + b * a.o_batch + h * a.D, shared, tile);
  }
}

template <int DP>
cudaError_t launch_long_sm80(const attn_args &a, const attn_cuts &cuts, void *arrivals, void *partials,
                             cudaStream_t stream) {
  using T = TileLongSm80<DP>;
  cudaError_t status =
      cudaFuncSetAttribute(attention_long_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, T::SHARED_BYTES);
  if (status != cudaSuccess)
    return status;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3((unsigned)cuts.clusters);
  config.blockDim = dim3(T::THREADS);
  config.dynamicSmemBytes = T::SHARED_BYTES;
  config.stream = stream;
  return cudaLaunchKernelEx(&config, attention_long_kernel<T>, a, cuts,
                            LongParts{static_cast<unsigned *>(arrivals), static_cast<float4 *>(partials)});
}

} // namespace attention

#endif
