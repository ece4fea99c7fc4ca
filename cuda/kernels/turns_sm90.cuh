/* GEGLU products of more tiles than multiprocessors: two consumers make a tile each, in turns, so that one's gates and
 * results lie under the other's products. */
#ifndef CUDA_KERNELS_TURNS_SM90_CUH
#define CUDA_KERNELS_TURNS_SM90_CUH

#include "cuda/kernels/epilogue_sm90.cuh"

namespace product_sm90 {

/* The ring holds blocks of sums alone; each consumer has memory of its own for results. */
struct turns_shape : tile_shape<128, 160, 5, 1, false, true> {
  static constexpr int THREADS = (CONSUMERS + 1) * 128; /* a warpgroup of producers: it gives registers away */
  static constexpr int GIVEN = 40, TAKEN = 232;
  static constexpr int RESULT_BYTES = CHUNK_BYTES, RESULT_OFFSET = STAGES * STAGE_BYTES;
  static constexpr int BIAS_OFFSET = RESULT_OFFSET + CONSUMERS * RESULT_BYTES, BIAS_BYTES = N * 4;
  static constexpr int BARRIER_OFFSET = BIAS_OFFSET + CONSUMERS * BIAS_BYTES;
  static constexpr int BARRIERS = 2 * STAGES + CONSUMERS, SHARED_BYTES = BARRIER_OFFSET + BARRIERS * 8 + 1024;
  static_assert(BARRIERS == THREADS / 32, "each warp makes one");
  static constexpr int DEPTH_LEAST =
      (STAGES + 1) / 2; /* so that a tile's bias is read before that of the next but one */
};

enum { BARRIER_TURN = 1 }; /* named barriers: one a consumer */

/* A thread block's tiles and its shared memory. */
struct turns {
  using T = turns_shape;
  const params &p;
  uint32_t base;
  int tile, rank;

  __device__ __forceinline__ bool there() const {
    return tile < p.column_tiles * p.row_tiles;
  }
  __device__ __forceinline__ int row() const {
    return tile % p.row_tiles * T::M;
  }
  __device__ __forceinline__ int column() const {
    return tile / p.row_tiles * T::HALF;
  }
  __device__ __forceinline__ uint32_t stage(int s) const {
    return base + s * T::STAGE_BYTES;
  }
  __device__ __forceinline__ uint32_t full(int s) const {
    return base + T::BARRIER_OFFSET + 8 * s;
  }
  __device__ __forceinline__ uint32_t empty(int s) const {
    return full(T::STAGES + s);
  }
  __device__ __forceinline__ uint32_t bias_full(int consumer) const {
    return full(2 * T::STAGES + consumer);
  }
  __device__ __forceinline__ uint32_t bias(int consumer) const {
    return base + T::BIAS_OFFSET + consumer * T::BIAS_BYTES;
  }

  /* load() is told of each block of each tile, once its stage is free: its number in the tile, and the stage. */
  template <class Load> __device__ __forceinline__ void each_block(Load load) {
    ring<T> at;
    for (int consumer = 0; there(); tile += (int)gridDim.x, consumer ^= 1)
#pragma unroll 1
      for (int i = 0; i < p.depth; i++, at.advance()) {
        barrier_wait(empty(at.stage), at.parity ^ 1);
        load(i, at.stage, consumer);
      }
#pragma unroll 1
    for (int i = 0; i < T::STAGES; i++, at.advance()) /* as producer::wait_for_releases */
      barrier_wait(empty(at.stage), at.parity ^ 1);
  }

  __device__ __forceinline__ void load_bias(int consumer) const {
    int count = min(p.columns - column(), (int)T::HALF);
    barrier_expect(bias_full(consumer), count * 8);
    load_bytes(bias(consumer), p.bias + column(), count * 4, bias_full(consumer));
    load_bytes(bias(consumer) + T::HALF * 4, p.bias + p.gate + column(), count * 4, bias_full(consumer));
  }

  /* Asks for constants alone, so it need not wait for what came before in the stream. */
  __device__ __forceinline__ void run_weights() {
    each_block([&](int i, int s, int consumer) {
      uint32_t to = stage(s) + T::A_BYTES;
      barrier_expect(full(s), T::B_BYTES);
      if (p.pair == PAIR_WEIGHTS) {
        load_box_both(to + rank * (T::B_BYTES / 2), &p.weight, full(s), i * BLOCK_K, rank * p.gate + column());
      } else {
        load_box(to, &p.weight, full(s), i * BLOCK_K, column());
        load_box(to + T::B_BYTES / 2, &p.weight, full(s), i * BLOCK_K, p.gate + column());
      }
      if (i == 0 && p.bias)
        load_bias(consumer);
    });
  }

  __device__ __forceinline__ void run_input() {
    bool first = true;
    each_block([&](int i, int s, int) {
      barrier_expect(full(s), T::A_BYTES);
      if (first)
        wait_for_predecessors();
      load_box(stage(s), &p.x, full(s), i * BLOCK_K, row());
      if (first)
        launch_dependents();
      first = false;
    });
  }
};

struct turns_consumer {
  using T = turns_shape;
  const params &p;
  turns t;
  char *memory;
  int group, thread, lane;
  float sum[2][T::N / 8][4]; /* of the upper and the lower 64 rows */
  ring<T> at;

  __device__ __forceinline__ void release(int stage) const {
    if (lane == 0) {
      barrier_arrive(t.empty(stage));
      if (p.pair == PAIR_WEIGHTS)
        barrier_arrive_remote(cluster_address(t.empty(stage), t.rank ^ 1));
    }
  }

  /* Over the other's blocks. */
  __device__ __forceinline__ void skip() {
    int stage = at.stage + p.depth;
    at.parity ^= stage / T::STAGES & 1;
    at.stage = stage % T::STAGES;
  }

  /* Sums begin as the bias. Each pair is loaded by itself: copies of one would be made behind the wait for a turn. */
  __device__ __forceinline__ void begin(int parity) {
    uint32_t from = t.bias(group) + lane % 4 * 8;
    if (p.bias)
      barrier_wait(t.bias_full(group), parity);
#pragma unroll
    for (int half = 0; half < 2; half++)
#pragma unroll
      for (int g = 0; g < T::N / 8; g++)
#pragma unroll
        for (int i = 0; i < 4; i += 2) {
          sum[half][g][i] = sum[half][g][i + 1] = 0;
          if (p.bias)
            asm volatile("ld.volatile.shared.v2.f32 {%0, %1}, [%2];"
                         : "=f"(sum[half][g][i]), "=f"(sum[half][g][i + 1])
                         : "r"(from + g * 32)
                         : "memory");
        }
    pin(sum[0]);
    pin(sum[1]);
  }

  __device__ __forceinline__ int issue(uint32_t a, uint32_t b) {
    int stage = at.stage;
    uint32_t offset = stage * (T::STAGE_BYTES / 16);
    barrier_wait(t.full(stage), at.parity);
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < BLOCK_K / 16; k++)
#pragma unroll
      for (int half = 0; half < 2; half++)
        Wgmma<T::N>::scores(sum[half], descriptor(a + offset, half * 64 * ROW_BYTES + k * 32),
                            descriptor(b + offset, k * 32), 1);
    wgmma_commit();
    at.advance();
    return stage;
  }

  /* The other's blocks come after this one's in the ring, so its turn comes when all of these have been there: the
   * parity of a full barrier tells no more than the last two phases apart. */
  __device__ __forceinline__ void multiply(bool last_tile) {
    uint32_t a = describe_rows(t.base), b = describe_rows(t.base + T::A_BYTES);
    named_sync(BARRIER_TURN + group, 256);
    int last = issue(a, b);
#pragma unroll 1
    for (int i = 1; i < p.depth; i++) {
      int stage = issue(a, b);
      wgmma_wait<1>();
      release(last);
      last = stage;
    }
    if (!last_tile)
      named_arrive(BARRIER_TURN + (group ^ 1), 256);
    wgmma_wait<0>();
    release(last);
    pin(sum[0]);
    pin(sum[1]);
  }

  __device__ __forceinline__ void finish() {
    int warp_row = thread / 32 * 16;
    uint32_t results = T::RESULT_OFFSET + group * T::RESULT_BYTES;
    if (lane == 0)
      asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    __syncwarp();
#pragma unroll
    for (int half = 0; half < 2; half++, warp_row += 64) {
      char *to = memory + results + (warp_row + lane / 4) * (T::CHUNK * 2) + lane % 4 * 4;
#pragma unroll
      for (int g = 0; g < T::CHUNK / 8; g++) {
        const float *v = sum[half][g], *gate = sum[half][g + T::HALF / 8];
#pragma unroll
        for (int i = 0; i < 2; i++)
          *reinterpret_cast<uint32_t *>(to + 8 * i * (T::CHUNK * 2) + g * 16) =
              pack2(v[2 * i] * gelu(gate[2 * i]), v[2 * i + 1] * gelu(gate[2 * i + 1]));
      }
      shared_fence();
      __syncwarp();
      if (lane == 0) {
        store_box(t.base + results + warp_row * (T::CHUNK * 2), &p.y, t.column(), t.row() + warp_row);
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
      }
    }
  }

  __device__ __forceinline__ void run() {
    int next = (int)gridDim.x, parity = 0;
    if (group == 1) {
      named_arrive(BARRIER_TURN, 256);
      t.tile += next;
      skip();
    }
    for (; t.there(); t.tile += 2 * next, parity ^= 1) {
      begin(parity);
      multiply(t.tile + next >= p.column_tiles * p.row_tiles);
      finish();
      skip();
    }
    if (lane == 0)
      asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
  }
};

static __global__ void __launch_bounds__(turns_shape::THREADS, 1) turns_kernel(const __grid_constant__ params p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  using T = turns_shape;
  extern __shared__ char unaligned[];
  uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(unaligned));
  uint32_t aligned = (address + 1023) & ~1023u; /* the period of the swizzle */
  char *memory = unaligned + (aligned - address);
  asm volatile("" : "+r"(aligned));
  bool pair = p.pair != PAIR_NONE;
  turns t = {p, aligned, (int)blockIdx.x, pair ? cluster_rank() : 0};
  int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);
  if (elect()) {
    if (warp >= T::INPUT_WARP && warp <= T::WEIGHT_WARP)
      tensor_prefetch(warp == T::INPUT_WARP ? &p.x : &p.weight);
    else if (warp == 0)
      tensor_prefetch(&p.y);
    barrier_init(t.full(warp), warp < T::STAGES ? 2 : warp < 2 * T::STAGES ? (pair ? 8 : 4) : 1); /* one a warp */
    barrier_init_fence();
  }
  __syncwarp();
  if (pair) {
    cluster_arrive_relaxed();
    cluster_wait();
  } else {
    __syncthreads();
  }
  if (warp >= T::INPUT_WARP) {
    registers_give<T::GIVEN>();
    if (warp == T::INPUT_WARP && elect())
      t.run_input();
    else if (warp == T::WEIGHT_WARP && elect())
      t.run_weights();
    __syncwarp();
  } else {
    registers_take<T::TAKEN>();
    int thread = threadIdx.x % 128;
    turns_consumer c = {p, t, memory, warp / 4, thread, thread % 32};
    c.run();
  }
#endif
}

} // namespace product_sm90

#endif
