/* A tile of a product: its shape, the kernel's parameters, and the division of the work between thread blocks. */
#ifndef CUDA_KERNELS_TILE_SM90_CUH
#define CUDA_KERNELS_TILE_SM90_CUH

#include "attention/hopper.cuh"
#include "cuda/kernels/common.cuh"
#include "cuda/kernels/product_sm90.h"
#include "cuda/kernels/quotient.h"

namespace product_sm90 {

using namespace attention;

constexpr int BLOCK_K = 64, ROW_BYTES = 2 * BLOCK_K;
enum { BARRIER_GROUP = 1 }; /* numbers of named barriers; the consumer's number is added */
/* More than half of a multiprocessor's shared memory, so that no second thread block fits. */
constexpr int ALONE_BYTES = 118000;

/* The end of a tile. Ends that few products need have instances of their own, because unused code would slow the others
 * down. END_GAIN multiplies the sums by the run's gain before the residual is added. */
enum product_end { END_PLAIN, END_SILU, END_GAIN };

/* HIGH: the number of 64-row blocks that a consumer has. With two, a consumer needs so many registers that the
 * producers must be a whole warpgroup, which gives its own registers away. */
template <int M_, int N_, int STAGES_, int BLOCKS_, bool SUMS_, bool SEVERAL_ = false, product_end END_ = END_PLAIN,
          int HIGH_ = 1>
struct tile_shape {
  static constexpr int M = M_, N = N_, STAGES = STAGES_, BLOCKS = BLOCKS_;
  static constexpr int HIGH = HIGH_, CONSUMERS = M / 64 / HIGH, THREADS = CONSUMERS * 128 + (HIGH == 1 ? 64 : 128);
  static constexpr int WARPS = THREADS / 32;
  /* If HIGH is 2: registers of each thread of the producers (GIVEN), and of each thread of the consumers (TAKEN). */
  static constexpr int GIVEN = 40, TAKEN = 232;
  static constexpr int INPUT_WARP = CONSUMERS * 4, WEIGHT_WARP = INPUT_WARP + 1; /* warps of the two producers */
  static constexpr int HALF = N / 2;                                             /* rows of W in one copy */
  static constexpr int A_BYTES = M * ROW_BYTES, B_BYTES = N * ROW_BYTES, STAGE_BYTES = A_BYTES + B_BYTES;
  /* Results are stored in chunks of columns: 64 columns in swizzled rows of 128 bytes, or 80 columns in plain rows of
   * 160 bytes. */
  static constexpr int CHUNK = N % 80 == 0 ? 80 : 64, CHUNKS = N / CHUNK;
  static constexpr int CHUNK_BYTES = M * CHUNK * 2, RESIDUAL_ROWS = M; /* RESIDUAL_ROWS: rows in one copy */
  /* True if the shape can do GEGLU: the left half of a tile are values, the right half their gates. */
  static constexpr bool GATED = HALF % CHUNK == 0 && HIGH == 1;
  /* True if a pair of thread blocks may split the sum. INBOX then holds the other thread block's sums for this one's
   * half of the columns. */
  static constexpr bool SUMS = SUMS_;
  static constexpr bool SEVERAL = SEVERAL_; /* true: a thread block may have several tiles */
  static constexpr product_end END = END_;
  static constexpr int INBOX_GROUP_BYTES = 64 * HALF * 4;
  /* Bias and time row, twice: for this tile and for the next. */
  static constexpr int BIAS_OFFSET = STAGES * STAGE_BYTES, TIME_OFFSET = BIAS_OFFSET + N * 4;
  static constexpr int VECTORS_BYTES = N * 6, INBOX_OFFSET = BIAS_OFFSET + 2 * VECTORS_BYTES;
  static constexpr int BARRIER_OFFSET = INBOX_OFFSET + (SUMS ? CONSUMERS * INBOX_GROUP_BYTES : 0);
  /* Each warp initialises the same number of barriers of each kind; some of them stay unused. */
  static constexpr int STAGE_BARRIERS = (STAGES + WARPS - 1) / WARPS * WARPS, BARRIERS = 2 * STAGE_BARRIERS + WARPS;
  static constexpr int SHARED_BYTES = BARRIER_OFFSET + BARRIERS * 8 + 1024; /* 1024 more, to align the start */
  static_assert(HALF % 8 == 0 && STAGE_BYTES % 1024 == 0 && BARRIER_OFFSET % 8 == 0, "whole rows of swizzled memory");
  static_assert(CHUNK_BYTES <= STAGE_BYTES && CHUNKS <= STAGES && N % CHUNK == 0, "a chunk fits a stage");
};

struct params {
  CUtensorMap x, x2, weight, residual, y;
  const float *bias;
  const __half *time;
  bool has_residual;
  float least; /* least value of a result: 0 with ReLU, else -infinity */
  __half *few; /* y, if its rows are too short for the copy engine (no multiple of 16 bytes); else NULL */
  float *partial;
  unsigned *arrived;
  /* splits: parts of a tile's sum that are added through the workspace; parts: all parts, including those that the two
   * thread blocks of a PAIR_SUM exchange directly; depth: number of 64-channel blocks in the whole sum. */
  int splits, parts, depth;
  int part, longer; /* blocks in each part of the sum; the first `longer` parts have one more */
  int x_blocks;
  divisor tap_blocks;
  int c, channels;       /* channels of x; of x and x2 together */
  int rows;              /* rows of the product */
  int columns, gate;     /* columns of y; distance in W from values to gates, or 0 */
  divisor out_w, pixels; /* width and pixels of a picture of the product's rows; not used if taps is 1 */
  int taps, stride, pad; /* taps: 1, 4 or 9 */
  /* tiles in a row of tiles, if a thread block has several of them (every gridDim.y-th); else 0 */
  int column_tiles;
  int row_tiles; /* tiles in a column, for turns_kernel */
  /* With an upsampled input: tiles in a row of tiles, for each of the 2x2 output pixels that a row of the product
   * stands for. 0: a row is one pixel of y. */
  int quarter_tiles;
  enum product_pair pair;
  struct product_gain gain; /* used with END_GAIN */
};

/* --- the work of a thread block --- */

/* The tile on which the thread block works at present. Each thread that needs it has its own copy. */
template <class T> struct work {
  uint32_t base;   /* address of shared memory */
  int row, column; /* first row of the product and first column of y in the tile */
  int quarter;     /* number of the output pixel among the 2x2 of an input pixel: 0 to 3, row after row */
  int begin, end;  /* first block of the sum, and the one after the last */
  int tile;        /* number of the tile in its row */
  /* 0 or 1: which of the two buffers for bias and time row this tile uses, and the parity of the barrier that says that
   * they have arrived. */
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
  /* Moves to the thread block's next tile. Returns false if there is none. */
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
  /* Returns the address of a barrier. In memory they are: one full barrier for each stage, one empty barrier for each
   * stage, one for bias and time row, and one for each consumer's inbox. */
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
  /* Returns the first row of W for the left (0) or right (1) half of the tile's columns. With GEGLU these are the
   * values and the gates. */
  __device__ __forceinline__ int weight_row(const params &p, int half) const {
    return column + half * (p.gate ? p.gate : T::HALF);
  }
  /* True if the sums begin with bias and time row, which the first part of a sum does. */
  __device__ __forceinline__ bool has_vectors(const params &p) const {
    return (p.bias || p.time) && column < p.columns && begin == 0;
  }
  /* Returns the number of chunks of columns that hold the results. */
  __host__ __device__ __forceinline__ static int chunks(const params &p) {
    return T::SUMS && p.pair == PAIR_SUM ? 1 : T::GATED && p.gate ? T::CHUNKS / 2 : T::CHUNKS;
  }
};

/* A position in the ring of stages, and the parity of the present phase of the stage's barrier `full`. */
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
