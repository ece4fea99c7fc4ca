/* y = epilogue(A W^T) by TMA and wgmma. PRODUCT.md is the page to read first.
 *
 * A thread block makes a tile of M rows and N columns from its share of the sum. One thread, the producer, keeps a ring
 * of stages filled with blocks of 64 channels of A and W; M / 64 warpgroups, the consumers, multiply. After the last
 * block the ring brings the tile's residual, and in its place the results leave. */
#include "cuda/kernels/product_sm90.h"

#include <cudaTypedefs.h>

#include "attention/hopper.cuh"
#include "cuda/kernels/common.cuh"

namespace product_sm90 {

using namespace attention;

constexpr int BLOCK_K = 64, ROW_BYTES = 2 * BLOCK_K;
enum { BARRIER_GROUP = 1 };         /* named barriers: one a consumer */
constexpr int ALONE_BYTES = 118000; /* more than half of a multiprocessor's shared memory: keeps a second away */

template <int M_, int N_, int STAGES_, int BLOCKS_, bool SUMS_> struct tile_shape {
  static constexpr int M = M_, N = N_, STAGES = STAGES_, BLOCKS = BLOCKS_;
  static constexpr int CONSUMERS = M / 64, THREADS = CONSUMERS * 128 + 32;
  static constexpr int HALF = N / 2; /* rows of W that one copy brings */
  static constexpr int A_BYTES = M * ROW_BYTES, B_BYTES = N * ROW_BYTES, STAGE_BYTES = A_BYTES + B_BYTES;
  /* Results leave in chunks of columns: 64 as swizzled rows of 128 bytes, or 80 as plain rows of 160. */
  static constexpr int CHUNK = N % 80 == 0 ? 80 : 64, CHUNKS = N / CHUNK;
  static constexpr int CHUNK_BYTES = M * CHUNK * 2;
  static constexpr bool GATED = HALF % CHUNK == 0; /* can do GEGLU: the left half values, the right half their gates */
  /* Where a pair splits the sum: what the other thread block has of this one's half of the columns. */
  static constexpr bool SUMS = SUMS_;
  static constexpr int INBOX_GROUP_BYTES = 64 * HALF * 4;
  static constexpr int BIAS_OFFSET = STAGES * STAGE_BYTES, TIME_OFFSET = BIAS_OFFSET + N * 4;
  static constexpr int INBOX_OFFSET = TIME_OFFSET + N * 2;
  static constexpr int BARRIER_OFFSET = INBOX_OFFSET + (SUMS ? CONSUMERS * INBOX_GROUP_BYTES : 0);
  static constexpr int BARRIERS = 2 * STAGES + 1 + CONSUMERS;
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
  float *partial;
  unsigned *arrived;
  int splits, parts, depth; /* of the sum: in the workspace; in all, with those of pairs; its blocks */
  int x_blocks, tap_blocks;
  int c, channels;       /* of x; of x and x2 */
  int columns, gate;     /* of y; rows of W from values to gates, or 0 */
  int out_w, pixels;     /* of a picture of y; taps 1: not read */
  int taps, stride, pad; /* taps: 1 or 9 */
  enum product_pair pair;
};

/* --- copies --- */

__device__ __forceinline__ void load_box(uint32_t to, const CUtensorMap *map, uint32_t barrier, int x, int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(
          to),
      "l"(map), "r"(barrier), "r"(x), "r"(y)
      : "memory");
}

/* The same to both thread blocks of a pair, and both barriers. */
__device__ __forceinline__ void load_box_both(uint32_t to, const CUtensorMap *map, uint32_t barrier, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
               "[%1, {%3, %4}], [%2], %5;" ::"r"(to),
               "l"(map), "r"(barrier), "r"(x), "r"(y), "h"((uint16_t)3)
               : "memory");
}

struct pixel {
  int w, h, n;
};

/* Pixels in a row of the convolution's rows, from the one whose window begins at `at` on; dx, dy: which of the window.
 */
__device__ __forceinline__ void load_pixels(uint32_t to, const CUtensorMap *map, uint32_t barrier, int c,
                                            const pixel &at, uint16_t dx, uint16_t dy) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, "
               "%5, %6}], [%2], {%7, %8};" ::"r"(to),
               "l"(map), "r"(barrier), "r"(c), "r"(at.w), "r"(at.h), "r"(at.n), "h"(dx), "h"(dy)
               : "memory");
}

__device__ __forceinline__ void load_pixels_both(uint32_t to, const CUtensorMap *map, uint32_t barrier, int c,
                                                 const pixel &at, uint16_t dx, uint16_t dy) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster "
               "[%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8}, %9;" ::"r"(to),
               "l"(map), "r"(barrier), "r"(c), "r"(at.w), "r"(at.h), "r"(at.n), "h"(dx), "h"(dy), "h"((uint16_t)3)
               : "memory");
}

__device__ __forceinline__ void store_box(uint32_t from, const CUtensorMap *map, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map), "r"(from),
               "r"(x), "r"(y)
               : "memory");
}

__device__ __forceinline__ void load_bytes(uint32_t to, const void *from, int bytes, uint32_t barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(from), "r"(bytes), "r"(barrier)
               : "memory");
}

/* --- a thread block's part --- */

template <class T> struct work {
  uint32_t base;   /* of shared memory */
  int row, column; /* the tile's first: row of y; column of y */
  int begin, end;  /* blocks of the sum */

  __device__ __forceinline__ work(const params &p, uint32_t memory) : base(memory) {
    row = (int)blockIdx.x * T::M;
    column = (int)blockIdx.y * (p.gate ? T::HALF : T::N);
    begin = p.parts == 1 ? 0 : p.depth * blockIdx.z / (unsigned)p.parts;
    end = p.parts == 1 ? p.depth : p.depth * (blockIdx.z + 1) / (unsigned)p.parts;
  }
  __device__ __forceinline__ uint32_t stage(int s) const {
    return base + s * T::STAGE_BYTES;
  }
  __device__ __forceinline__ uint32_t full(int s) const {
    return base + T::BARRIER_OFFSET + 8 * s;
  }
  __device__ __forceinline__ uint32_t empty(int s) const {
    return base + T::BARRIER_OFFSET + 8 * (T::STAGES + s);
  }
  __device__ __forceinline__ uint32_t vectors() const {
    return base + T::BARRIER_OFFSET + 8 * 2 * T::STAGES;
  }
  __device__ __forceinline__ uint32_t inbox_full(int group) const {
    return vectors() + 8 + 8 * group;
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
  __device__ __forceinline__ static int chunks(const params &p) {
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

/* --- producer: one thread --- */

template <class T> struct producer {
  const params &p;
  const work<T> &w;
  int rank; /* in the pair */
  pixel at;

  __device__ __forceinline__ producer(const params &args, const work<T> &mine) : p(args), w(mine), at() {
    rank = p.pair == PAIR_NONE ? 0 : cluster_rank();
    if (p.taps > 1) {
      int first = w.row + (p.pair == PAIR_INPUT ? rank * (T::M / 2) : 0);
      int picture = first / p.pixels, pixel = first - picture * p.pixels, y = pixel / p.out_w;
      at = {(pixel - y * p.out_w) * p.stride - p.pad, y * p.stride - p.pad, picture};
    }
  }

  /* Column of W at which a block begins: block `inner` of a tap. */
  __device__ __forceinline__ int weight_column(int tap, int inner) const {
    return tap * p.channels + (inner < p.x_blocks ? inner * BLOCK_K : p.c + (inner - p.x_blocks) * BLOCK_K);
  }

  __device__ __forceinline__ void load_weights(int s, int tap, int inner) const {
    int k = weight_column(tap, inner);
    uint32_t to = w.stage(s) + T::A_BYTES;
    if (p.pair == PAIR_WEIGHTS) {
      load_box_both(to + rank * (T::B_BYTES / 2), &p.weight, w.full(s), k, w.weight_row(p, rank));
      return;
    }
    load_box(to, &p.weight, w.full(s), k, w.weight_row(p, 0));
    load_box(to + T::B_BYTES / 2, &p.weight, w.full(s), k, w.weight_row(p, 1));
  }

  __device__ __forceinline__ void load_input(int s, int tap, int inner) const {
    bool second = inner >= p.x_blocks, both = p.pair == PAIR_INPUT;
    const CUtensorMap *map = second ? &p.x2 : &p.x;
    int c = (second ? inner - p.x_blocks : inner) * BLOCK_K, skip = both ? rank * (T::M / 2) : 0;
    uint32_t to = w.stage(s) + skip * ROW_BYTES;
    if (p.taps == 1) {
      if (both)
        load_box_both(to, map, w.full(s), c, w.row + skip);
      else
        load_box(to, map, w.full(s), c, w.row);
      return;
    }
    uint16_t dy = tap / 3, dx = tap - dy * 3;
    if (both)
      load_pixels_both(to, map, w.full(s), c, at, dx, dy);
    else
      load_pixels(to, map, w.full(s), c, at, dx, dy);
  }

  /* Bias and time row. Both halves' parts that are there; bytes of both are multiples of 16. */
  __device__ __forceinline__ int half_columns(int half) const {
    int left = p.gate ? p.columns - w.column : p.columns - w.column - half * T::HALF;
    return min(max(left, 0), (int)T::HALF);
  }
  __device__ __forceinline__ void load_bias() const {
    for (int half = 0; half < 2; half++)
      if (int count = half_columns(half))
        load_bytes(w.base + T::BIAS_OFFSET + half * T::HALF * 4, p.bias + w.weight_row(p, half), count * 4,
                   w.vectors());
  }
  __device__ __forceinline__ int time_columns() const {
    return max(min(p.columns - w.column, (int)T::N), 0);
  }
  __device__ __forceinline__ void load_time() const {
    if (int count = time_columns())
      load_bytes(w.base + T::TIME_OFFSET, p.time + w.column, count * 2, w.vectors());
  }
  __device__ __forceinline__ int vector_bytes() const {
    return (p.bias ? (half_columns(0) + half_columns(1)) * 4 : 0) + (p.time ? time_columns() * 2 : 0);
  }

  /* The weights of the first stages are asked for before what came before in the stream is done. */
  __device__ __forceinline__ void run() const {
    int tap = w.begin / p.tap_blocks, inner = w.begin - tap * p.tap_blocks;
    int tap_ahead = tap, inner_ahead = inner, count = w.end - w.begin, ahead = min(count, (int)T::STAGES);
    auto step = [&](int &t, int &i) {
      if (++i == p.tap_blocks) {
        i = 0;
        t++;
      }
    };
    bool vectors = w.has_vectors(p);
    if (vectors)
      barrier_expect(w.vectors(), vector_bytes());
    if (vectors && p.bias)
      load_bias();
#pragma unroll 1
    for (int i = 0; i < ahead; i++, step(tap_ahead, inner_ahead)) {
      barrier_expect(w.full(i), T::STAGE_BYTES);
      load_weights(i, tap_ahead, inner_ahead);
    }
    wait_for_predecessors();
    launch_dependents();
    if (vectors && p.time)
      load_time();
    ring<T> at_stage;
#pragma unroll 1
    for (int i = 0; i < count; i++, step(tap, inner), at_stage.advance()) {
      int s = at_stage.stage;
      if (i >= ahead) {
        barrier_wait(w.empty(s), at_stage.parity ^ 1);
        barrier_expect(w.full(s), T::STAGE_BYTES);
        load_weights(s, tap, inner);
      }
      load_input(s, tap, inner);
    }
    bool sum = T::SUMS && p.pair == PAIR_SUM;
    int column = w.column + (sum ? rank * T::HALF : 0), bytes = sum ? T::M * T::HALF * 2 : T::CHUNK_BYTES;
#pragma unroll 1
    for (int i = 0; i < w.chunks(p); i++, column += T::CHUNK, at_stage.advance()) {
      int s = at_stage.stage;
      barrier_wait(w.empty(s), at_stage.parity ^ 1);
      if (p.has_residual) {
        barrier_expect(w.full(s), bytes);
        load_box(w.stage(s), &p.residual, w.full(s), column, w.row);
      } else {
        barrier_arrive(w.full(s));
      }
    }
  }
};

/* --- consumers --- */

__device__ __forceinline__ uint32_t pack(float a, float b) {
  __half2 two = __floats2half2_rn(a, b);
  return *reinterpret_cast<uint32_t *>(&two);
}

__device__ __forceinline__ float2 unpack(uint32_t two) {
  return __half22float2(*reinterpret_cast<__half2 *>(&two));
}

template <class T> struct consumer {
  const params &p;
  const work<T> &w;
  char *memory;
  unsigned *told; /* one a consumer, shared: who came before */
  int group, thread, lane, rank;
  float sum[T::N / 8][4];
  ring<T> at;

  __device__ __forceinline__ void group_sync() const {
    named_sync(BARRIER_GROUP + group, 128);
  }

  /* A stage is free when all that read it have arrived, in both thread blocks of a pair. */
  __device__ __forceinline__ void release(int stage) const {
    if (lane == 0) {
      barrier_arrive(w.empty(stage));
      if (p.pair == PAIR_WEIGHTS || p.pair == PAIR_INPUT)
        barrier_arrive_remote(cluster_address(w.empty(stage), rank ^ 1));
    }
  }

  /* Sums begin as bias and time row, in the first split: that costs nothing while the first blocks are on their way. */
  __device__ __forceinline__ void begin() {
    int column = lane % 4 * 2;
    clear();
    if (w.has_vectors(p)) {
      barrier_wait(w.vectors(), 0);
      const float2 *bias = reinterpret_cast<const float2 *>(memory + T::BIAS_OFFSET + column * 4);
      const uint32_t *time = reinterpret_cast<const uint32_t *>(memory + T::TIME_OFFSET + column * 2);
      if (p.bias)
#pragma unroll
        for (int g = 0; g < T::N / 8; g++)
          add(sum[g], bias[g * 4]);
      if (p.time)
#pragma unroll
        for (int g = 0; g < T::N / 8; g++)
          add(sum[g], unpack(time[g * 4]));
    }
    pin(sum);
  }

  __device__ __forceinline__ static void add(float (&to)[4], float2 x) {
    to[0] += x.x;
    to[1] += x.y;
    to[2] += x.x;
    to[3] += x.y;
  }

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int g = 0; g < T::N / 8; g++)
#pragma unroll
      for (int i = 0; i < 4; i++)
        sum[g][i] = 0;
  }

  /* Issues the products of the stage that the ring points at; returns which it is. */
  __device__ __forceinline__ int issue(uint32_t a, uint32_t b) {
    int stage = at.stage;
    uint32_t offset = stage * (T::STAGE_BYTES / 16);
    barrier_wait(w.full(stage), at.parity);
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < BLOCK_K / 16; k++)
      Wgmma<T::N>::scores(sum, descriptor(a + offset, k * 32), descriptor(b + offset, k * 32), 1);
    wgmma_commit();
    at.advance();
    return stage;
  }

  __device__ __forceinline__ void multiply() {
    uint32_t a = describe_rows(w.base + group * 64 * ROW_BYTES), b = describe_rows(w.base + T::A_BYTES);
    int last = issue(a, b);
#pragma unroll 1
    for (int i = w.begin + 1; i < w.end; i++) {
      int stage = issue(a, b);
      wgmma_wait<1>();
      release(last);
      last = stage;
    }
    wgmma_wait<0>();
    pin(sum);
    release(last);
  }

  template <int FIRST> __device__ __forceinline__ void send_half() const {
    uint32_t to = cluster_address(w.base + T::INBOX_OFFSET + group * T::INBOX_GROUP_BYTES + thread * 16, rank ^ 1);
    uint32_t full = cluster_address(w.inbox_full(group), rank ^ 1);
#pragma unroll
    for (int g = 0; g < T::HALF / 8; g++)
      send(to + g * 2048, sum[FIRST + g], full);
  }

  /* Two thread blocks have the sums of one tile. Each sends the other its half of the columns and adds what it gets to
   * its own, which then are the first of sum[]. */
  __device__ __forceinline__ void add_pair() {
    if (rank == 0) {
      send_half<T::HALF / 8>();
    } else {
      send_half<0>();
#pragma unroll
      for (int g = 0; g < T::HALF / 8; g++)
#pragma unroll
        for (int i = 0; i < 4; i++)
          sum[g][i] = sum[g + T::HALF / 8][i];
    }
    barrier_wait(w.inbox_full(group), 0);
    const float4 *inbox =
        reinterpret_cast<const float4 *>(memory + T::INBOX_OFFSET + group * T::INBOX_GROUP_BYTES) + thread;
#pragma unroll
    for (int g = 0; g < T::HALF / 8; g++)
      add(sum[g], inbox[g * 128]);
  }

  __device__ __forceinline__ static void add(float (&to)[4], float4 x) {
    to[0] += x.x;
    to[1] += x.y;
    to[2] += x.z;
    to[3] += x.w;
  }

  /* Leaves this split's first COLUMNS sums in the workspace. The last to come adds up all, in the order of the splits,
   * and returns true. */
  template <int COLUMNS> __device__ __forceinline__ bool add_splits() {
    int halves = T::N / COLUMNS, tiles = gridDim.x * gridDim.y;
    int tile = (blockIdx.y * gridDim.x + blockIdx.x) * halves + (halves == 2 ? rank : 0);
    int index = tile * T::CONSUMERS + group, split = blockIdx.z / halves;
    float4 *all = reinterpret_cast<float4 *>(p.partial) + (size_t)index * (64 * COLUMNS / 4) + thread;
    size_t pitch = (size_t)tiles * halves * T::CONSUMERS * (64 * COLUMNS / 4);
    float4 *mine = all + split * pitch;
#pragma unroll
    for (int g = 0; g < COLUMNS / 8; g++)
      __stcg(mine + g * 128, make_float4(sum[g][0], sum[g][1], sum[g][2], sum[g][3]));
    group_sync();
    if (thread == 0)
      told[group] = add_acquire_release(p.arrived + index, 1);
    group_sync();
    if (told[group] != (unsigned)p.splits - 1)
      return false;
    if (thread == 0)
      p.arrived[index] = 0;
    clear();
#pragma unroll 1
    for (int s = 0; s < p.splits; s++)
#pragma unroll
      for (int g = 0; g < COLUMNS / 8; g++)
        add(sum[g], __ldcg(all + s * pitch + g * 128));
    return true;
  }

  /* Where two columns of a chunk lie in its stage. */
  template <int COLUMNS> __device__ __forceinline__ static int place(int row, int group_of_8, int lane) {
    int within = lane % 4 * 4;
    return COLUMNS == 64 ? row * 128 + ((group_of_8 ^ row) % 8) * 16 + within
                         : row * (COLUMNS * 2) + group_of_8 * 16 + within;
  }

  template <int COLUMNS, bool RESIDUAL> __device__ __forceinline__ void finish_chunk(char *stage, int chunk) {
    int row = group * 64 + thread / 32 * 16 + lane / 4;
#pragma unroll
    for (int g = 0; g < COLUMNS / 8; g++) {
      const float *v = sum[chunk * (COLUMNS / 8) + g];
#pragma unroll
      for (int half = 0; half < 2; half++) {
        uint32_t *to = reinterpret_cast<uint32_t *>(stage + place<COLUMNS>(row + 8 * half, g, lane));
        float2 more = RESIDUAL ? unpack(*to) : make_float2(0, 0);
        *to = pack(fmaxf(v[2 * half] + more.x, p.least), fmaxf(v[2 * half + 1] + more.y, p.least));
      }
    }
  }

  /* GEGLU: values in the left half of the sums, their gates in the right half. */
  __device__ __forceinline__ void finish_gated_chunk(char *stage, int chunk) {
    int row = group * 64 + thread / 32 * 16 + lane / 4;
#pragma unroll
    for (int g = 0; g < T::CHUNK / 8; g++) {
      const float *v = sum[chunk * (T::CHUNK / 8) + g], *gate = sum[chunk * (T::CHUNK / 8) + g + T::HALF / 8];
#pragma unroll
      for (int half = 0; half < 2; half++)
        *reinterpret_cast<uint32_t *>(stage + place<T::CHUNK>(row + 8 * half, g, lane)) =
            pack(v[2 * half] * gelu(gate[2 * half]), v[2 * half + 1] * gelu(gate[2 * half + 1]));
    }
  }

  template <int COLUMNS> __device__ __forceinline__ void store(int stage, int column) {
    int warp_row = group * 64 + thread / 32 * 16;
    shared_fence();
    __syncwarp();
    if (lane == 0) {
      store_box(w.stage(stage) + warp_row * COLUMNS * 2, &p.y, column, w.row + warp_row);
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
  }

  /* COLUMNS of the sums, in chunks. Also where nothing is to be done the stages are waited for: copies end before what
   * they are copied to. */
  template <int CHUNK, int CHUNKS, bool GATED> __device__ __forceinline__ void finish_tile(bool mine, int column) {
#pragma unroll
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
      barrier_wait(w.full(at.stage), at.parity);
      if (mine) {
        char *stage = memory + at.stage * T::STAGE_BYTES;
        if constexpr (GATED)
          finish_gated_chunk(stage, chunk);
        else if (p.has_residual)
          finish_chunk<CHUNK, true>(stage, chunk);
        else
          finish_chunk<CHUNK, false>(stage, chunk);
        store<CHUNK>(at.stage, column + chunk * CHUNK);
      }
      at.advance();
    }
  }

  __device__ __forceinline__ void run() {
    begin();
    multiply();
    if (T::SUMS && p.pair == PAIR_SUM) {
      add_pair();
      bool mine = p.splits == 1 || add_splits<T::HALF>();
      finish_tile<T::HALF, 1, false>(mine, w.column + rank * T::HALF);
    } else {
      bool mine = p.splits == 1 || add_splits<T::N>();
      if (T::GATED && p.gate)
        finish_tile<T::CHUNK, T::CHUNKS / 2, T::GATED>(mine, w.column);
      else
        finish_tile<T::CHUNK, T::CHUNKS, false>(mine, w.column);
    }
    if (lane == 0)
      asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
  }
};

template <class T>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS) product_kernel(const __grid_constant__ params p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ char unaligned[];
  __shared__ unsigned told[T::CONSUMERS]; /* it also tells product_open that there is code here */
  uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(unaligned));
  uint32_t aligned = (address + 1023) & ~1023u; /* the period of the swizzle */
  char *memory = unaligned + (aligned - address);
  asm volatile("" : "+r"(aligned));
  work<T> w(p, aligned);
  int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);
  if (threadIdx.x == T::CONSUMERS * 128) {
    for (int s = 0; s < T::STAGES; s++) {
      barrier_init(w.full(s), 1);
      barrier_init(w.empty(s), 4 * T::CONSUMERS * (p.pair == PAIR_WEIGHTS || p.pair == PAIR_INPUT ? 2 : 1));
    }
    barrier_init(w.vectors(), 1);
    for (int group = 0; T::SUMS && group < T::CONSUMERS; group++)
      barrier_init(w.inbox_full(group), 1);
    barrier_init_fence();
    for (int group = 0; T::SUMS && group < T::CONSUMERS; group++)
      barrier_expect(w.inbox_full(group), T::INBOX_GROUP_BYTES); /* once; without a pair nobody waits for it */
  } else if (threadIdx.x == 0) {
    tensor_prefetch(&p.weight);
    tensor_prefetch(&p.x);
    tensor_prefetch(&p.y);
    if (p.has_residual)
      tensor_prefetch(&p.residual);
  }
  if (p.pair != PAIR_NONE) {
    cluster_arrive_relaxed();
    cluster_wait();
  } else {
    __syncthreads();
  }
  if (warp == T::CONSUMERS * 4) {
    if (threadIdx.x % 32 == 0)
      producer<T>(p, w).run();
    __syncwarp();
  } else {
    int thread = threadIdx.x % 128;
    consumer<T> c = {p, w, memory, told, warp / 4, thread, thread % 32, p.pair == PAIR_NONE ? 0 : cluster_rank()};
    c.run();
  }
  if (p.pair != PAIR_NONE) { /* nobody's shared memory goes while the other may still arrive there */
    cluster_arrive_relaxed();
    cluster_wait();
  }
#endif
}

} // namespace product_sm90

/* --- launch --- */

namespace {

using namespace product_sm90;

using shape_128x80 = tile_shape<128, 80, 4, 2, false>;
using shape_128x160 = tile_shape<128, 160, 5, 1, false>;
using shape_64x80 = tile_shape<64, 80, 5, 2, true>;
using shape_128x128 = tile_shape<128, 128, 3, 2, false>;
using shape_128x80_deep = tile_shape<128, 80, 7, 1, true>;
using shape_64x80_deep = tile_shape<64, 80, 11, 1, true>;
using shape_128x64 = tile_shape<128, 64, 3, 3, false>;
using shape_64x64 = tile_shape<64, 64, 4, 3, true>;

size_t rows_of(const struct gemm_args *args) {
  return (size_t)args->n * args->out_h * args->out_w;
}

dim3 grid_of(const struct product_args *args) {
  const struct product_tile_size *size = &product_tile_sizes[args->tile];
  unsigned across = blocks_for(rows_of(&args->gemm), size->m), down = blocks_for((size_t)args->gemm.columns, size->n);
  if (args->pair == PAIR_WEIGHTS)
    across = (across + 1) / 2 * 2;
  if (args->pair == PAIR_INPUT)
    down = (down + 1) / 2 * 2;
  return dim3(across, down, (unsigned)args->gemm.splits * (args->pair == PAIR_SUM ? 2 : 1));
}

bool encode_matrix(const struct product_device *device, CUtensorMap *map, const void *data, size_t rows, size_t columns,
                   int box_rows, int box_columns, bool swizzled) {
  cuuint64_t sizes[2] = {columns, rows}, pitch[1] = {columns * 2};
  cuuint32_t box[2] = {(cuuint32_t)box_columns, (cuuint32_t)box_rows}, steps[2] = {1, 1};
  return ((PFN_cuTensorMapEncodeTiled_v12000)device->encode_tiled)(
             map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, const_cast<void *>(data), sizes, pitch, box, steps,
             CU_TENSOR_MAP_INTERLEAVE_NONE, swizzled ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE,
             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

/* The pictures as rows of windows: a copy takes, of `pixels` neighbouring windows, the pixel at one place. */
bool encode_windows(const struct product_device *device, CUtensorMap *map, const void *data, int c,
                    const struct gemm_args *a, int pixels) {
  cuuint64_t sizes[4] = {(cuuint64_t)c, (cuuint64_t)a->w, (cuuint64_t)a->h, (cuuint64_t)a->n};
  cuuint64_t pitch[3] = {(cuuint64_t)c * 2, (cuuint64_t)c * a->w * 2, (cuuint64_t)c * a->w * a->h * 2};
  int lower[2] = {-a->pad, -a->pad};
  int upper[2] = {(a->out_w - 1) * a->stride - a->pad - (a->w - 1), (a->out_h - 1) * a->stride - a->pad - (a->h - 1)};
  cuuint32_t steps[4] = {1, (cuuint32_t)a->stride, (cuuint32_t)a->stride, 1};
  return ((PFN_cuTensorMapEncodeIm2col_v12000)device->encode_im2col)(
             map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 4, const_cast<void *>(data), sizes, pitch, lower, upper, BLOCK_K,
             (cuuint32_t)pixels, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

bool encode_input(const struct product_device *device, CUtensorMap *map, const void *data, int c,
                  const struct gemm_args *a, int rows) {
  return a->kernel == 1 ? encode_matrix(device, map, data, rows_of(a), (size_t)c, rows, BLOCK_K, true)
                        : encode_windows(device, map, data, c, a, rows);
}

/* All but the tensor maps. */
params describe(const struct product_args *args) {
  const struct gemm_args *a = &args->gemm;
  bool gated = a->act == ACT_GEGLU;
  params p = {};
  p.bias = a->bias;
  p.time = a->time;
  p.has_residual = a->residual != nullptr;
  p.least = a->act == ACT_RELU ? 0 : -INFINITY;
  p.partial = a->partial;
  p.arrived = a->arrived;
  p.splits = a->splits;
  p.parts = a->splits * (args->pair == PAIR_SUM ? 2 : 1);
  p.taps = a->kernel * a->kernel;
  p.depth = product_depth(a);
  p.x_blocks = (a->c + BLOCK_K - 1) / BLOCK_K;
  p.tap_blocks = p.depth / p.taps;
  p.c = a->c;
  p.channels = a->c + a->c2;
  p.columns = gated ? a->columns / 2 : a->columns;
  p.gate = gated ? p.columns : 0;
  p.out_w = a->out_w;
  p.pixels = a->out_w * a->out_h;
  p.stride = a->stride;
  p.pad = a->pad;
  p.pair = args->pair;
  return p;
}

template <class T> bool encode_maps(const struct product_device *device, params *p, const struct product_args *args) {
  const struct gemm_args *a = &args->gemm;
  size_t rows = rows_of(a), columns = (size_t)p->columns, depth = (size_t)p->taps * p->channels;
  int input_rows = args->pair == PAIR_INPUT ? T::M / 2 : T::M, chunk = args->pair == PAIR_SUM ? T::HALF : T::CHUNK;
  return encode_input(device, &p->x, a->x, a->c, a, input_rows) &&
         (!a->x2 || encode_input(device, &p->x2, a->x2, a->c2, a, input_rows)) &&
         encode_matrix(device, &p->weight, a->weight, (size_t)a->columns, depth, T::HALF, BLOCK_K, true) &&
         encode_matrix(device, &p->y, a->y, rows, columns, 16, chunk, chunk == 64) &&
         (!a->residual || encode_matrix(device, &p->residual, a->residual, rows, columns, T::M, chunk, chunk == 64));
}

template <class T>
cudaError_t launch_tile(const struct product_device *device, const struct launch_queue *queue,
                        const struct product_args *args) {
  params p = describe(args);
  if (!encode_maps<T>(device, &p, args))
    return cudaErrorInvalidValue;
  /* Thread blocks that are no more than the multiprocessors are to lie on one each: where the kernel before leaves some
   * multiprocessors early, two would share one and take twice as long. */
  bool alone = product_blocks(args) <= queue->sms && T::SHARED_BYTES < ALONE_BYTES;
  int shared = alone ? ALONE_BYTES : T::SHARED_BYTES;
  cudaError_t status = cudaFuncSetAttribute(product_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
  if (status != cudaSuccess)
    return status;
  cudaLaunchAttribute attributes[2] = {};
  int count = 0;
  if (queue->overlap) {
    attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[count++].val.programmaticStreamSerializationAllowed = 1;
  }
  if (args->pair != PAIR_NONE) {
    attributes[count].id = cudaLaunchAttributeClusterDimension;
    attributes[count].val.clusterDim.x = args->pair == PAIR_WEIGHTS ? 2 : 1;
    attributes[count].val.clusterDim.y = args->pair == PAIR_INPUT ? 2 : 1;
    attributes[count++].val.clusterDim.z = args->pair == PAIR_SUM ? 2 : 1;
  }
  cudaLaunchConfig_t config = {};
  config.gridDim = grid_of(args);
  config.blockDim = dim3(T::THREADS);
  config.dynamicSmemBytes = (size_t)shared;
  config.stream = queue->stream;
  config.attrs = attributes;
  config.numAttrs = count;
  return cudaLaunchKernelEx(&config, product_kernel<T>, p);
}

void *find_driver_function(const char *name) {
  void *function = nullptr;
  cudaDriverEntryPointQueryResult found;
  cudaError_t status = cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found);
  return status == cudaSuccess && found == cudaDriverEntryPointSuccess ? function : nullptr;
}

bool gates(enum product_tile tile) {
  return tile == PRODUCT_128x160 ? shape_128x160::GATED : tile == PRODUCT_128x128 && shape_128x128::GATED;
}

bool sums(enum product_tile tile) {
  return tile == PRODUCT_64x80 || tile == PRODUCT_128x80_DEEP || tile == PRODUCT_64x80_DEEP || tile == PRODUCT_64x64;
}

bool aligned(const void *pointer) {
  return (uintptr_t)pointer % 16 == 0;
}

} // namespace

const struct product_tile_size product_tile_sizes[PRODUCT_TILES] = {
    {128, 80, 2}, {128, 160, 1}, {64, 80, 2}, {128, 128, 2}, {128, 80, 1}, {64, 80, 1}, {128, 64, 3}, {64, 64, 3}};

void product_open(struct product_device *device) {
  int index, major = 0, minor = 0;
  cudaFuncAttributes attributes = {};
  *device = {};
  if (cudaGetDevice(&index) != cudaSuccess ||
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, index) != cudaSuccess ||
      cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, index) != cudaSuccess || major != 9 ||
      minor != 0 || cudaFuncGetAttributes(&attributes, product_kernel<shape_128x80>) != cudaSuccess ||
      attributes.sharedSizeBytes == 0)
    return;
  device->encode_tiled = find_driver_function("cuTensorMapEncodeTiled");
  device->encode_im2col = find_driver_function("cuTensorMapEncodeIm2col");
}

int product_depth(const struct gemm_args *args) {
  return args->kernel * args->kernel * ((args->c + BLOCK_K - 1) / BLOCK_K + (args->c2 + BLOCK_K - 1) / BLOCK_K);
}

int product_blocks(const struct product_args *args) {
  dim3 grid = grid_of(args);
  return (int)(grid.x * grid.y * grid.z);
}

int product_counters(const struct product_args *args) {
  dim3 grid = grid_of(args);
  return (int)(grid.x * grid.y) * (product_tile_sizes[args->tile].m / 64) * (args->pair == PAIR_SUM ? 2 : 1);
}

size_t product_partial_bytes(const struct product_args *args) {
  const struct product_tile_size *size = &product_tile_sizes[args->tile];
  return (size_t)product_blocks(args) * size->m * size->n * sizeof(float) / (args->pair == PAIR_SUM ? 2 : 1);
}

bool product_supported(const struct product_device *device, const struct product_args *args) {
  const struct gemm_args *a = &args->gemm;
  bool linear = a->kernel == 1 && a->stride == 1 && a->pad == 0, gated = a->act == ACT_GEGLU;
  bool window = a->kernel == 3 && a->pad <= 1 && a->stride <= 2;
  bool act = a->act == ACT_NONE || (a->act == ACT_RELU && !(a->residual && a->residual_last)) ||
             (gated && gates(args->tile) && !a->residual && !a->time);
  bool pair = args->pair != PAIR_SUM || (sums(args->tile) && !gated && 2 * a->splits <= product_depth(a));
  return device->encode_tiled && device->encode_im2col && (linear || window) && act && pair && !a->upsample &&
         a->c % 8 == 0 && a->c2 % 8 == 0 && a->columns % (gated ? 16 : 8) == 0 && rows_of(a) < 1u << 30 &&
         aligned(a->x) && aligned(a->x2) && aligned(a->weight) && aligned(a->bias) && aligned(a->time) &&
         aligned(a->residual) && aligned(a->y) && a->splits >= 1 && a->splits <= product_depth(a);
}

cudaError_t launch_product(const struct product_device *device, const struct launch_queue *queue,
                           const struct product_args *args) {
  if (!product_supported(device, args))
    return cudaErrorNotSupported;
  switch (args->tile) {
  case PRODUCT_128x80:
    return launch_tile<shape_128x80>(device, queue, args);
  case PRODUCT_128x160:
    return launch_tile<shape_128x160>(device, queue, args);
  case PRODUCT_64x80:
    return launch_tile<shape_64x80>(device, queue, args);
  case PRODUCT_128x80_DEEP:
    return launch_tile<shape_128x80_deep>(device, queue, args);
  case PRODUCT_64x80_DEEP:
    return launch_tile<shape_64x80_deep>(device, queue, args);
  case PRODUCT_128x64:
    return launch_tile<shape_128x64>(device, queue, args);
  case PRODUCT_64x64:
    return launch_tile<shape_64x64>(device, queue, args);
  default:
    return launch_tile<shape_128x128>(device, queue, args);
  }
}
