/* Flash attention with cp.async and mma.sync for many rows and many keys: the generic kernel's long shape.
 *
 * A warp owns 32 rows, in two halves of 16, and a thread block of four warps owns 128. So the keys and values that a
 * warp reads from shared memory (ldmatrix) are multiplied with twice as many rows as in the tall shape, where these
 * reads take longer than the products: 16 rows and 64 keys of 64 channels are 64 products, about 410 cycles of a
 * quarter of a multiprocessor, and their reads are 128 cycles of the memory that four quarters share.
 *
 * A warp computes the scores of the next block of keys while it turns those of the present one into probabilities, so
 * that the tensor cores have work during the exponentials, although only two warps share a quarter of a multiprocessor:
 *
 *     tensor cores    S1 = Q K1     O += P0 V0                   S2 = Q K2     O += P1 V1    ...
 *     other units     P0 = 2^(S0)                 maxima of S1   P1 = 2^(S1)
 *
 * Two thread blocks fit a multiprocessor. All pairs of row tile and block of keys, in one line, are cut into as many
 * equal ranges as thread blocks fit the GPU (cuts.h), because few heads have few tiles. A tile that is cut leaves
 * partial results in the workspace. The thread block that is the last to finish its part of a tile adds them up, in
 * the order of the keys.
 *
 *     tiles    |     0     |     1     |     2     |
 *     blocks   |    0    |    1    |    2   |   3   |      block 1 has the end of tile 0 and the beginning of tile 1
 *
 * Shared memory has Q of the present tile, which each warp loads and reads for itself, and four stages of keys and
 * values.
 *
 * With 16 rows a warp and whole tiles this is the shape "ahead" (TileLongSm80). */
#ifndef ATTENTION_LONG_SM80_CUH
#define ATTENTION_LONG_SM80_CUH

#include "kernel_sm80.cuh"
#include "partial.cuh"

namespace attention {

/* Where the scores of a block of keys are: two groups of 16 rows, BN / 8 groups of 8 keys. */
template <class T> using LongScores = float[T::HALVES][T::BN / 8][4];

/* What a thread holds of its warp's 32 rows. */
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

  /* Adds to scores the products of 16 channels, d * 16 and on. */
  __device__ __forceinline__ void multiply_keys(LongScores<T> &s, uint32_t keys, int d, int lane) const {
    uint32_t address = keys + T::Rows::at(lane % 8 + lane / 16 * 8, lane / 8 % 2);
#pragma unroll
    for (int g = 0; g < T::BN / 8; g += 2) {
      uint32_t b[4];
      load_matrices(b, T::Rows::further(address, 2 * d) + g * 8 * T::Rows::BYTES);
#pragma unroll
      for (int r = 0; r < T::HALVES; r++) {
        multiply_add(s[r][g], q[r][d], b[0], b[1]);
        multiply_add(s[r][g + 1], q[r][d], b[2], b[3]);
      }
    }
  }

  /* Adds P V to O with a block of values. */
  __device__ __forceinline__ void multiply_values(const uint32_t (&p)[T::HALVES][T::BN / 16][4], uint32_t values,
                                                  int lane) {
    uint32_t address = values + T::Rows::at(lane % 16, lane / 16);
#pragma unroll
    for (int k = 0; k < T::BN / 16; k++)
#pragma unroll
      for (int g = 0; g < T::O_GROUPS; g += 2) {
        uint32_t b[4];
        load_matrices_transposed(b, T::Rows::further(address, g) + k * 16 * T::Rows::BYTES);
#pragma unroll
        for (int r = 0; r < T::HALVES; r++) {
          multiply_add(o[r][g], p[r][k], b[0], b[1]);
          multiply_add(o[r][g + 1], p[r][k], b[2], b[3]);
        }
      }
  }

  /* Computes the first scores S = Q K^T of a tile. */
  __device__ __forceinline__ void begin(LongScores<T> &s, uint32_t keys, int lane) const {
    clear(s);
#pragma unroll
    for (int d = 0; d < T::DP / 16; d++)
      multiply_keys(s, keys, d, lane);
  }

  /* Computes the scores of the next block of keys, and adds the present block with scores s to O. The two depend on
   * each other nowhere, so that the exponentials take place under the products. */
  __device__ __forceinline__ void advance(LongScores<T> &s, LongScores<T> &next, uint32_t next_keys, uint32_t values,
                                          float scale, int lane) {
    constexpr int STEPS = T::DP / 16, GROUPS = T::BN / 8;
    uint32_t p[T::HALVES][T::BN / 16][4];
    clear(next);
#pragma unroll
    for (int d = 0; d < STEPS; d++) {
      multiply_keys(next, next_keys, d, lane);
#pragma unroll
      for (int g = d * GROUPS / STEPS; g < (d + 1) * GROUPS / STEPS; g++)
#pragma unroll
        for (int r = 0; r < T::HALVES; r++)
          softmax[r].exponentiate_group(s[r][g], scale);
    }
#pragma unroll
    for (int r = 0; r < T::HALVES; r++)
      pack_tile(p[r], s[r]);
    multiply_values(p, values, lane);
  }

  /* Masks scores behind the last key, and rescales what was accumulated if a score is too large for a row's reference
   * m. One vote serves all rows: after the first blocks hardly any score is. Each block's scores must be given once,
   * before `advance` gets them as s. valid: number of keys from the block's first one on. */
  __device__ __forceinline__ void expect(LongScores<T> &s, int valid, float scale, int lane) {
    float top[T::HALVES][2], keep[2];
    if (valid < T::BN)
#pragma unroll
      for (int r = 0; r < T::HALVES; r++)
        mask_columns(s[r], valid, lane % 4 * 2);
    bool within = true;
#pragma unroll
    for (int r = 0; r < T::HALVES; r++)
      largest(s[r], top[r]);
#pragma unroll
    for (int r = 0; r < T::HALVES; r++) {
      within = within && !softmax[r].far;
#pragma unroll
      for (int i = 0; i < 2; i++)
        within = within && top[r][i] <= softmax[r].limit[i];
    }
    if (__all_sync(0xffffffff, within))
      return;
#pragma unroll
    for (int r = 0; r < T::HALVES; r++) {
      if (softmax[r].expect(top[r], scale, keep))
        scale_rows<T::O_GROUPS>(o[r], keep);
      if (softmax[r].far)
        softmax[r].subtract_first(s[r], scale);
    }
  }

private:
  static __device__ __forceinline__ void clear(LongScores<T> &s) {
#pragma unroll
    for (int r = 0; r < T::HALVES; r++)
#pragma unroll
      for (int g = 0; g < T::BN / 8; g++)
#pragma unroll
        for (int i = 0; i < 4; i++)
          s[r][g][i] = 0;
  }
};

/* Copies the blocks of keys and values of a tile to the stages in shared memory, one after the other. A thread copies
 * the same chunk of every 16th row. */
template <class T> class LongStream {
  static constexpr int ROWS = T::THREADS / 8; /* rows that all threads copy at a time */

  const KeyBlocks<T> &blocks;
  const __half *k, *v; /* the thread's next chunks */
  long k_step, v_step; /* elements from a row to the ROWS-th after it */
  int left;            /* number of keys from the thread's next row to the end of k, or of k2 */
  int next, last;
  uint32_t to; /* where the thread's chunk of the first row of stage 0 is */
  int row, chunk;
  bool has_chunk, in_head;

  __device__ __forceinline__ void enter(const Segment &segment, int first) {
    left = segment.count - first - row;
    k = segment.k + (first + row) * segment.k_row + chunk * 8;
    v = segment.v + (first + row) * segment.v_row + chunk * 8;
    k_step = ROWS * segment.k_row;
    v_step = ROWS * segment.v_row;
  }

public:
  __device__ __forceinline__ LongStream(const KeyBlocks<T> &all, int first_block, int last_block, int D,
                                        uint32_t stages)
      : blocks(all), next(first_block), last(last_block), row(threadIdx.x / 8), chunk(threadIdx.x % 8) {
    has_chunk = chunk < T::Rows::CHUNKS;
    in_head = chunk * 8 < D;
    to = stages + T::Rows::at(row, chunk);
    enter(next < blocks.split ? blocks.one : blocks.two, blocks.first(next));
  }

  /* Starts to copy the next block to its stage, if there is one. */
  __device__ __forceinline__ void load(int stage) {
    if (next < last) {
      if (next == blocks.split)
        enter(blocks.two, 0);
      uint32_t stage_to = to + stage * T::TILE_BYTES;
#pragma unroll
      for (int i = 0; i < T::BN / ROWS; i++) {
        bool valid = in_head && left > 0;
        if (has_chunk) {
          copy16_async(stage_to + i * ROWS * T::Rows::BYTES, valid ? k : blocks.one.k, valid);
          copy16_async(stage_to + T::STAGES * T::TILE_BYTES + i * ROWS * T::Rows::BYTES, valid ? v : blocks.one.v,
                       valid);
        }
        k += k_step;
        v += v_step;
        left -= ROWS;
      }
      next++;
    }
    copies_commit();
  }
};

/* Goes through the blocks of keys `first` to `last` - 1. Q of the thread block's rows is loaded first. */
template <class T>
__device__ __forceinline__ void walk_keys(const attn_args &a, LongRows<T> &rows, const KeyBlocks<T> &keys,
                                          const __half *q, int tile, int first, int last, uint32_t shared) {
  int lane = threadIdx.x % 32, own = threadIdx.x / 32 * T::WARP_ROWS;
  float scale = scale_of(a);
  uint32_t queries = shared + own * T::Rows::BYTES, stages = shared + T::Q_BYTES;
  __syncthreads(); /* all warps have done the piece before, and its memory is free */
  load_rows<T::DP, T::WARP_ROWS, 32>(queries, q, a.q_row, tile + own, a.Tq, a.D, lane);
  LongStream<T> stream(keys, first, last, a.D, stages);
#pragma unroll
  for (int i = 0; i < T::STAGES - 1; i++)
    stream.load(i);
  copies_wait<T::STAGES - 2>();
  __syncthreads();
  LongScores<T> s, s2;
  rows.reset();
  rows.load_queries(queries, lane);
  rows.begin(s, stages, lane);
  rows.expect(s, keys.valid(first), scale, lane);
  int j = first, stage = 0;
  /* Does block j, whose scores are in `present`, and computes those of the next one. Returns false if there is none. */
  auto step = [&](LongScores<T> &present, LongScores<T> &next) {
    /* After this barrier the next block is there, and all warps have read the keys of the present one and the values of
     * the one before it. Behind the last block, scores of whatever is in the next stage are not used. */
    copies_wait<T::STAGES - 3>();
    __syncthreads();
    stream.load((stage + T::STAGES - 1) % T::STAGES);
    int following = (stage + 1) % T::STAGES;
    rows.advance(present, next, stages + following * T::TILE_BYTES, stages + (T::STAGES + stage) * T::TILE_BYTES, scale,
                 lane);
    stage = following;
    if (++j == last)
      return false;
    rows.expect(next, keys.valid(j), scale, lane);
    return true;
  };
#pragma unroll 1
  while (step(s, s2) && step(s2, s))
    ;
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

/* Leaves a part of a tile's result for the thread block that is the last to finish its part. Returns true in that one,
 * which leaves nothing if all others have finished before: `rows` then has the whole tile's result. flag: shared
 * memory. */
template <class T>
__device__ __forceinline__ bool merge_parts(LongRows<T> &rows, const LongParts &parts, const attn_work &work,
                                            const attn_piece &piece, float scale, volatile bool &flag) {
  constexpr int HALF = (T::O_GROUPS + 1) * T::THREADS;
  int from = attn_cluster_of(&work, piece.tile * work.blocks);
  int to = attn_cluster_of(&work, (piece.tile + 1) * work.blocks - 1);
  unsigned *arrivals = parts.arrivals + from, others = to - from;
  if (threadIdx.x == 0)
    flag = *reinterpret_cast<volatile unsigned *>(arrivals) == others;
  __syncthreads();
  bool last = flag;
  if (!last) {
    float4 *own = parts.partials + (2 * (int)blockIdx.x + (piece.first == 0)) * (size_t)(T::HALVES * HALF);
#pragma unroll
    for (int r = 0; r < T::HALVES; r++)
      leave_partial<T>(own + r * HALF, rows.o[r], rows.softmax[r], threadIdx.x);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
      flag = atomicAdd(arrivals, 1u) == others;
    __syncthreads();
    last = flag;
  }
  if (!last)
    return false;
  if (threadIdx.x == 0)
    *arrivals = 0;
  __threadfence();
  LongRows<T> sum;
  sum.reset();
#pragma unroll 1
  for (int i = from; i <= to; i++) {
    const float4 *part = parts.partials + (2 * i + (i == from)) * (size_t)(T::HALVES * HALF);
#pragma unroll
    for (int r = 0; r < T::HALVES; r++)
      if (i == (int)blockIdx.x)
        add_rows<T>(rows.o[r], rows.softmax[r], sum.o[r], sum.softmax[r], scale);
      else
        add_partial<T, true>(part + r * HALF, sum.o[r], sum.softmax[r], scale, threadIdx.x);
  }
#pragma unroll
  for (int r = 0; r < T::HALVES; r++) {
    rows.softmax[r] = sum.softmax[r];
#pragma unroll
    for (int g = 0; g < T::O_GROUPS; g++)
#pragma unroll
      for (int i = 0; i < 4; i++)
        rows.o[r][g][i] = sum.o[r][g][i];
  }
  return true;
}

/* Divides O by the row sums and stores it, through the memory where the warp's rows of Q were. */
template <class T>
__device__ __forceinline__ void finish_rows(const attn_args &a, LongRows<T> &rows, __half *out, char *shared,
                                            int tile) {
  int lane = threadIdx.x % 32, first = threadIdx.x / 32 * T::WARP_ROWS;
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
  attn_work work =
      attn_work_begin(&cuts, T::CUTS, 1, blockIdx.x, a.Tk, all.split, all.two.count, all.total - all.split);
  attn_piece piece;
  int row_tiles = (a.Tq + T::BM - 1) / T::BM;
#pragma unroll 1
  while (attn_work_next(&work, 1, 0, &piece)) {
    int tile = piece.tile % row_tiles * T::BM, head = piece.tile / row_tiles, h = head % a.H, b = head / a.H;
    LongRows<T> rows;
    walk_keys<T>(a, rows, KeyBlocks<T>(a, b, h, a.Tk), static_cast<const __half *>(a.q) + b * a.q_batch + h * a.D, tile,
                 piece.first, piece.last, shared_address(shared));
    if constexpr (T::CUTS) {
      bool whole = piece.last - piece.first == work.blocks;
      bool &flag = *reinterpret_cast<bool *>(shared + T::FLAG_OFFSET);
      if (!whole && !merge_parts<T>(rows, parts, work, piece, scale_of(a), flag))
        continue;
    }
    finish_rows<T>(a, rows, static_cast<__half *>(a.o) + b * a.o_batch + h * a.D, shared, tile);
  }
}

template <int DP, int HALVES>
cudaError_t launch_long_sm80(const attn_args &a, const attn_cuts &cuts, void *arrivals, void *partials,
                             cudaStream_t stream) {
  using T = TileLongSm80<DP, HALVES>;
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
