/* 3x3 convolutions of 64 or 32 channels to as many, over many pixels: an autoencoder's.
 *
 * As a product with one row a pixel, such a convolution reads its input nine times, and its few columns leave most of a
 * tile's traffic to that. Here a tile of pixels comes once, with its border, and all nine places of the window are read
 * from it. wgmma computes y^T = W x^T: the weights' rows, one an output channel, are its 64 rows, and pixels are its
 * columns.
 *
 *     shared memory                              a place of the window is an offset into the tile: wgmma takes its
 *     W: 9 x 64 x 64, once, then tile by tile    columns in groups of 8 rows of 128 bytes, at any distance from group
 *                                                to group. A group is 8 pixels of a picture's row; the distance is a
 *       10 pixels                                row of the tile. The copy engine's swizzle goes by addresses, as
 *     +-----------+                              wgmma's does, so an offset may be any number of pixels.
 *     | +--------+|
 *     | | 8 x 32 ||  -> 64 channels of 256 pixels in registers, 128 a thread
 *     | |        ||  -> transposed into shared memory (stmatrix), residual and all, and out by TMA
 *     +-----------+
 *
 * 32 channels fill half of wgmma's rows. Its upper half then makes the pixels one row below: a column is a pair of
 * pixels, one above the other, the window has 4 x 3 places, and of each half's weights one row is zeros.
 *
 * A thread block is one producer thread and two warpgroups. They take tiles in turn, so that one's end lies under the
 * other's products. Borders beyond the picture read as zeros and pixels beyond it are not written: the copy engine's
 * work. Where the input is doubled in size, a tile makes the pixels of one parity each way: of those, neighbours'
 * windows begin at neighbouring pixels of the input, and again the window is a set of offsets.
 *
 * Roofline, 64 channels at 512 x 512: 19.3 GFLOP, 24 us at 800 TFLOP/s; 33.5 MB each way, 16 us at 4.2 TB/s. */
#include "cuda/kernels/halo_sm90.h"

#include <cudaTypedefs.h>

#include "attention/hopper.cuh"
#include "cuda/kernels/common.cuh"

namespace halo_sm90 {

using namespace attention;

constexpr int ROWS = 64, STRIP = 8, BORDERED = STRIP + 2, GROUPS = 2, THREADS = GROUPS * 128 + 32;
enum { BARRIER_GROUP = 1 }; /* named barriers: one a warpgroup */

constexpr int round_up(int bytes) {
  return (bytes + 1023) / 1024 * 1024;
}

/* C channels; N columns of wgmma; TILES tiles in shared memory; BLOCKS that a multiprocessor holds. IN_PLACE: results
 * leave from where the tile was, which makes room for another thread block, the next kernel's. */
template <int C_, int N_, int TILES_, int BLOCKS_, bool IN_PLACE_ = false> struct shape {
  static constexpr int C = C_, N = N_, TILES = TILES_, BLOCKS = BLOCKS_;
  static constexpr bool IN_PLACE = IN_PLACE_;
  static constexpr int PIXEL_BYTES = 2 * C, STACKED = ROWS / C; /* pixels of a column, one above the other */
  static constexpr int TALL = N / STRIP * STACKED, BORDERED_TALL = TALL + 2;
  static constexpr int TAPS_Y = 2 + STACKED, TAPS = 3 * TAPS_Y;
  static constexpr int WEIGHT_BYTES = ROWS * PIXEL_BYTES; /* of a tap */
  static constexpr int INPUT_BYTES = BORDERED * BORDERED_TALL * PIXEL_BYTES, TILE_BYTES = round_up(INPUT_BYTES);
  static constexpr int OUTPUT_BYTES = STRIP * TALL * PIXEL_BYTES;
  static constexpr int TILES_OFFSET = TAPS * WEIGHT_BYTES, OUTPUTS_OFFSET = TILES_OFFSET + TILES * TILE_BYTES;
  static constexpr int BARRIER_OFFSET = OUTPUTS_OFFSET + (IN_PLACE ? 0 : GROUPS * OUTPUT_BYTES);
  static constexpr int SHARED_BYTES = BARRIER_OFFSET + (TAPS + 2 * TILES + GROUPS) * 8 + 1024; /* and to align it */
  static_assert(OUTPUT_BYTES % 1024 == 0 && SHARED_BYTES <= 232448, "fits, in whole periods of the swizzle");
  /* A tile's memory belongs to one group. If they took turns at it, one could wait there for the tile after that which
   * the other still waits for, and barriers tell two phases apart, not three. */
  static_assert(TILES % GROUPS == 0, "whole turns");
};

struct params {
  CUtensorMap x, weight, residual, y;
  const float *bias;
  bool has_residual;
  float least;             /* of a result, for ReLU */
  int doubled;             /* 1: the input is doubled in size */
  int across, down, count; /* strips of a picture, tiles of a strip; tiles in all */
};

/* A tile's first pixel, in the input's size, and which of the doubled pixels it makes. */
struct place {
  int x, y, n, right, below;
};

template <class S> __device__ __forceinline__ place find_place(const params &p, int index) {
  int parity = p.doubled ? index & 3 : 0, tile = p.doubled ? index >> 2 : index;
  int row = tile / p.across, picture = row / p.down;
  return {(tile - row * p.across) * STRIP, (row - picture * p.down) * S::TALL, picture, parity & 1, parity >> 1};
}

template <class S> struct memory_map {
  uint32_t base;
  __device__ __forceinline__ uint32_t weights(int tap) const {
    return base + tap * S::WEIGHT_BYTES;
  }
  __device__ __forceinline__ uint32_t tile(int i) const {
    return base + S::TILES_OFFSET + i * S::TILE_BYTES;
  }
  /* Where a group's results leave from, and where the residual comes. */
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

__device__ __forceinline__ void load_box(uint32_t to, const CUtensorMap *map, uint32_t barrier, int x, int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(
          to),
      "l"(map), "r"(barrier), "r"(x), "r"(y)
      : "memory");
}

/* A tile of the output's size and parity. */
template <class S>
__device__ __forceinline__ void load_output(uint32_t to, const CUtensorMap *map, uint32_t barrier, const place &at) {
  asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, "
               "%6, %7}], [%2];" ::"r"(to),
               "l"(map), "r"(barrier), "r"(at.right * S::C), "r"(at.x), "r"(at.below), "r"(at.y), "r"(at.n)
               : "memory");
}

template <class S>
__device__ __forceinline__ void store_output(uint32_t from, const CUtensorMap *map, const place &at) {
  asm volatile("cp.async.bulk.tensor.5d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5, %6}], [%1];" ::"l"(map),
               "r"(from), "r"(at.right * S::C), "r"(at.x), "r"(at.below), "r"(at.y), "r"(at.n)
               : "memory");
}

/* Until shared memory that this thread's stores read may be written again. */
__device__ __forceinline__ void wait_for_stores() {
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

/* --- producer: one thread --- */

/* Rows of W beyond its last read as zeros, as those of the taps above and below the window do. */
template <class S> __device__ __forceinline__ void load_weights(const params &p, const memory_map<S> &m) {
#pragma unroll 1
  for (int tap = 0; tap < S::TAPS; tap++) {
    barrier_expect(m.weights_full(tap), S::WEIGHT_BYTES);
#pragma unroll
    for (int i = 0; i < S::STACKED; i++) {
      int of = tap - 3 * i;
      load_box(m.weights(tap) + i * S::C * S::PIXEL_BYTES, &p.weight, m.weights_full(tap), of * S::C,
               of >= 0 && of < 9 ? 0 : S::C);
    }
  }
}

template <class S> __device__ __forceinline__ void produce(const params &p, const memory_map<S> &m) {
  load_weights<S>(p, m); /* constant, so they need not wait for the kernel before */
  wait_for_predecessors();
  launch_dependents();
  int stage = 0, parity = 1;
#pragma unroll 1
  for (int index = blockIdx.x; index < p.count; index += gridDim.x) {
    place at = find_place<S>(p, index);
    barrier_wait(m.tile_empty(stage), parity);
    barrier_expect(m.tile_full(stage), S::INPUT_BYTES);
    tensor_load(m.tile(stage), &p.x, m.tile_full(stage), 0, at.x - 1, at.y - 1, at.n);
    if (++stage == S::TILES) {
      stage = 0;
      parity ^= 1;
    }
  }
}

/* --- consumers --- */

/* K-major operands: rows of a pixel's bytes in groups of 8, `distance` from group to group. */
template <class S> __device__ __forceinline__ uint64_t describe(uint32_t address, int distance) {
  constexpr uint32_t SWIZZLE = (S::PIXEL_BYTES == 128 ? 1u : 2u) << 30;
  return (uint64_t)(SWIZZLE | (uint32_t)distance >> 4) << 32 | (1u << 16 | (address & 0x3ffff) >> 4);
}

/* Four 8x8 matrices of halves, transposed: lane l gives the address of row l % 8 of matrix l / 8, and of each has
 * elements l / 4 of rows 2 (l % 4) and the one after. */
__device__ __forceinline__ void store_matrices(uint32_t row, const uint32_t (&m)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row), "r"(m[0]),
               "r"(m[1]), "r"(m[2]), "r"(m[3])
               : "memory");
}

__device__ __forceinline__ void load_matrices(uint32_t row, uint32_t (&m)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
               : "r"(row)
               : "memory");
}

template <class S> struct consumer {
  const params &p;
  const memory_map<S> &m;
  int group, thread, lane, warp;
  float bias[2]; /* of rows lane / 4 and 8 more of the warp's 16 */
  float sum[S::N / 8][4];

  __device__ __forceinline__ void load_bias() {
    int channel = (warp * 16 + lane / 4) % S::C;
    bias[0] = p.bias ? __ldg(p.bias + channel) : 0;
    bias[1] = p.bias ? __ldg(p.bias + channel + 8) : 0;
  }

  /* Row of the tile at which the pixels of a tap's first column begin. */
  __device__ __forceinline__ int tap_row(int dy, const place &at) const {
    return p.doubled ? (at.below + dy + 1) >> 1 : dy;
  }
  __device__ __forceinline__ int tap_column(int dx, const place &at) const {
    return p.doubled ? (at.right + dx + 1) >> 1 : dx;
  }

  __device__ __forceinline__ void multiply(int stage, const place &at) {
#pragma unroll
    for (int tap = 0; tap < S::TAPS; tap++) {
      uint32_t pixels = m.tile(stage) + (tap_row(tap / 3, at) * BORDERED + tap_column(tap % 3, at)) * S::PIXEL_BYTES;
      uint64_t a = describe<S>(m.weights(tap), 8 * S::PIXEL_BYTES);
      uint64_t b = describe<S>(pixels, S::STACKED * BORDERED * S::PIXEL_BYTES);
      barrier_wait(m.weights_full(tap), 0);
      wgmma_fence();
#pragma unroll
      for (int k = 0; k < S::C / 16; k++)
        Wgmma<S::N>::scores(sum, a + 2 * k, b + 2 * k, tap || k);
    }
    wgmma_commit();
    wgmma_wait<0>();
    pin(sum);
  }

  __device__ __forceinline__ uint32_t finish(float a, float b, float with, uint32_t residual) const {
    float2 more = __half22float2(*reinterpret_cast<__half2 *>(&residual));
    __half2 two = __floats2half2_rn(fmaxf(a + with + more.x, p.least), fmaxf(b + with + more.y, p.least));
    return *reinterpret_cast<uint32_t *>(&two);
  }

  /* Sums of 16 pixels of 16 channels at a time become four matrices of the output in shared memory: of 8 pixels two,
   * and of those below or beside two more. */
  template <bool RESIDUAL> __device__ __forceinline__ void write_output(uint32_t output) {
    constexpr int CHUNKS = S::C / 8;
    int channel = warp * 16 % S::C, above = warp * 16 / S::C;
    int chunk = channel / 8 + lane / 8 % 2, within = lane % 8;
    int first = (lane / 16 * S::STACKED + above) * STRIP + within; /* pixel of the tile */
    int swizzled = CHUNKS == 8 ? chunk ^ within : chunk ^ (within >> 1 & 3);
    uint32_t row = output + first * S::PIXEL_BYTES + swizzled * 16;
#pragma unroll
    for (int g = 0; g < S::N / 8; g += 2) {
      uint32_t four[4] = {0, 0, 0, 0};
      uint32_t to = row + g * S::STACKED * STRIP * S::PIXEL_BYTES;
      if (RESIDUAL)
        load_matrices(to, four);
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const float *v = sum[g + i / 2] + i % 2 * 2;
        four[i] = finish(v[0], v[1], bias[i % 2], four[i]);
      }
      store_matrices(to, four);
    }
  }

  __device__ __forceinline__ void group_sync() const {
    named_sync(BARRIER_GROUP + group, 128);
  }

  __device__ __forceinline__ void ask_residual(uint32_t output, const place &at) const {
    if (p.has_residual && thread == 0) {
      barrier_expect(m.residual_full(group), S::OUTPUT_BYTES);
      load_output<S>(output, &p.residual, m.residual_full(group), at);
    }
  }

  /* Before a tile: what the tile before left from is free. */
  __device__ __forceinline__ void begin(int before, uint32_t output, const place &at) const {
    if (thread == 0)
      wait_for_stores();
    if (!S::IN_PLACE)
      ask_residual(output, at);
    else if (thread == 0 && before >= 0)
      barrier_arrive(m.tile_empty(before));
  }

  /* The sums are there: all warps have read the tile. */
  __device__ __forceinline__ void end(int stage, int phase, uint32_t output, const place &at) {
    if (!S::IN_PLACE && lane == 0)
      barrier_arrive(m.tile_empty(stage));
    group_sync();
    if (S::IN_PLACE)
      ask_residual(output, at);
    if (p.has_residual) {
      barrier_wait(m.residual_full(group), phase);
      write_output<true>(output);
    } else {
      write_output<false>(output);
    }
    shared_fence();
    group_sync();
    if (thread == 0) {
      store_output<S>(output, &p.y, at);
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
  }

  __device__ __forceinline__ void run() {
    int stage = group, before = -1, parity = 0, phase = 0;
    load_bias();
    if (p.has_residual && thread == 0)
      wait_for_predecessors();
#pragma unroll 1
    for (int index = blockIdx.x + group * gridDim.x; index < p.count; index += GROUPS * gridDim.x, phase ^= 1) {
      place at = find_place<S>(p, index);
      uint32_t output = m.output(group, stage);
      begin(before, output, at);
      barrier_wait(m.tile_full(stage), parity);
      multiply(stage, at);
      end(stage, phase, output, at);
      before = stage;
      stage += GROUPS;
      if (stage >= S::TILES) {
        stage -= S::TILES;
        parity ^= 1;
      }
    }
    if (thread == 0)
      wait_for_stores();
  }
};

template <class S> __global__ void __launch_bounds__(THREADS, S::BLOCKS) halo_kernel(const __grid_constant__ params p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ char unaligned[];
  memory_map<S> m = {(shared_address(unaligned) + 1023) & ~1023u}; /* the period of the swizzle */
  asm volatile("" : "+r"(m.base));
  int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);
  if (threadIdx.x == GROUPS * 128) {
    for (int tap = 0; tap < S::TAPS; tap++)
      barrier_init(m.weights_full(tap), 1);
    for (int i = 0; i < S::TILES; i++) {
      barrier_init(m.tile_full(i), 1);
      barrier_init(m.tile_empty(i), S::IN_PLACE ? 1 : 4);
    }
    for (int i = 0; i < GROUPS; i++)
      barrier_init(m.residual_full(i), 1);
    barrier_init_fence();
  }
  __syncthreads();
  if (warp == GROUPS * 4) {
    if (threadIdx.x % 32 == 0)
      produce<S>(p, m);
    __syncwarp();
  } else {
    int thread = threadIdx.x % 128;
    consumer<S> c = {p, m, warp / 4, thread, thread % 32, warp % 4};
    c.run();
  }
#endif
}

} // namespace halo_sm90

/* --- launch --- */

namespace {

using namespace halo_sm90;

bool encode(const struct product_device *device, CUtensorMap *map, const void *data, int dimensions,
            const cuuint64_t *sizes, const cuuint64_t *pitch, const cuuint32_t *box, int pixel_bytes) {
  const cuuint32_t steps[5] = {1, 1, 1, 1, 1};
  return ((PFN_cuTensorMapEncodeTiled_v12000)device->encode_tiled)(
             map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, dimensions, const_cast<void *>(data), sizes, pitch, box, steps,
             CU_TENSOR_MAP_INTERLEAVE_NONE, pixel_bytes == 128 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_64B,
             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

template <class S> bool encode_input(const struct product_device *device, CUtensorMap *map, const struct gemm_args *a) {
  cuuint64_t pixel = S::PIXEL_BYTES, row = pixel * a->w;
  cuuint64_t sizes[4] = {S::C, (cuuint64_t)a->w, (cuuint64_t)a->h, (cuuint64_t)a->n},
             pitch[3] = {pixel, row, row * a->h};
  cuuint32_t box[4] = {S::C, BORDERED, S::BORDERED_TALL, 1};
  return encode(device, map, a->x, 4, sizes, pitch, box, S::PIXEL_BYTES);
}

template <class S>
bool encode_weights(const struct product_device *device, CUtensorMap *map, const struct gemm_args *a) {
  cuuint64_t sizes[2] = {9 * S::C, S::C}, pitch[1] = {9 * S::PIXEL_BYTES};
  cuuint32_t box[2] = {S::C, S::C};
  return encode(device, map, a->weight, 2, sizes, pitch, box, S::PIXEL_BYTES);
}

/* Rows and columns of pixels as pairs where the input was doubled: one channel further than a pixel's last is the pixel
 * beside it. */
template <class S>
bool encode_output(const struct product_device *device, CUtensorMap *map, const void *data, const struct gemm_args *a) {
  cuuint64_t times = a->upsample ? 2 : 1, pixel = S::PIXEL_BYTES * times, row = pixel * a->w;
  cuuint64_t sizes[5] = {S::C * times, (cuuint64_t)a->w, times, (cuuint64_t)a->h, (cuuint64_t)a->n};
  cuuint64_t pitch[4] = {pixel, row, row * times, row * times * a->h};
  cuuint32_t box[5] = {S::C, STRIP, 1, S::TALL, 1};
  return encode(device, map, data, 5, sizes, pitch, box, S::PIXEL_BYTES);
}

template <class S>
cudaError_t launch_shape(const struct product_device *device, const struct launch_queue *queue,
                         const struct gemm_args *a) {
  params p = {};
  if (!encode_input<S>(device, &p.x, a) || !encode_weights<S>(device, &p.weight, a) ||
      !encode_output<S>(device, &p.y, a->y, a) ||
      (a->residual && !encode_output<S>(device, &p.residual, a->residual, a)))
    return cudaErrorInvalidValue;
  p.bias = a->bias;
  p.has_residual = a->residual != nullptr;
  p.least = a->act == ACT_RELU ? 0 : -INFINITY;
  p.doubled = a->upsample;
  p.across = (int)blocks_for((size_t)a->w, STRIP);
  p.down = (int)blocks_for((size_t)a->h, S::TALL);
  p.count = p.across * p.down * a->n * (a->upsample ? 4 : 1);
  cudaError_t status =
      cudaFuncSetAttribute(halo_kernel<S>, cudaFuncAttributeMaxDynamicSharedMemorySize, S::SHARED_BYTES);
  if (status != cudaSuccess)
    return status;
  int blocks = queue->sms * S::BLOCKS;
  return launch(queue, halo_kernel<S>, dim3((unsigned)(p.count < blocks ? p.count : blocks)), dim3(THREADS),
                S::SHARED_BYTES, p);
}

} // namespace

const int halo_tile_pixels[HALO_TILES] = {256, 128, 64};

bool halo_supported(const struct product_device *device, const struct halo_args *args) {
  const struct gemm_args *a = &args->gemm;
  auto aligned = [](const void *pointer) { return (uintptr_t)pointer % 16 == 0; };
  bool act = a->act == ACT_NONE || (a->act == ACT_RELU && !(a->residual && a->residual_last));
  bool doubled = !a->upsample || a->c == 64;
  return device->encode_tiled && (a->c == 64 || a->c == 32) && a->columns == a->c && a->c2 == 0 && a->kernel == 3 &&
         a->stride == 1 && a->pad == 1 && !a->time && act && doubled && aligned(a->x) && aligned(a->weight) &&
         aligned(a->residual) && aligned(a->y) && (size_t)a->n * a->h * a->w < 1u << 28 && args->tile >= 0 &&
         args->tile < HALO_TILES;
}

cudaError_t launch_halo(const struct product_device *device, const struct launch_queue *queue,
                        const struct halo_args *args) {
  const struct gemm_args *a = &args->gemm;
  if (!halo_supported(device, args))
    return cudaErrorNotSupported;
  bool wide = a->c == 64;
  switch (args->tile) {
  case HALO_256:
    return wide ? launch_shape<shape<64, 256, 2, 1>>(device, queue, a)
                : launch_shape<shape<32, 256, 2, 1>>(device, queue, a);
  case HALO_128:
    return wide ? launch_shape<shape<64, 128, 4, 1>>(device, queue, a)
                : launch_shape<shape<32, 128, 4, 1>>(device, queue, a);
  default:
    return wide ? launch_shape<shape<64, 64, 2, 2, true>>(device, queue, a)
                : launch_shape<shape<32, 64, 2, 2>>(device, queue, a);
  }
}
