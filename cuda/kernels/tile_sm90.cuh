/* A tile of product_sm90.cu's products: its shape, the kernel's parameters, and how the work is divided between thread
 * blocks. */
#ifndef CUDA_KERNELS_TILE_SM90_CUH
#define CUDA_KERNELS_TILE_SM90_CUH

#include <type_traits>

#include "attention/hopper.cuh"
#include "cuda/kernels/common.cuh"
#include "cuda/kernels/product_sm90.h"
#include "cuda/kernels/quotient.h"

namespace product_sm90 {

using namespace attention;

constexpr int BLOCK_K = 64, ROW_BYTES = 2 * BLOCK_K;
/* The consumers use named barriers BARRIER_GROUP + i, where i is the consumer's number. */
enum { BARRIER_GROUP = 1 };
/* A number of bytes above half of a multiprocessor's shared memory. A thread block that asks for this much has the
 * multiprocessor alone. */
constexpr int ALONE_BYTES = 118000;

/* The epilogues with which kernels are compiled. Those that few products need have kernels of their own, because unused
 * code would slow the others down. END_SILU applies SiLU. END_GAIN multiplies the sums by the run's gain (OP_INJECT)
 * before the residual is added. END_ATTEND does the attention whose queries are the sums (product_attend). END_PLAIN is
 * for all others. */
enum product_end { END_PLAIN, END_SILU, END_GAIN, END_ATTEND };

/* Where a tile's blocks of the sum come from. FROM_ONE: the product's input and its weights. FROM_TWO: behind those of
 * a convolution come the blocks of a second product (product_more). */
enum product_from { FROM_ONE, FROM_TWO };

struct params;
struct two_params;
struct attend_params;

/* The shape of a tile of M x N results, and the sizes that follow from it. BLOCKS: thread blocks on a multiprocessor.
 * HIGH: number of blocks of 64 rows that one consumer (a warpgroup that multiplies) has. If HIGH is 2, a consumer needs
 * very many registers. The producers are then a whole warpgroup, because only a whole warpgroup can give registers to
 * others. */
template <int M_, int N_, int STAGES_, int BLOCKS_, bool SUMS_, bool SEVERAL_ = false, product_end END_ = END_PLAIN,
          int HIGH_ = 1, product_from FROM_ = FROM_ONE>
struct tile_shape {
  static constexpr bool TWO = FROM_ == FROM_TWO, ATTENDS = END_ == END_ATTEND;
  using params_type = std::conditional_t<TWO, two_params, std::conditional_t<ATTENDS, attend_params, params>>;
  static constexpr int M = M_, N = N_, STAGES = STAGES_, BLOCKS = BLOCKS_;
  static constexpr int HIGH = HIGH_, CONSUMERS = M / 64 / HIGH, THREADS = CONSUMERS * 128 + (HIGH == 1 ? 64 : 128);
  static constexpr int WARPS = THREADS / 32;
  /* used if HIGH (number of blocks of 64 rows that a consumer has) is 2: GIVEN: number of registers to which the
   * producers' threads are reduced; TAKEN: number that each consumer thread then has */
  static constexpr int GIVEN = 40, TAKEN = 232;
  /* numbers of the warps that load the input and the weights */
  static constexpr int INPUT_WARP = CONSUMERS * 4, WEIGHT_WARP = INPUT_WARP + 1;
  static constexpr int HALF = N / 2; /* number of rows of W that one copy loads */
  static constexpr int A_BYTES = M * ROW_BYTES, B_BYTES = N * ROW_BYTES, STAGE_BYTES = A_BYTES + B_BYTES;
  /* Results are stored in chunks of columns: 64 columns in swizzled rows of 128 bytes, or 80 columns in rows of 160
   * bytes that are not swizzled. */
  static constexpr int CHUNK = N % 80 == 0 ? 80 : 64, CHUNKS = N / CHUNK;
  /* RESIDUAL_ROWS: number of rows of the residual that one copy loads */
  static constexpr int CHUNK_BYTES = M * CHUNK * 2, RESIDUAL_ROWS = M;
  /* true: the shape can do GEGLU, where the left half of a tile's columns are values and the right half their gates */
  static constexpr bool GATED = HALF % CHUNK == 0 && HIGH == 1;
  /* true: two thread blocks may split a tile's sum over K. Each then finishes half of the columns; the other one's sums
   * for these arrive in its inbox, a part of its shared memory. false: sums are not split, and there is no inbox. */
  static constexpr bool SUMS = SUMS_;
  static constexpr bool SEVERAL = SEVERAL_; /* true: a thread block may calculate several tiles, one after the other */
  static constexpr product_end END = END_;
  static constexpr int INBOX_GROUP_BYTES = 64 * HALF * 4;
  /* With an attention: offset of the head's keys, and of its values behind them, in shared memory. */
  static constexpr int TEXT_OFFSET = STAGES * STAGE_BYTES, TEXT_BYTES = ATTENDS ? PRODUCT_TOKENS_MOST * ROW_BYTES : 0;
  /* Offsets of bias and time row (a vector from the time embedding) in shared memory. Bias and time row have two
   * buffers each: one for this tile, one for the next tile. */
  static constexpr int BIAS_OFFSET = TEXT_OFFSET + 2 * TEXT_BYTES, TIME_OFFSET = BIAS_OFFSET + N * 4;
  static constexpr int VECTORS_BYTES = N * 6, INBOX_OFFSET = BIAS_OFFSET + 2 * VECTORS_BYTES;
  static constexpr int BARRIER_OFFSET = INBOX_OFFSET + (SUMS ? CONSUMERS * INBOX_GROUP_BYTES : 0);
  /* Each warp initialises the same number of barriers of each kind. So the number of barriers of a kind is rounded up
   * to a multiple of WARPS, and some barriers stay unused. */
  static constexpr int STAGE_BARRIERS = (STAGES + WARPS - 1) / WARPS * WARPS, BARRIERS = 2 * STAGE_BARRIERS + WARPS;
  /* 1024 bytes more than needed, so that the beginning can be aligned to 1024 bytes */
  static constexpr int SHARED_BYTES = BARRIER_OFFSET + BARRIERS * 8 + 1024;
  static_assert(HALF % 8 == 0 && STAGE_BYTES % 1024 == 0 && BARRIER_OFFSET % 8 == 0, "whole rows of swizzled memory");
  static_assert(CHUNK_BYTES <= STAGE_BYTES && CHUNKS <= STAGES && N % CHUNK == 0, "a chunk fits a stage");
  static_assert(!ATTENDS || (!SUMS && !SEVERAL && HIGH == 1 && N == PRODUCT_HEAD), "a consumer has a whole head");
};

struct params {
  CUtensorMap x, x2, weight, residual, y;
  const float *bias;
  const __half *time;
  bool has_residual;
  float least; /* lower limit of results: 0 with ReLU, else -infinity */
  /* y, if its rows are too short for TMA (not a multiple of 16 bytes); NULL: TMA stores y */
  __half *few;
  float *partial;
  unsigned *arrived;
  /* depth: number of blocks of 64 channels in the whole sum; splits: number of parts into which it is divided, which
   * are added through the workspace; parts: the same, or twice as many if a pair of thread blocks (PAIR_SUM) halves
   * each part */
  int splits, parts, depth;
  /* part: number of blocks of 64 channels in each part of the sum; longer: how many of the first parts have one block
   * more */
  int part, longer;
  int x_blocks;
  divisor tap_blocks;
  int c, channels; /* c: number of channels of x; channels: of x and x2 together */
  int rows;        /* number of rows of the product */
  /* columns: number of columns of y; gate: with GEGLU, distance in W from the rows of values to those of gates, else
   * 0 */
  int columns, gate;
  /* divisors; not used if taps is 1. The product's rows are pixels of pictures: out_w: width of such a picture; pixels:
   * number of its pixels */
  divisor out_w, pixels;
  int taps, stride, pad; /* taps: number of places of the convolution window: 1, 4 or 9 */
  /* number of tiles side by side in y, if each thread block calculates several of them (every gridDim.y-th one); else
   * 0 */
  int column_tiles;
  int row_tiles; /* number of tiles one below the other; set for turns_kernel only */
  /* with an upsampled input, where a row of the product stands for 2x2 output pixels: number of tiles side by side for
   * each of these; 0: a row of the product is one pixel of y */
  int quarter_tiles;
  enum product_pair pair;
  struct product_gain gain; /* with END_GAIN: the gain by which sums are multiplied */
};

/* The parameters of a convolution with a second product. */
struct two_params : params {
  CUtensorMap more_x, more_x2, more_weight;
  /* first: number of the second product's first block in the sum; more_x_blocks: number of its blocks that come from
   * more_x; more_c: number of channels of more_x */
  int first, more_x_blocks, more_c;
};

/* The parameters of a product that ends with an attention. */
struct attend_params : params {
  CUtensorMap k, v;
  int tokens;
  int text_rows; /* number of neighbouring rows that read the same text; 0: all do */
  float scale;   /* the scores' factor in a power of 2 */
};

/* --- struct work: the tile, or part of a tile's sum, of a thread block --- */

/* The tile, or the part of a tile's sum, on which a thread block works at present. Each thread that needs it has its
 * own copy. */
template <class T> struct work {
  uint32_t base;   /* address of the thread block's shared memory */
  int row, column; /* row: first row of the product in the tile; column: first column of y */
  /* with an upsampled input: which of the 2x2 output pixels of an input pixel is calculated, 0 to 3, row by row */
  int quarter;
  int begin, end; /* the part of the sum that this thread block adds up, in blocks of 64 channels: number of its first
                   * block, and of the block after its last one */
  int tile;       /* number of the tile, from 0, among those side by side in y */
  /* 0 or 1: which of the two buffers for bias and time row (a vector from the time embedding) this tile uses. It is
   * also the parity of the barrier phase that ends when they have arrived */
  int vectors_parity;

  __device__ __forceinline__ work(const params &p, uint32_t memory) : base(memory) {
    row = (int)blockIdx.x * T::M;
    quarter = 0;
    tile = (int)blockIdx.y;
    if (p.quarter_tiles) {
      quarter = (tile >= p.quarter_tiles) + (tile >= 2 * p.quarter_tiles) + (tile >= 3 * p.quarter_tiles);
      tile -= quarter * p.quarter_tiles;
    }
    column = tile * (p.gate ? T::HALF : T::N);
    vectors_parity = 0;
    int z = (int)blockIdx.z;
    begin = z * p.part + min(z, p.longer);
    end = begin + p.part + (z < p.longer);
  }
  /* Goes on to the thread block's next tile. Returns false if there is none. */
  __device__ __forceinline__ bool next(const params &p) {
    if (!T::SEVERAL)
      return false;
    vectors_parity ^= has_vectors(p);
    tile += (int)gridDim.y;
    column = tile * (p.gate ? T::HALF : T::N);
    return tile < p.column_tiles;
  }
  __device__ __forceinline__ int bias_offset() const {
    return T::BIAS_OFFSET + vectors_parity * T::VECTORS_BYTES;
  }
  __device__ __forceinline__ int time_offset() const {
    return T::TIME_OFFSET + vectors_parity * T::VECTORS_BYTES;
  }
  __device__ __forceinline__ uint32_t stage(int s) const {
    return base + s * T::STAGE_BYTES;
  }
  /* Returns the address of barrier number i. The barriers are in memory in this order:
   *   for each stage (buffer): its data have arrived (full)
   *   for each stage: it is free (empty)
   *   one for bias and time row (a vector from the time embedding)
   *   for each consumer: its inbox (memory to which another thread block sends its sums) */
  __device__ __forceinline__ uint32_t barrier(int i) const {
    return base + T::BARRIER_OFFSET + 8 * i;
  }
  __device__ __forceinline__ uint32_t full(int s) const {
    return barrier(s);
  }
  __device__ __forceinline__ uint32_t empty(int s) const {
    return barrier(T::STAGE_BARRIERS + s);
  }
  __device__ __forceinline__ uint32_t vectors() const {
    return barrier(2 * T::STAGE_BARRIERS);
  }
  __device__ __forceinline__ uint32_t inbox_full(int group) const {
    return barrier(2 * T::STAGE_BARRIERS + 1 + group);
  }
  /* With an attention there are no inboxes; the first one's barrier is that of keys and values. */
  __device__ __forceinline__ uint32_t text_full() const {
    return inbox_full(0);
  }
  __device__ __forceinline__ uint32_t keys() const {
    return base + T::TEXT_OFFSET;
  }
  __device__ __forceinline__ uint32_t values() const {
    return keys() + T::TEXT_BYTES;
  }
  /* Returns the first row of W for half 0 (left) or 1 (right) of the tile's columns. With GEGLU these are values and
   * gates. */
  __device__ __forceinline__ int weight_row(const params &p, int half) const {
    return column + half * (p.gate ? p.gate : T::HALF);
  }
  /* Returns true if this thread block's sums start from bias and time row (a vector from the time embedding). If the
   * sum is split, only the first part's do. */
  __device__ __forceinline__ bool has_vectors(const params &p) const {
    return (p.bias || p.time) && column < p.columns && begin == 0;
  }
  /* Returns into how many chunks of columns (64 or 80 each) the tile's results are divided. */
  __host__ __device__ __forceinline__ static int chunks(const params &p) {
    return T::SUMS && p.pair == PAIR_SUM ? 1 : T::GATED && p.gate ? T::CHUNKS / 2 : T::CHUNKS;
  }
};

/* A position in the ring of stages (buffers in shared memory): the stage's number, and the parity of the phase for
 * which threads wait at the stage's barrier `full`. */
template <class T> struct ring {
  int stage = 0, parity = 0;
  __device__ __forceinline__ void advance() {
    if (++stage == T::STAGES) {
      stage = 0;
      parity ^= 1;
    }
  }
};

} // namespace product_sm90

#endif
