/* A tile of a product: its shape, the kernel's parameters, and which part of the work is a thread block's. */
#ifndef CUDA_KERNELS_TILE_SM90_CUH
#define CUDA_KERNELS_TILE_SM90_CUH

#include "attention/hopper.cuh"
#include "cuda/kernels/common.cuh"
#include "cuda/kernels/product_sm90.h"
#include "cuda/kernels/quotient.h"

namespace product_sm90 {

using namespace attention;

constexpr int BLOCK_K = 64, ROW_BYTES = 2 * BLOCK_K;
enum { BARRIER_GROUP = 1 };         /* named barriers: one a consumer */
constexpr int ALONE_BYTES = 118000; /* more than half of a multiprocessor's shared memory: keeps a second away */

/* What most products do not need has instances of its own: code that they would carry along costs them time. GAIN: the
 * sums are multiplied by what the run says before the residual is added. */
enum product_end { END_PLAIN, END_SILU, END_GAIN };

/* HIGH: of 64 rows each that a consumer has. One with two has as many registers as it takes only if the producers are a
 * whole warpgroup, which gives its own away. */
template <int M_, int N_, int STAGES_, int BLOCKS_, bool SUMS_, bool SEVERAL_ = false, product_end END_ = END_PLAIN,
          int HIGH_ = 1>
struct tile_shape {
  static constexpr int M = M_, N = N_, STAGES = STAGES_, BLOCKS = BLOCKS_;
  static constexpr int HIGH = HIGH_, CONSUMERS = M / 64 / HIGH, THREADS = CONSUMERS * 128 + (HIGH == 1 ? 64 : 128);
  static constexpr int WARPS = THREADS / 32;
  static constexpr int GIVEN = 40, TAKEN = 232; /* registers of producers, and of two consumers, where HIGH is 2 */
  static constexpr int INPUT_WARP = CONSUMERS * 4, WEIGHT_WARP = INPUT_WARP + 1; /* the producers */
  static constexpr int HALF = N / 2;                                             /* rows of W that one copy brings */
  static constexpr int A_BYTES = M * ROW_BYTES, B_BYTES = N * ROW_BYTES, STAGE_BYTES = A_BYTES + B_BYTES;
  /* Results leave in chunks of columns: 64 as swizzled rows of 128 bytes, or 80 as plain rows of 160. */
  static constexpr int CHUNK = N % 80 == 0 ? 80 : 64, CHUNKS = N / CHUNK;
  static constexpr int CHUNK_BYTES = M * CHUNK * 2, RESIDUAL_ROWS = M; /* that one copy brings */
  /* Can do GEGLU: the left half values, the right half their gates. */
  static constexpr bool GATED = HALF % CHUNK == 0 && HIGH == 1;
  /* Where a pair splits the sum: what the other thread block has of this one's half of the columns. */
  static constexpr bool SUMS = SUMS_;
  static constexpr bool SEVERAL = SEVERAL_; /* tiles a thread block */
  static constexpr product_end END = END_;
  static constexpr int INBOX_GROUP_BYTES = 64 * HALF * 4;
  /* Bias and time row, twice: this tile's and the next one's. */
  static constexpr int BIAS_OFFSET = STAGES * STAGE_BYTES, TIME_OFFSET = BIAS_OFFSET + N * 4;
  static constexpr int VECTORS_BYTES = N * 6, INBOX_OFFSET = BIAS_OFFSET + 2 * VECTORS_BYTES;
  static constexpr int BARRIER_OFFSET = INBOX_OFFSET + (SUMS ? CONSUMERS * INBOX_GROUP_BYTES : 0);
  /* Each warp makes as many barriers of each kind, some of which nobody needs. */
  static constexpr int STAGE_BARRIERS = (STAGES + WARPS - 1) / WARPS * WARPS, BARRIERS = 2 * STAGE_BARRIERS + WARPS;
  static constexpr int SHARED_BYTES = BARRIER_OFFSET + BARRIERS * 8 + 1024; /* and to align it */
  static_assert(HALF % 8 == 0 && STAGE_BYTES % 1024 == 0 && BARRIER_OFFSET % 8 == 0, "whole rows of swizzled memory");
  static_assert(CHUNK_BYTES <= STAGE_BYTES && CHUNKS <= STAGES && N % CHUNK == 0, "a chunk fits a stage");
};

struct params {
  CUtensorMap x, x2, weight, residual, y;
  const float *bias;
  const __half *time;
  bool has_residual;
  float least; /* of a result, for ReLU */
  __half *few; /* y where its rows are no multiple of 16 bytes, else NULL */
  float *partial;
  unsigned *arrived;
  int splits, parts, depth; /* of the sum: in the workspace; in all, with those of pairs; its blocks */
  int part, longer;         /* blocks of a part, but for the first `longer` ones, which have one more */
  int x_blocks;
  divisor tap_blocks;
  int c, channels;       /* of x; of x and x2 */
  int rows;              /* of the product */
  int columns, gate;     /* of y; rows of W from values to gates, or 0 */
  divisor out_w, pixels; /* of a picture of the product's rows; taps 1: not read */
  int taps, stride, pad; /* taps: 1, 4 or 9 */
  int column_tiles;      /* where a thread block makes several, every gridDim.y-th; else 0 */
  int row_tiles;         /* of tiles in turns */
  int quarter_tiles;     /* of columns: of each pixel of 2x2 that a row becomes; 0: a row is one pixel of y */
  enum product_pair pair;
  struct product_gain gain; /* END_GAIN */
};

/* --- a thread block's part --- */

/* A tile at a time; each thread that has to do with all of them has one of these. */
template <class T> struct work {
  uint32_t base;      /* of shared memory */
  int row, column;    /* the tile's first: row of the product; column of y */
  int quarter;        /* which of the 2x2 pixels that a row becomes */
  int begin, end;     /* blocks of the sum */
  int tile;           /* of columns */
  int vectors_parity; /* bias and time row of this tile: which of two places, and their barrier's phase */

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
  /* Goes on to the thread block's next tile, if there is one. */
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
  /* Barriers: full ones, empty ones; that of bias and time row, and those of the inboxes. */
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
  /* The first row of W of a half of the tile. */
  __device__ __forceinline__ int weight_row(const params &p, int half) const {
    return column + half * (p.gate ? p.gate : T::HALF);
  }
  /* Whether the sums begin as bias and time row: those of the sum's first part. */
  __device__ __forceinline__ bool has_vectors(const params &p) const {
    return (p.bias || p.time) && column < p.columns && begin == 0;
  }
  /* Chunks in which results leave. */
  __host__ __device__ __forceinline__ static int chunks(const params &p) {
    return T::SUMS && p.pair == PAIR_SUM ? 1 : T::GATED && p.gate ? T::CHUNKS / 2 : T::CHUNKS;
  }
};

/* A place in the ring of stages, and the parity of its full barrier's current phase. */
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
