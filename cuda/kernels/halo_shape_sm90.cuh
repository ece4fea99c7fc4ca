/* The layout of shared memory in halo_sm90.cu's kernels, and their tensor copies. */
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

constexpr int STRIP = 8, GROUPS = 2, THREADS = GROUPS * 128 + 32;

constexpr int round_up(int bytes) {
  return (bytes + 1023) / 1024 * 1024;
}

/* A convolution from CI channels to C. A warpgroup calculates N columns in groups of 8 pixels; a column is STACKED
 * pixels, one above the other. TILES tiles are in shared memory at a time, and BLOCKS thread blocks fit a
 * multiprocessor. IN_PLACE: results are stored from the memory of their tile, which leaves room for a thread block of
 * the next kernel.
 *
 * FEW output channels, at most 8, use the transposed product: pixels are wgmma's rows, and output channels its columns.
 *
 * With STRIDE 2 a tile is four planes, one for each parity of a pixel's column and row. */
template <int CI_, int C_, int N_, int TILES_, int BLOCKS_ = 1, bool IN_PLACE_ = false, int STRIDE_ = 1,
          bool SILU_ = false>
struct shape {
  static constexpr int CI = CI_, C = C_, N = N_, TILES = TILES_, BLOCKS = BLOCKS_, STRIDE = STRIDE_;
  static constexpr bool IN_PLACE = IN_PLACE_, FEW = C == 8;
  static constexpr bool SILU = SILU_; /* true: ends in SiLU instead of ReLU or nothing */
  /* ROWS: rows of the matrix of weights, as wgmma needs them; STACKED: pixels of a column, one above the other, whose
   * channels together fill these rows */
  static constexpr int ROWS = FEW ? 8 : 64, STACKED = ROWS / C;
  static constexpr int PIXEL_BYTES = 2 * CI;
  static constexpr int TALL = N / STRIP * STACKED; /* rows of an output tile */
  static constexpr int BORDERED = STRIDE == 1 ? STRIP + 2 : STRIP + 1;
  static constexpr int BORDERED_TALL = STRIDE == 1 ? TALL + 2 : TALL + 1;
  static constexpr int PLANES = STRIDE * STRIDE, PLANE_BYTES = round_up(BORDERED * BORDERED_TALL * PIXEL_BYTES);
  static constexpr int TILE_BYTES = PLANES * PLANE_BYTES;
  /* Taps of a column's window, from the first one of its upper pixel to the last one of its lower pixel. wgmma sums
   * over 16 values, so taps with 8 channels are taken in pairs. */
  static constexpr int PLACES = 3 * (3 + STRIDE * (STACKED - 1)), TAPS = CI == 8 ? (PLACES + 1) / 2 * 2 : PLACES;
  static constexpr int WEIGHT_BYTES = ROWS * PIXEL_BYTES; /* bytes of the weights of one tap */
  static constexpr int OUTPUT_BYTES = STRIP * TALL * C * 2;
  static constexpr int OUTPUTS = IN_PLACE || FEW ? 0 : GROUPS; /* output buffers besides the memory of the tiles */
  static constexpr int TILES_OFFSET = round_up(TAPS * WEIGHT_BYTES);
  static constexpr int OUTPUTS_OFFSET = TILES_OFFSET + TILES * TILE_BYTES;
  static constexpr int BARRIER_OFFSET = OUTPUTS_OFFSET + OUTPUTS * OUTPUT_BYTES;
  static constexpr int SHARED_BYTES = BARRIER_OFFSET + (TAPS + 2 * TILES + GROUPS) * 8 + 1024; /* 1024: to align */
  static_assert(OUTPUT_BYTES % 1024 == 0 && SHARED_BYTES <= 232448, "fits, in whole periods of the swizzle");
  /* The memory of a tile always belongs to the same group. If the groups took turns at it, one could wait for the tile
   * after the one that the other still waits for, and barriers tell only two phases apart. */
  static_assert(TILES % GROUPS == 0, "whole turns");
};

struct params {
  CUtensorMap x, weight, residual, y;
  const float *bias;
  const __half *time; /* FP16 vector that is added like bias; NULL: none */
  __half *few;        /* y if it has FEW channels */
  bool has_residual;
  float least;                /* lower limit of a result, for ReLU */
  int columns, width, height; /* number of columns of y; width and height of a picture, used with FEW channels */
  int doubled;                /* 1: the input is upsampled by 2 */
  int sides;                  /* if doubled: log2 of how many of a pixel's four output pixels are in different tiles */
  int tall;                   /* rows of the input that a tile advances by; with STRIDE 2 rows of y */
  int distance;               /* bytes from one group of 8 pixels of a tile to the next */
  int input_bytes;            /* bytes of one plane of a tile's input */
  int pad;
  divisor across, down; /* strips of 8 columns in a picture's width; tiles of a strip from top to bottom */
  int count;            /* number of tiles */
};

/* The place of a tile: x, y: column and row of its first pixel; n: number of the picture; right, below: which of the
 * four output pixels of an input pixel it calculates, if the input is upsampled. */
struct place {
  int x, y, n, right, below;
};

__device__ __forceinline__ place find_place(const params &p, int index) {
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
  /* Returns the buffer that holds a group's residual, and then its results. */
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

/* --- copies --- */

/* Loads a tile of the output's size. */
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

/* Waits until the shared memory that this thread's stores read may be written again. */
__device__ __forceinline__ void wait_for_stores() {
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

/* --- producers: one thread for the tiles, and one for the weights, which then becomes a consumer --- */

/* Loads the weights of each place, for each pixel of a column. Places outside a pixel's window are read behind the last
 * row, and so are zeros. */
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

template <class S>
__device__ __forceinline__ void load_tile(const params &p, const memory_map<S> &m, int stage, int x, int y, int n) {
#pragma unroll
  for (int plane = 0; plane < S::PLANES; plane++)
    tensor_load(m.tile(stage) + plane * S::PLANE_BYTES, &p.x, m.tile_full(stage), 0, x + plane % S::STRIDE,
                y + plane / S::STRIDE, n);
}

template <class S> __device__ __forceinline__ void produce(const params &p, const memory_map<S> &m) {
  int stage = 0, parity = 1;
#pragma unroll 1
  for (int index = blockIdx.x; index < p.count; index += gridDim.x) {
    place at = find_place(p, index);
    int x = at.x * S::STRIDE - p.pad, y = at.y * S::STRIDE - p.pad;
    asm volatile("" : "+r"(x), "+r"(y)); /* calculated here, before the wait for the preceding kernel in the stream */
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
