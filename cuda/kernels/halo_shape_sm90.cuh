/* The parts of halo_sm90.cu's kernels that concern shared memory: its layout, and the tensor copies (TMA) to and from
 * it. */
#ifndef CUDA_KERNELS_HALO_SHAPE_SM90_CUH
#define CUDA_KERNELS_HALO_SHAPE_SM90_CUH

#include "attention/hopper.cuh"
#include "cuda/kernels/common.cuh"
#include "cuda/kernels/copies_sm90.cuh"
#include "cuda/kernels/quotient.h"

namespace halo_sm90 {

using namespace attention;
using product_sm90::elect;
using product_sm90::load_box;
using product_sm90::load_transposed;
using product_sm90::store_transposed;

constexpr int STRIP = 8, GROUPS = 2, THREADS = GROUPS * 128 + 32;

constexpr int round_up(int bytes) {
  return (bytes + 1023) / 1024 * 1024;
}

/* The shape of a kernel for convolutions from CI channels to C channels. A warpgroup calculates N columns of wgmma's
 * product at a time, in groups of 8; a column is STACKED pixels, one above the other. TILES: number of tiles that
 * shared memory holds. BLOCKS: number of thread blocks that fit a multiprocessor. IN_PLACE: true if results are stored
 * from the memory of their input tile, which leaves room for a thread block of the next kernel. SILU: true if the
 * convolution ends in SiLU. FEW output channels, at most 8, use the transposed product: pixels are wgmma's rows, and
 * output channels its columns. With at most 3 output channels (SPREAD) all taps are computed at once: wgmma's rows are
 * the taps of each output channel, 27 of 64 rows, and its columns are the pixels of a tile with its border; then each
 * output channel of a pixel is the sum of nine of these results, at nine pixels. With STRIDE 2 a tile is four planes,
 * one for each parity of a pixel's column and row. */
template <int CI_, int C_, int N_, int TILES_, int BLOCKS_ = 1, bool IN_PLACE_ = false, int STRIDE_ = 1,
          bool SILU_ = false>
struct shape {
  static constexpr int CI = CI_, C = C_, N = N_, TILES = TILES_, BLOCKS = BLOCKS_, STRIDE = STRIDE_;
  static constexpr bool IN_PLACE = IN_PLACE_, FEW = C == 8, SPREAD = C == 3;
  static constexpr bool SILU = SILU_; /* true: the convolution ends in SiLU; false: in ReLU or no activation */
  /* ROWS: number of wgmma's rows that the weights fill; STACKED: number of pixels, one above the other, whose channels
   * together fill these rows */
  static constexpr int ROWS = FEW ? 8 : 64, STACKED = SPREAD ? 1 : ROWS / C;
  static constexpr int PIXEL_BYTES = 2 * CI;
  static constexpr int TALL = N / STRIP * STACKED; /* height of a tile of the output, in pixels */
  static constexpr int BORDERED = STRIDE == 1 ? STRIP + 2 : STRIP + 1;
  static constexpr int BORDERED_TALL = STRIDE == 1 ? TALL + 2 : TALL + 1;
  static constexpr int PLANES = STRIDE * STRIDE, PLANE_BYTES = round_up(BORDERED * BORDERED_TALL * PIXEL_BYTES);
  static constexpr int TILE_BYTES = PLANES * PLANE_BYTES;
  /* PLACES: number of taps of a window that is large enough for all STACKED pixels of a column. TAPS: the number of
   * taps that are computed. With 8 channels it is even, because wgmma sums over 16 values, which are two taps. */
  static constexpr int PLACES = 3 * (3 + STRIDE * (STACKED - 1));
  static constexpr int TAPS = SPREAD ? 1 : CI == 8 ? (PLACES + 1) / 2 * 2 : PLACES;
  /* bytes of the weights of one tap (place of the window); if SPREAD is true, of all taps of all output channels */
  static constexpr int WEIGHT_BYTES = ROWS * PIXEL_BYTES;
  /* SPREAD: number of wgmma's rows that are used; number of its columns, which are the pixels of a tile with its border
   * and a few more; number of floats from one row of results to the next. 8 more than a multiple of 32: then the lanes
   * of half a warp write to all 32 banks of shared memory. */
  static constexpr int SPREAD_ROWS = 9 * C, SPREAD_COLUMNS = (BORDERED * BORDERED_TALL + 7) / 8 * 8;
  static constexpr int SPREAD_PITCH = (SPREAD_COLUMNS + 23) / 32 * 32 + 8;
  static_assert(!SPREAD || (SPREAD_ROWS <= 32 && SPREAD_COLUMNS * PIXEL_BYTES <= PLANE_BYTES && N == 128), "fits");
  static constexpr int OUTPUT_BYTES = SPREAD ? round_up(SPREAD_ROWS * SPREAD_PITCH * 4) : STRIP * TALL * C * 2;
  /* number of buffers for results, in addition to the memory of the tiles: one for each warpgroup, or 0 if the kernel
   * needs none */
  static constexpr int OUTPUTS = IN_PLACE || FEW ? 0 : GROUPS;
  static constexpr int TILES_OFFSET = round_up(TAPS * WEIGHT_BYTES);
  static constexpr int OUTPUTS_OFFSET = TILES_OFFSET + TILES * TILE_BYTES;
  static constexpr int BARRIER_OFFSET = OUTPUTS_OFFSET + OUTPUTS * OUTPUT_BYTES;
  /* 1024 bytes more than needed, so that the beginning can be aligned to 1024 bytes */
  static constexpr int SHARED_BYTES = BARRIER_OFFSET + (TAPS + 2 * TILES + GROUPS) * 8 + 1024;
  static_assert(OUTPUT_BYTES % 1024 == 0 && SHARED_BYTES <= 232448, "fits, in whole periods of the swizzle");
  /* TILES is a multiple of GROUPS, so that each tile buffer is always used by the same warpgroup. Otherwise one
   * warpgroup could wait for a tile while another still waits for the preceding tile in the same buffer. The buffer's
   * barrier could not tell these two phases apart, because it only has a phase's parity. */
  static_assert(TILES % GROUPS == 0, "whole turns");
};

struct params {
  CUtensorMap x, weight, residual, y;
  const float *bias;
  const __half *time; /* FP16 vector of values that are added to output channels, as the bias is; NULL: none */
  __half *few;        /* the output y, written without TMA if there are at most 8 output channels (FEW, SPREAD) */
  bool has_residual;
  float least; /* lower limit of results: 0 with ReLU, else -infinity */
  /* columns: number of output channels; width, height: size of the output picture, used only with at most 8 output
   * channels */
  int columns, width, height;
  int doubled; /* 1: the input is upsampled by 2, to four output pixels for each input pixel; 0: it is not */
  /* log2 of the number of tiles that share the same input pixels. With an upsampled input it is 1 or 2, because each
   * tile calculates only some of the 2x2 output pixels of an input pixel; else 0 */
  int sides;
  int tall;        /* rows from one tile to the tile below it: of the input if it is upsampled, else of the output */
  int distance;    /* number of bytes in shared memory from one group of 8 pixels of a tile to the next group */
  int input_bytes; /* number of bytes of one plane of a tile's input */
  int pad;
  /* across: number of strips, 8 columns wide, in a picture's width; down: number of tiles in a strip, from top to
   * bottom */
  divisor across, down;
  int count; /* number of tiles in all pictures */
  /* first: number of the tile that is calculated first; step: 1, or -1 if the tiles are calculated from the last to the
   * first */
  int first, step;
  uint64_t policy; /* how long the second-level cache keeps the input (createpolicy in PTX) */
};

/* Where a tile lies: column x and row y of its first pixel in picture number n. right, below: 0 or 1; with an upsampled
 * input, which of the four output pixels of an input pixel the tile calculates. */
struct place {
  int x, y, n, right, below;
};

/* Returns the place of the tile that is calculated as number `turn`, counted over all thread blocks. */
__device__ __forceinline__ place find_place(const params &p, int turn) {
  int index = p.first + p.step * turn;
  int side = index & ((1 << p.sides) - 1), tile = index >> p.sides;
  int row = quotient(tile, p.across), picture = quotient(row, p.down);
  return {(tile - row * (int)p.across.by) * STRIP, (row - picture * (int)p.down.by) * p.tall, picture, side & 1,
          side >> 1};
}

template <class S> struct memory_map {
  uint32_t base;
  __device__ __forceinline__ uint32_t weights(int tap) const {
    return base + tap * S::WEIGHT_BYTES;
  }
  __device__ __forceinline__ uint32_t tile(int i) const {
    return base + S::TILES_OFFSET + i * S::TILE_BYTES;
  }
  /* Returns the address of a warpgroup's output buffer, into which the residual is loaded and then the results are
   * written. */
  __device__ __forceinline__ uint32_t output(int group, int stage) const {
    return S::IN_PLACE ? tile(stage) : base + S::OUTPUTS_OFFSET + group * S::OUTPUT_BYTES;
  }
  __device__ __forceinline__ uint32_t weights_full(int tap) const {
    return base + S::BARRIER_OFFSET + 8 * tap;
  }
  __device__ __forceinline__ uint32_t tile_full(int i) const {
    return weights_full(S::TAPS) + 8 * i;
  }
  __device__ __forceinline__ uint32_t tile_empty(int i) const {
    return tile_full(S::TILES) + 8 * i;
  }
  __device__ __forceinline__ uint32_t residual_full(int group) const {
    return tile_empty(S::TILES) + 8 * group;
  }
};

/* --- copies of a tile's residual and results between global and shared memory --- */

/* Loads the residual of a whole tile of the output. */
template <class S>
__device__ __forceinline__ void load_output(uint32_t to, const CUtensorMap *map, uint32_t barrier, const place &at) {
  asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, "
               "%6, %7}], [%2];" ::"r"(to),
               "l"(map), "r"(barrier), "r"(at.right * S::C), "r"(at.x), "r"(at.below), "r"(at.y), "r"(at.n)
               : "memory");
}

template <class S>
__device__ __forceinline__ void store_output(uint32_t from, const CUtensorMap *map, const place &at) {
  asm volatile("cp.async.bulk.tensor.5d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5, %6}], [%1];\n"
               "cp.async.bulk.commit_group;" ::"l"(map),
               "r"(from), "r"(at.right * S::C), "r"(at.x), "r"(at.below), "r"(at.y), "r"(at.n)
               : "memory");
}

/* Waits until TMA has read the shared memory from which this thread has stored, so that it may be overwritten. */
__device__ __forceinline__ void wait_for_stores() {
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

/* --- producers: one thread loads the tiles; another one loads the weights, and then is a consumer --- */

/* Loads the weights of all taps of all output channels: row 9 i + tap has those of output channel i. The rows of output
 * channels that there are not are zeros. */
template <class S> __device__ __forceinline__ void load_spread_weights(const params &p, const memory_map<S> &m) {
  barrier_expect(m.weights_full(0), S::SPREAD_ROWS * S::PIXEL_BYTES);
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %3, %3}], "
               "[%2];" ::"r"(m.weights(0)),
               "l"(&p.weight), "r"(m.weights_full(0)), "r"(0)
               : "memory");
}

/* Loads the weights for windows that STACKED pixels, one above the other, share: for each tap of the shared window a
 * copy for each pixel. For a tap outside of a pixel's own 3x3 window the copy is zeros: TMA gives zeros for rows after
 * the weights' last row. */
template <class S> __device__ __forceinline__ void load_weights(const params &p, const memory_map<S> &m) {
#pragma unroll 1
  for (int tap = 0; tap < S::TAPS; tap++) {
    barrier_expect(m.weights_full(tap), S::WEIGHT_BYTES);
#pragma unroll
    for (int i = 0; i < S::STACKED; i++) {
      int of = tap - 3 * S::STRIDE * i;
      load_box(m.weights(tap) + i * S::C * S::PIXEL_BYTES, &p.weight, m.weights_full(tap), of * S::CI,
               of >= 0 && of < 9 ? 0 : S::ROWS);
    }
  }
}

__device__ __forceinline__ void load_plane(uint32_t to, const CUtensorMap *map, uint32_t barrier, uint64_t policy,
                                           int x, int y, int n) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, "
               "{%3, %4, %5, %6}], [%2], %7;" ::"r"(to),
               "l"(map), "r"(barrier), "r"(0), "r"(x), "r"(y), "r"(n), "l"(policy)
               : "memory");
}

template <class S>
__device__ __forceinline__ void load_tile(const params &p, const memory_map<S> &m, int stage, int x, int y, int n) {
#pragma unroll
  for (int plane = 0; plane < S::PLANES; plane++)
    load_plane(m.tile(stage) + plane * S::PLANE_BYTES, &p.x, m.tile_full(stage), p.policy, x + plane % S::STRIDE,
               y + plane / S::STRIDE, n);
}

template <class S> __device__ __forceinline__ void produce(const params &p, const memory_map<S> &m) {
  int stage = 0, parity = 1;
#pragma unroll 1
  for (int index = blockIdx.x; index < p.count; index += gridDim.x) {
    place at = find_place(p, index);
    int x = at.x * S::STRIDE - p.pad, y = at.y * S::STRIDE - p.pad;
    /* makes the compiler calculate x and y here, before the wait for the preceding kernel in the stream */
    asm volatile("" : "+r"(x), "+r"(y));
    barrier_wait(m.tile_empty(stage), parity);
    barrier_expect(m.tile_full(stage), S::PLANES * p.input_bytes);
    if (index == (int)blockIdx.x)
      wait_for_predecessors();
    load_tile<S>(p, m, stage, x, y, at.n);
    if (index == (int)blockIdx.x)
      launch_dependents();
    if (++stage == S::TILES) {
      stage = 0;
      parity ^= 1;
    }
  }
}

} // namespace halo_sm90

#endif
