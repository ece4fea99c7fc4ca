/* An autoencoder's block of three 3x3 convolutions in one launch, y = relu(x + conv(relu(conv(relu(conv(x)))))), with
 * 32 channels. It does the same as block.cu, with tensor copies (TMA) and wgmma.
 *
 * A tile of the input comes once, with a border of 3 pixels. Results between the convolutions stay in shared memory,
 * with the borders that the next convolution reads:
 *
 *     stage 0: input      stage 1: first      stage 2: second     stage 3: result
 *     H + 6 rows          H + 4 rows          H + 2 rows          H rows
 *     W + 8 pixels        W + 4 pixels        W + 2 pixels        W pixels
 *
 * wgmma computes y^T = W x^T. Its 64 rows are the 32 output channels of two pixels, one right of the other, and its
 * columns are such pairs of pixels. The windows of a pair have 3 x 4 places (taps). The weights of each pixel are zero
 * in one column of it.
 *
 *     places of a row     0    1    2    3      In shared memory the weights of a window's row lie in the order
 *     left pixel          w0   w1   w2   0      0, w2, w1, w0, 0. So both pixels' weights for one place, w[i] and
 *     right pixel         0    w0   w1   w2     w[i - 1], are neighbours, and every weight is stored once.
 *
 * A pair takes 128 bytes of shared memory, and the rows of a stage follow each other without gaps. So the place
 * (dy, dx) of the window of pair number i is at 128 (i + dy * pitch) + 64 dx bytes, and wgmma can take any number of
 * pairs that follow each other as columns. At the end of each row of a stage it computes one or two pairs that nobody
 * reads.
 *
 *     stage 0 begins 4 pixels left of the tile (TMA loads pairs that begin at even pixels), stage 1 two pixels left of
 *     it, and stage 2 one pixel left. */
#include "cuda/kernels/block_sm90.h"

#include <cudaTypedefs.h>

#include "attention/hopper.cuh"
#include "cuda/kernels/cluster_sm90.cuh"
#include "cuda/kernels/copies_sm90.cuh"
#include "cuda/kernels/quotient.h"

namespace block_sm90 {

using namespace attention;
using product_sm90::load_box;
using product_sm90::load_box_both;
using product_sm90::load_transposed;
using product_sm90::store_transposed;

/* PAIR: bytes of a pair of pixels; TAP: bytes of the weights of one tap; BLOCKS: number of blocks of TAP bytes that the
 * weights of all convolutions take in shared memory, with those of zeros */
enum { C = 32, CONVOLUTIONS = 3, PAIR = 4 * C, TAP = 2 * C * C, BLOCKS = 12 * CONVOLUTIONS + 1, BARRIER_TILE = 1 };
/* STEPS: number of steps of a product's sum, of 16 values each; ALONE_BYTES: more than half of the shared memory of a
 * multiprocessor */
enum { STEPS = 12 * C / 16, ALONE_BYTES = 120 << 10 };

constexpr int round_up(int value, int to) {
  return (value + to - 1) / to * to;
}

/* The shape of a kernel. Tiles are WIDTH x HEIGHT pixels. A thread block has UNITS warpgroups, each with a tile of its
 * own, so that one warpgroup's results are written during the products of another. */
template <int WIDTH_, int HEIGHT_, int UNITS_> struct shape {
  static constexpr int WIDTH = WIDTH_, HEIGHT = HEIGHT_, UNITS = UNITS_, THREADS = 128 * UNITS + 32;
  /* Return the numbers of pairs in a row, and of rows, of a stage. */
  static constexpr int pitch(int stage) {
    return WIDTH / 2 + (stage == 0 ? 4 : 3 - stage);
  }
  static constexpr int rows(int stage) {
    return HEIGHT + 6 - 2 * stage;
  }
  /* Returns the number of wgmma's columns, in groups of 8, in the convolution that reads this stage. */
  static constexpr int groups(int stage) {
    return ((rows(stage + 1) - 1) * pitch(stage) + pitch(stage + 1) + 7) / 8;
  }
  /* Returns how many times a warp stores results of the convolution that reads this stage: two groups at a time. */
  static constexpr int stores(int stage) {
    return (groups(stage) + 1) / 2;
  }
  static constexpr int bytes(int stage) {
    return rows(stage) * pitch(stage) * PAIR;
  }
  /* A tile has two areas of shared memory: one for stages 0 and 2, and one for stages 1 and 3. wgmma reads some pairs
   * after the end of a stage, for columns that nobody reads; all of that is shared memory, because the weights come
   * last. */
  static constexpr int EVEN_BYTES = round_up(bytes(0), 1024), TILE_BYTES = EVEN_BYTES + round_up(bytes(1), 1024);
  static constexpr int WEIGHTS_OFFSET = UNITS * TILE_BYTES, DUMP_OFFSET = WEIGHTS_OFFSET + BLOCKS * TAP;
  static constexpr int BARRIER_OFFSET = DUMP_OFFSET + 128;
  /* 1024 bytes more than needed, so that the beginning can be aligned to 1024 bytes */
  static constexpr int NEEDED_BYTES = BARRIER_OFFSET + (CONVOLUTIONS + UNITS) * 8 + 1024;
  /* More than half of what a multiprocessor has: each thread block gets a multiprocessor of its own. Otherwise two
   * thread blocks would go where one has ended early, and take twice as long. */
  static constexpr int SHARED_BYTES = NEEDED_BYTES > ALONE_BYTES ? NEEDED_BYTES : ALONE_BYTES;
  static_assert(SHARED_BYTES <= 232448, "fits");
};

struct params {
  CUtensorMap x, y, weight[CONVOLUTIONS];
  const float *bias[CONVOLUTIONS];
  int w, h;
  bool paired; /* true: each two thread blocks are a cluster, and load half of the weights each, for both of them */
  divisor across, down; /* numbers of tiles in a picture's width and height */
  int count;            /* number of tiles in all pictures */
};

template <class S> struct memory_map {
  uint32_t base;
  __device__ __forceinline__ uint32_t stage(int unit, int number) const {
    return base + unit * S::TILE_BYTES + number % 2 * S::EVEN_BYTES;
  }
  __device__ __forceinline__ uint32_t weights(int block) const {
    return base + S::WEIGHTS_OFFSET + block * TAP;
  }
  /* Returns the address of 128 bytes to which go results that are not wanted. */
  __device__ __forceinline__ uint32_t dump() const {
    return base + S::DUMP_OFFSET;
  }
  __device__ __forceinline__ uint32_t weights_full(int convolution) const {
    return base + S::BARRIER_OFFSET + 8 * convolution;
  }
  __device__ __forceinline__ uint32_t tile_full(int unit) const {
    return weights_full(CONVOLUTIONS) + 8 * unit;
  }
};

/* Return the lower half of wgmma's descriptor of an operand, in units of 16 bytes, and the descriptor of what lies
 * `bytes` bytes further. The operand's rows have SPAN bytes, and are swizzled in that span. */
__device__ __forceinline__ uint32_t lower_half(uint32_t address) {
  uint32_t lower = 1u << 16 | address >> 4;
  asm volatile("" : "+r"(lower)); /* keeps the compiler from calculating all descriptors ahead */
  return lower;
}
template <int SPAN> __device__ __forceinline__ uint64_t operand(uint32_t lower, int bytes) {
  constexpr uint32_t SWIZZLE = SPAN == 128 ? 1u << 30 : 2u << 30;
  return (uint64_t)(SWIZZLE | 8 * SPAN >> 4) << 32 | (lower + bytes / 16);
}

/* Returns the address of 8 channels of a pair of pixels: chunk number `chunk` of its 8, in the order of the 128-byte
 * swizzle. */
__device__ __forceinline__ uint32_t chunk_address(uint32_t stage, int pair, int chunk) {
  return stage + pair * PAIR + ((chunk ^ (pair & 7)) << 4);
}

/* Returns two values as FP16, and 0 for negative ones. */
__device__ __forceinline__ uint32_t pack_positive(float low, float high) {
  uint32_t two;
  asm("cvt.rn.relu.f16x2.f32 %0, %1, %2;" : "=r"(two) : "f"(high), "f"(low));
  return two;
}

__device__ __forceinline__ void clear16(uint32_t to) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %1, %1, %1};" ::"r"(to), "r"(0) : "memory");
}

/* Writes the blocks of zeros among the weights: every fourth one. */
template <class S> __device__ __forceinline__ void clear_blocks(const memory_map<S> &m) {
  constexpr int CHUNKS = TAP / 16;
#pragma unroll
  for (int i = threadIdx.x; i < (BLOCKS + 3) / 4 * CHUNKS; i += S::THREADS)
    clear16(m.weights(i / CHUNKS * 4) + i % CHUNKS * 16);
  shared_fence();
}

/* Loads the weights of `count` convolutions from number `first` on, by the lanes of a warp: each loads one tap, or, if
 * thread blocks are paired, each second lane. */
template <class S>
__device__ __forceinline__ void load_weights(const params &p, const memory_map<S> &m, int first, int count, int lane) {
  if (lane < count)
    barrier_expect(m.weights_full(first + lane), 9 * TAP);
  __syncwarp();
  if (lane < 9 * count) {
    int convolution = first + lane / 9, tap = lane % 9;
    uint32_t to = m.weights(12 * convolution + tap / 3 * 4 + 3 - tap % 3), full = m.weights_full(convolution);
    if (!p.paired)
      load_box(to, &p.weight[convolution], full, tap * C, 0);
    else if (tap % 2 == (int)blockIdx.x % 2)
      load_box_both(to, &p.weight[convolution], full, tap * C, 0);
  }
}

/* Where a tile lies: its first column and row, and the number of the picture. */
template <class S> struct place {
  int left, top, picture;
  __device__ __forceinline__ place(const params &p, int index) {
    int row = quotient(index, p.across);
    picture = quotient(row, p.down);
    left = (index - row * (int)p.across.by) * S::WIDTH;
    top = (row - picture * (int)p.down.by) * S::HEIGHT;
  }
};

/* Loads weights and tiles: what the loading warp does. The weights are constant, so their copies need not wait for the
 * preceding kernel. But they would delay those of the tiles, so only the first convolution's are loaded before. */
template <class S> __device__ __forceinline__ void load(const params &p, const memory_map<S> &m, int lane) {
  int index = blockIdx.x + lane * gridDim.x;
  load_weights<S>(p, m, 0, 1, lane);
  if (lane < S::UNITS && index < p.count) {
    place<S> at(p, index);
    wait_for_predecessors();
    barrier_expect(m.tile_full(lane), S::bytes(0));
    tensor_load(m.stage(lane, 0), &p.x, m.tile_full(lane), 0, at.left / 2 - 2, at.top - 3, at.picture);
  }
  __syncwarp();
  launch_dependents();
  load_weights<S>(p, m, 1, 2, lane);
  /* A thread block without a tile has to stay until all that the other one of the pair sends it is there. */
  for (int i = 0; p.paired && i < CONVOLUTIONS; i++)
    barrier_wait(m.weights_full(i), 0);
}

template <class S> struct worker {
  const params &p;
  const memory_map<S> &m;
  int unit, thread, lane, warp; /* thread, warp: number within the warpgroup */
  int left, top, picture;       /* where the tile lies (struct place) */
  float bias[CONVOLUTIONS][2];
  /* where this lane stores the results of each convolution, and where it finds the block's input for the last one: the
   * address of 8 channels of a pixel, for every second group of 8 columns */
  uint32_t to_first[S::stores(0)], to_second[S::stores(1)], to_result[S::stores(2)], input[S::stores(2)];
  uint32_t residual[S::stores(2)][4];

  __device__ __forceinline__ void load_bias() {
    int channel = warp * 16 % C + lane / 4;
#pragma unroll
    for (int i = 0; i < CONVOLUTIONS; i++) {
      bias[i][0] = p.bias[i] ? __ldg(p.bias[i] + channel) : 0.0f;
      bias[i][1] = p.bias[i] ? __ldg(p.bias[i] + channel + 8) : 0.0f;
    }
  }

  __device__ __forceinline__ void sync() const {
    named_sync(BARRIER_TILE + unit, 128);
  }

  __device__ __forceinline__ bool is_inside(int x, int y) const {
    return (unsigned)x < (unsigned)p.w && (unsigned)y < (unsigned)p.h;
  }

  /* Finds the addresses at which this lane stores the results of the convolution that reads stage STAGE. Results that
   * are not pixels of the next stage, or not of the picture, go elsewhere. */
  template <int STAGE> __device__ __forceinline__ void find_targets(uint32_t (&to)[S::stores(STAGE)]) const {
    constexpr int FROM = S::pitch(STAGE), TO = S::pitch(STAGE + 1);
    int chunk = warp * 2 + lane / 8 % 2, above = top - 2 + STAGE, before = left - 2 + STAGE + warp / 2;
#pragma unroll
    for (int g = 0; g < S::stores(STAGE); g++) {
      int column = 16 * g + lane / 16 * 8 + lane % 8, row = column / FROM, at = column - row * FROM;
      bool wanted = column < 8 * S::groups(STAGE) && row < S::rows(STAGE + 1) && at < TO;
      if (STAGE < 2)
        wanted = wanted && is_inside(before + 2 * at, above + row);
      to[g] = wanted ? chunk_address(m.stage(unit, STAGE + 1), row * TO + at, chunk) : m.dump() + lane % 8 * 16;
      asm volatile("" : "+r"(to[g])); /* makes the compiler calculate it here */
    }
  }

  __device__ __forceinline__ void find_input() {
    constexpr int FROM = S::pitch(2), LAST = 8 * S::groups(2) - 1;
    int chunk = warp * 2 + lane / 8 % 2;
#pragma unroll
    for (int g = 0; g < S::stores(2); g++) {
      int column = 16 * g + lane / 16 * 8 + lane % 8, within = column < LAST ? column : LAST;
      int row = within / FROM, at = within - row * FROM;
      input[g] = chunk_address(m.stage(unit, 0), (row + 3) * S::pitch(0) + at + 2, chunk);
      asm volatile("" : "+r"(input[g]));
    }
  }

  /* Sets those pixels of a stage to zero that are outside of the picture: the padding of the next convolution. */
  template <int STAGE> __device__ __forceinline__ void clear_outside() const {
    constexpr int WIDE = 2 * S::pitch(STAGE);
    if (left >= 2 && top >= 2 && left + S::WIDTH + 2 <= p.w && top + S::HEIGHT + 2 <= p.h)
      return;
#pragma unroll 1
    for (int i = thread; i < S::rows(STAGE) * WIDE; i += 128) {
      int row = i / WIDE, at = i - row * WIDE;
      if (is_inside(left - 3 + STAGE + at, top - 3 + STAGE + row))
        continue;
#pragma unroll
      for (int k = 0; k < 4; k++)
        clear16(chunk_address(m.stage(unit, STAGE), i / 2, at % 2 * 4 + k));
    }
  }

  /* Starts the products of the convolution that reads stage STAGE. */
  template <int STAGE> __device__ __forceinline__ void multiply(float (&sum)[S::groups(STAGE)][4]) const {
    using instruction = Wgmma<8 * S::groups(STAGE)>;
    uint32_t from = lower_half(m.weights(12 * STAGE));
    uint32_t pairs = lower_half(m.stage(unit, STAGE) + (STAGE == 0 ? PAIR / 2 : 0));
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < STEPS; i++) {
      int dy = i / 8, dx = i / 2 % 4, k = i % 2;
      uint64_t b = operand<PAIR>(pairs, (dy * S::pitch(STAGE) * 2 + dx) * PAIR / 2 + 32 * k);
      instruction::scores(sum, operand<2 * C>(from, (4 * dy + 3 - dx) * TAP + 32 * k), b, i);
    }
    wgmma_commit();
  }

  template <int STAGE>
  __device__ __forceinline__ void write(const float (&sum)[S::groups(STAGE)][4],
                                        const uint32_t (&to)[S::stores(STAGE)]) const {
#pragma unroll
    for (int g = 0; g < S::stores(STAGE); g++) {
      uint32_t four[4] = {0, 0, 0, 0};
#pragma unroll
      for (int i = 0; i < 4; i++) {
        if (2 * g + i / 2 >= S::groups(STAGE))
          continue;
        const float *v = sum[2 * g + i / 2] + i % 2 * 2;
        float2 more = STAGE == 2 ? unpack2(residual[STAGE == 2 ? g : 0][i]) : make_float2(0, 0);
        four[i] = pack_positive(v[0] + bias[STAGE][i % 2] + more.x, v[1] + bias[STAGE][i % 2] + more.y);
      }
      store_transposed(to[g], four);
    }
    shared_fence();
  }

  /* Convolves stage STAGE to the next one. `meanwhile` does what can be done during the products. */
  template <int STAGE, class Meanwhile>
  __device__ __forceinline__ void convolve(const uint32_t (&to)[S::stores(STAGE)], Meanwhile meanwhile) {
    float sum[S::groups(STAGE)][4];
    multiply<STAGE>(sum);
    meanwhile();
    wgmma_wait<0>();
    pin(sum);
    if constexpr (STAGE < 2)
      barrier_wait(m.weights_full(STAGE + 1), 0);
    write<STAGE>(sum, to);
    sync();
  }

  /* Calculates tile number `index`. Addresses are found while the kernel waits for the preceding one, and then for the
   * tile: a warp takes as long for them as for a convolution. */
  __device__ __forceinline__ void run(int index) {
    load_bias();
    place<S> at(p, index);
    left = at.left;
    top = at.top;
    picture = at.picture;
    find_targets<0>(to_first);
    clear_outside<1>();
    find_targets<1>(to_second);
    find_targets<2>(to_result);
    find_input();
    barrier_wait(m.weights_full(0), 0);
    barrier_wait(m.tile_full(unit), 0);
    convolve<0>(to_first, [] {});
    convolve<1>(to_second, [&] {
#pragma unroll
      for (int g = 0; g < S::stores(2); g++)
        load_transposed(residual[g], input[g]);
      sync(); /* stage 2 will be where the input is */
      clear_outside<2>();
    });
    convolve<2>(to_result, [] {});
    if (thread == 0) {
      tensor_store(m.stage(unit, 3), &p.y, 0, left / 2, top, picture);
      tensor_stores_finish();
    }
  }
};

template <class S> __global__ void __launch_bounds__(S::THREADS, 1) block_kernel(const __grid_constant__ params p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ char unaligned[];
  /* aligned to 1024 bytes, because TMA's swizzle (order of data in shared memory) depends on the address modulo 1024 */
  memory_map<S> m = {(shared_address(unaligned) + 1023) & ~1023u};
  int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0), lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    for (int i = 0; i < CONVOLUTIONS + S::UNITS; i++)
      barrier_init(m.weights_full(i), 1);
    tensor_prefetch(&p.x);
    tensor_prefetch(&p.y);
    barrier_init_fence();
  }
  if (p.paired)
    cluster_begin();
  clear_blocks<S>(m);
  __syncthreads();
  if (p.paired)
    cluster_begun();
  if (warp == S::THREADS / 32 - 1) {
    load<S>(p, m, lane);
    return;
  }
  int unit = S::UNITS == 1 ? 0 : warp / 4, index = blockIdx.x + unit * gridDim.x;
  if (index < p.count)
    worker<S>{p, m, unit, (int)threadIdx.x % 128, lane, warp % 4}.run(index);
#endif
}

/* Makes a tensor map, which describes a picture to TMA as pairs of pixels. */
bool encode(const struct product_device *device, CUtensorMap *map, const void *data, const struct block_args *a,
            int wide, int tall) {
  cuuint64_t w = (cuuint64_t)a->w / 2, h = (cuuint64_t)a->h, n = (cuuint64_t)a->n;
  cuuint64_t sizes[4] = {2 * C, w, h, n}, pitch[3] = {PAIR, PAIR * w, PAIR * w * h};
  cuuint32_t box[4] = {2 * C, (cuuint32_t)wide, (cuuint32_t)tall, 1}, steps[4] = {1, 1, 1, 1};
  return ((PFN_cuTensorMapEncodeTiled_v12000)device->encode_tiled)(
             map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 4, const_cast<void *>(data), sizes, pitch, box, steps,
             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

bool encode_weights(const struct product_device *device, CUtensorMap *map, const void *data) {
  cuuint64_t sizes[2] = {9 * C, C}, pitch[1] = {9 * C * 2};
  cuuint32_t box[2] = {C, C}, steps[2] = {1, 1};
  return ((PFN_cuTensorMapEncodeTiled_v12000)device->encode_tiled)(
             map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, const_cast<void *>(data), sizes, pitch, box, steps,
             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_64B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

template <class S>
cudaError_t launch_shape(const struct product_device *device, const struct launch_queue *queue,
                         const struct block_args *a) {
  params p = {};
  bool described =
      encode(device, &p.x, a->x, a, S::pitch(0), S::rows(0)) && encode(device, &p.y, a->y, a, S::pitch(3), S::rows(3));
  for (int i = 0; i < CONVOLUTIONS; i++) {
    described = described && encode_weights(device, &p.weight[i], a->weight[i]);
    p.bias[i] = a->bias[i];
  }
  if (!described)
    return cudaErrorInvalidValue;
  p.w = a->w;
  p.h = a->h;
  p.across = divisor_of((int)blocks_for((size_t)a->w, S::WIDTH));
  p.down = divisor_of((int)blocks_for((size_t)a->h, S::HEIGHT));
  p.count = (int)(p.across.by * p.down.by * (unsigned)a->n);
  unsigned blocks = (unsigned)(p.count < queue->sms ? p.count : queue->sms), even = (blocks + 1) / 2 * 2;
  p.paired = queue->overlap && even <= (unsigned)queue->sms;
  return launch_cluster(queue, block_kernel<S>, dim3(p.paired ? even : blocks), S::THREADS, S::SHARED_BYTES,
                        p.paired ? 2 : 1, p);
}

/* The compiled kernels, from small tiles to large ones. */
const struct kind {
  int width, height, units;
  cudaError_t (*launch)(const struct product_device *, const struct launch_queue *, const struct block_args *);
} kinds[] = {
    {8, 4, 1, launch_shape<shape<8, 4, 1>>},
    {16, 8, 1, launch_shape<shape<16, 8, 1>>},
    {32, 8, 2, launch_shape<shape<32, 8, 2>>},
};

/* Returns the kernel with the smallest tiles such that all are calculated at the same time; NULL: there are too many
 * even of the largest ones, and three convolutions are faster. */
const struct kind *choose(const struct launch_queue *queue, const struct block_args *a) {
  for (const struct kind &kind : kinds) {
    long across = blocks_for((size_t)a->w, (size_t)kind.width), down = blocks_for((size_t)a->h, (size_t)kind.height);
    if (a->n * across * down <= (long)queue->sms * kind.units)
      return &kind;
  }
  return nullptr;
}

bool aligned(const void *pointer) {
  return (uintptr_t)pointer % 16 == 0;
}

} // namespace block_sm90

bool block_sm90_supported(const struct product_device *device, const struct launch_queue *queue,
                          const struct block_args *a) {
  using namespace block_sm90;
  return device->encode_tiled && a->c == C && a->w % 2 == 0 && aligned(a->x) && aligned(a->y) &&
         aligned(a->weight[0]) && aligned(a->weight[1]) && aligned(a->weight[2]) && choose(queue, a);
}

cudaError_t launch_block_sm90(const struct product_device *device, const struct launch_queue *queue,
                              const struct block_args *a) {
  return block_sm90_supported(device, queue, a) ? block_sm90::choose(queue, a)->launch(device, queue, a)
                                                : cudaErrorNotSupported;
}
