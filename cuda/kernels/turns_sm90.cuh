/* Products with more tiles than multiprocessors: y = epilogue(A W^T). Two consumers (warpgroups) have a
 * tile each and take turns at the tensor cores. So the epilogue of one consumer (gates or residual) runs during the
 * products of the other:
 *
 *     consumer 0   | products of tile 0 | epilogue 0        | products of tile 2 | epilogue 2 ...
 *     consumer 1   | wait for the turn  | products of tile 1 | epilogue 1        | products of tile 3 ... */
#ifndef CUDA_KERNELS_TURNS_SM90_CUH
#define CUDA_KERNELS_TURNS_SM90_CUH

#include "cuda/kernels/epilogue_sm90.cuh"

namespace product_sm90 {

/* The shape of a tile for two consumers that take turns. The ring of stages (buffers in shared memory) has only blocks
 * of A and W. Results and residuals have memory of their own, for two boxes of each warp. A box is 16 rows of a chunk
 * of columns. */
struct turns_shape : tile_shape<128, 160, 5, 1, false, true> {
  static constexpr int THREADS = (CONSUMERS + 1) * 128; /* one warpgroup contains both producers */
  static constexpr int BOX_BYTES = 16 * CHUNK * 2, BOXES = CONSUMERS * 4 * 2;
  static constexpr int RESIDUAL_ROWS = 16;
  /* Number of buffers for bias and time row (a vector from the time embedding): each consumer has two, for this tile
   * and for its next one. */
  static constexpr int PLACES = 2 * CONSUMERS;
  static constexpr int BOX_OFFSET = STAGES * STAGE_BYTES, VECTORS_OFFSET = BOX_OFFSET + BOXES * BOX_BYTES;
  static constexpr int BARRIER_OFFSET = VECTORS_OFFSET + PLACES * VECTORS_BYTES;
  /* 1024 bytes more than needed, so that the beginning can be aligned to 1024 bytes */
  static constexpr int SHARED_BYTES = BARRIER_OFFSET + (2 * STAGES + PLACES + BOXES) * 8 + 1024;
  /* Least number of blocks of 64 channels in a sum. A consumer has two buffers for biases. With shorter sums, the
   * producers could be so far ahead that they overwrite a bias which the consumer has not read yet. */
  static constexpr int DEPTH_LEAST = (STAGES + 1) / 2;
};

/* The two consumers (warpgroups that multiply) take turns: consumer i waits at named barrier BARRIER_TURN + i until
 * it may multiply. */
enum { BARRIER_TURN = 1 };

/* The sequence of tiles that a thread block calculates, which of them it works on at present, and the layout of its
 * shared memory. */
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
    return tile / p.row_tiles * (p.gate ? T::HALF : T::N);
  }
  __device__ __forceinline__ uint32_t full(int s) const {
    return base + T::BARRIER_OFFSET + 8 * s;
  }
  __device__ __forceinline__ uint32_t empty(int s) const {
    return full(T::STAGES + s);
  }
  __device__ __forceinline__ uint32_t vectors_full(int place) const {
    return full(2 * T::STAGES + place);
  }
  __device__ __forceinline__ uint32_t box_full(int box) const {
    return vectors_full(T::PLACES + box);
  }
  __device__ __forceinline__ uint32_t box(int i) const {
    return base + T::BOX_OFFSET + i * T::BOX_BYTES;
  }

  /* Returns the present tile as a struct work, for the producers' functions. */
  __device__ __forceinline__ work<T> as_work() const {
    work<T> w(p, base);
    w.row = row();
    w.column = column();
    w.quarter = w.begin = 0;
    w.end = p.depth;
    return w;
  }

  /* Calls load(producer, block, stage, tap, inner, place) for each block of each tile, as soon as its stage is free.
   * block: number of the block in the tile's sum; tap: number of the block's tap (place of the convolution window);
   * inner: number of the block within the tap; place: index, below PLACES, of the buffer for the tile's bias and time
   * row (a vector from the time embedding). */
  template <class Load> __device__ __forceinline__ void each_block(Load load) {
    ring<T> at;
    for (int place = 0; there(); tile += (int)gridDim.x, place = (place + 1) % T::PLACES) {
      const producer<T> loads(p, as_work());
      int tap = 0, inner = 0;
#pragma unroll 1
      for (int i = 0; i < p.depth; i++, at.advance()) {
        barrier_wait(empty(at.stage), at.parity ^ 1);
        load(loads, i, at.stage, tap, inner, place);
        if (++inner == (int)p.tap_blocks.by) {
          inner = 0;
          tap++;
        }
      }
    }
#pragma unroll 1
    /* wait until all stages (buffers) are free: a thread block must not end while the other one of its pair may still
     * signal its barriers */
    for (int i = 0; i < T::STAGES; i++, at.advance())
      barrier_wait(empty(at.stage), at.parity ^ 1);
  }

  /* Loads bias and time row (a vector from the time embedding). The producer of the weights calls this function if
   * there is only a bias, which is constant. The producer of the input calls it if there is a time row, for which it
   * has to wait. */
  __device__ __forceinline__ void load_vectors(const producer<T> &loads, int place) const {
    uint32_t to = base + T::VECTORS_OFFSET + place * T::VECTORS_BYTES, there = vectors_full(place);
    barrier_expect(there, loads.vector_bytes());
    for (int half = 0; p.bias && half < 2; half++)
      if (int count = loads.half_columns(half))
        load_bytes(to + half * T::HALF * 4, p.bias + loads.w.weight_row(p, half), count * 4, there);
    if (p.time)
      load_bytes(to + T::N * 4, p.time + loads.w.column, loads.time_columns() * 2, there);
  }

  /* Loads the weights. They are constant, so this does not wait for earlier kernels in the stream. */
  __device__ __forceinline__ void run_weights() {
    each_block([&](const producer<T> &loads, int i, int s, int tap, int inner, int place) {
      barrier_expect(full(s), T::B_BYTES);
      loads.load_weights(s, tap, inner);
      if (i == 0 && p.bias && !p.time)
        load_vectors(loads, place);
    });
  }

  __device__ __forceinline__ void run_input() {
    bool first = true;
    each_block([&](const producer<T> &loads, int i, int s, int tap, int inner, int place) {
      typename producer<T>::input_block block = loads.find_input(s, tap, inner);
      barrier_expect(full(s), T::A_BYTES);
      if (first)
        wait_for_predecessors();
      loads.load_input(block, s);
      if (first)
        launch_dependents();
      first = false;
      if (i == 0 && p.time)
        load_vectors(loads, place);
    });
  }
};

/* A consumer (a warpgroup that multiplies). GATED: true: with GEGLU, so that the results of a tile are one chunk
 * (T::CHUNK columns); false: they are two chunks. */
template <bool GATED> struct turns_consumer {
  using T = turns_shape;
  /* CHUNKS: number of chunks, groups of T::CHUNK columns, in the results of a tile. GROUPS: number of groups of 8
   * columns in a chunk */
  static constexpr int CHUNKS = GATED ? 1 : 2, GROUPS = T::CHUNK / 8;
  const params &p;
  turns t;
  char *memory;
  int group, thread, lane;
  float sum[2][T::N / 8][4]; /* sums of the thread: [0] for the upper 64 rows of the tile, [1] for the lower 64 rows */
  ring<T> at;

  __device__ __forceinline__ void release(int stage) const {
    if (lane == 0) {
      barrier_arrive(t.empty(stage));
      if (p.pair == PAIR_WEIGHTS)
        barrier_arrive_remote(cluster_address(t.empty(stage), t.rank ^ 1));
    }
  }

  /* Moves on in the ring of stages (buffers in shared memory) past the blocks of the other consumer's tile. */
  __device__ __forceinline__ void skip() {
    int stage = at.stage + p.depth;
    at.parity ^= stage / T::STAGES & 1;
    at.stage = stage % T::STAGES;
  }

  /* Issues the products with the blocks of A and W in one stage (buffer in shared memory). FIRST: true for the first
   * block of a tile, whose products replace the old sums. Returns the number of the stage. */
  template <bool FIRST> __device__ __forceinline__ int issue(uint32_t a, uint32_t b) {
    int stage = at.stage;
    uint32_t offset = stage * (T::STAGE_BYTES / 16);
    barrier_wait(t.full(stage), at.parity);
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < BLOCK_K / 16; k++)
#pragma unroll
      for (int half = 0; half < 2; half++)
        Wgmma<T::N>::scores(sum[half], descriptor(a + offset, half * 64 * ROW_BYTES + k * 32),
                            descriptor(b + offset, k * 32), GATED || !FIRST || k > 0);
    wgmma_commit();
    at.advance();
    return stage;
  }

  /* Multiplies all blocks of a tile, and then lets the other consumer begin, whose blocks follow in the ring of stages
   * (buffers in shared memory). That one must not begin before all of this tile's blocks have arrived, because a
   * barrier can distinguish only its last two phases. */
  __device__ __forceinline__ void multiply(bool last_tile) {
    uint32_t a = describe_rows(t.base), b = describe_rows(t.base + T::A_BYTES);
    /* Wait for this consumer's turn at the tensor cores, multiply all blocks, and give the turn to the other
     * consumer. */
    named_sync(BARRIER_TURN + group, 256);
    int last = issue<true>(a, b);
#pragma unroll 1
    for (int i = 1; i < p.depth; i++) {
      int stage = issue<false>(a, b);
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

  /* With GEGLU, sets the sums to the bias (0 if there is none) before the products. After the products the bias would
   * not fit into the registers, because the gates need them. Several sums start from the same pair of biases; each
   * loads the pair by an instruction of its own. Otherwise the compiler would load it once, and copy it after the wait
   * for the consumer's turn. */
  __device__ __forceinline__ void begin(int place, int parity) {
    uint32_t from = t.base + T::VECTORS_OFFSET + place * T::VECTORS_BYTES + lane % 4 * 8;
    if (p.bias)
      barrier_wait(t.vectors_full(place), parity);
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

  /* Reads bias and time row (a vector from the time embedding) of the thread's columns, and adds them up. */
  __device__ __forceinline__ void read_vectors(float2 (&both)[T::N / 8], int place, int parity) const {
    const char *from = memory + T::VECTORS_OFFSET + place * T::VECTORS_BYTES + lane % 4 * 8;
    const char *time = from + T::N * 4 - lane % 4 * 4;
    if (p.bias || p.time)
      barrier_wait(t.vectors_full(place), parity);
#pragma unroll
    for (int g = 0; g < T::N / 8; g++) {
      both[g] = p.bias ? *reinterpret_cast<const float2 *>(from + g * 32) : make_float2(0, 0);
      if (p.time) {
        float2 more = unpack2(*reinterpret_cast<const uint32_t *>(time + g * 16));
        both[g].x += more.x;
        both[g].y += more.y;
      }
    }
  }

  /* --- boxes: parts of a tile of the result that are loaded and stored at once; a box has 16 rows, which one warp
   * calculates, and CHUNK columns --- */

  __device__ __forceinline__ int warp() const {
    return group * 4 + thread / 32;
  }
  __device__ __forceinline__ int box_row(int k) const {
    return t.row() + k / CHUNKS * 64 + thread / 32 * 16;
  }
  __device__ __forceinline__ int box_column(int k) const {
    return t.column() + k % CHUNKS * T::CHUNK;
  }

  /* Begins to load the residual for the warp's box number k (a part of the tile) into shared memory. The store that
   * used that memory last must have read it. One thread calls this. */
  __device__ __forceinline__ void load_residual(int k) const {
    int box = warp() * 2 + k % 2;
    barrier_expect(t.box_full(box), T::BOX_BYTES);
    load_box(t.box(box), &p.residual, t.box_full(box), box_column(k), box_row(k));
  }
  __device__ __forceinline__ void load_two_residuals(int k) const {
    if (lane == 0) {
      asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
      load_residual(k);
      load_residual(k + 1);
    }
    __syncwarp();
  }

  /* Return two neighbouring results of a row, after the epilogue, as two FP16 values in one word. */
  __device__ __forceinline__ static uint32_t gated(const float *v, const float *gate) {
    return pack2(v[0] * gelu(gate[0]), v[1] * gelu(gate[1]));
  }
  __device__ __forceinline__ uint32_t plain(const float *v, float2 bias, float2 residual) const {
    __half2 least = __float2half2_rn(p.least);
    __half2 two = __hmax2(__floats2half2_rn(v[0] + bias.x + residual.x, v[1] + bias.y + residual.y), least);
    return *reinterpret_cast<uint32_t *>(&two);
  }

  /* Applies the epilogue to one box of results (16 rows of a chunk of columns) and writes it to shared memory, two
   * groups of 8 columns at a time. Each lane of the warp has the address of 8 columns of one row. */
  template <bool RESIDUAL>
  __device__ __forceinline__ void finish_box(int k, const float2 (&bias)[T::N / 8], uint32_t box) const {
    uint32_t to = box + lane % 16 * (T::CHUNK * 2) + lane / 16 * 16;
#pragma unroll
    for (int g = 0; g < GROUPS; g += 2) {
      uint32_t v[4];
      if constexpr (RESIDUAL)
        load_matrices(v, to + g * 16);
#pragma unroll
      for (int i = 0; i < 4; i++) {
        int column = k % CHUNKS * GROUPS + g + i / 2;
        const float *from = sum[k / CHUNKS][column] + i % 2 * 2;
        if constexpr (GATED)
          v[i] = gated(from, sum[k / CHUNKS][column + GROUPS] + i % 2 * 2);
        else
          v[i] = plain(from, bias[column], RESIDUAL ? unpack2(v[i]) : make_float2(0, 0));
      }
      store_matrices(to + g * 16, v);
    }
  }

  template <bool RESIDUAL> __device__ __forceinline__ void finish_boxes(const float2 (&bias)[T::N / 8]) const {
#pragma unroll
    for (int k = 0; k < 2 * CHUNKS; k++) {
      int box = warp() * 2 + k % 2;
      if constexpr (RESIDUAL)
        barrier_wait(t.box_full(box), k / 2);
      else if (lane == 0)
        asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
      __syncwarp();
      finish_box<RESIDUAL>(k, bias, t.box(box));
      shared_fence();
      __syncwarp();
      if (lane == 0) {
        store_box(t.box(box), &p.y, box_column(k), box_row(k));
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
      }
      if (RESIDUAL && k == 1)
        load_two_residuals(2);
    }
  }

  /* Finishes a tile's results. Without GEGLU, bias and time row (a vector from the time embedding) are kept in
   * registers, so that each is read only once: the other consumer's products need the bandwidth of shared memory. */
  __device__ __forceinline__ void finish(int place, int parity) const {
    float2 bias[T::N / 8];
    if constexpr (!GATED)
      read_vectors(bias, place, parity);
    if (!GATED && p.has_residual)
      finish_boxes<!GATED>(bias);
    else
      finish_boxes<false>(bias);
  }

  __device__ __forceinline__ void run() {
    /* Consumer 0 begins with the thread block's first tile, consumer 1 with the second one. */
    int next = (int)gridDim.x, place = group, parity = 0;
    if (group == 1) {
      named_arrive(BARRIER_TURN, 256);
      t.tile += next;
      skip();
    }
    if (!GATED && p.has_residual)
      wait_for_predecessors();
    for (; t.there(); t.tile += 2 * next, place ^= T::CONSUMERS) {
      if (!GATED && p.has_residual)
        load_two_residuals(0);
      if constexpr (GATED)
        begin(place, parity);
      multiply(t.tile + next >= p.column_tiles * p.row_tiles);
      finish(place, parity);
      skip();
      if (place >= T::CONSUMERS)
        parity ^= 1;
    }
    if (lane == 0)
      asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
  }
};

template <bool GATED>
__global__ void __launch_bounds__(turns_shape::THREADS, 1) turns_kernel(const __grid_constant__ params p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  using T = turns_shape;
  extern __shared__ char unaligned[];
  /* Align shared memory, and initialise the barriers. */
  uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(unaligned));
  /* aligned to 1024 bytes, because TMA's swizzle (order of data in shared memory) depends on the address
   * modulo 1024 */
  uint32_t aligned = (address + 1023) & ~1023u;
  char *memory = unaligned + (aligned - address);
  asm volatile("" : "+r"(aligned));
  bool pair = p.pair != PAIR_NONE;
  turns t = {p, aligned, (int)blockIdx.x, pair ? cluster_rank() : 0};
  int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);
  if (threadIdx.x == T::INPUT_WARP * 32) {
#pragma unroll
    for (int s = 0; s < T::STAGES; s++)
      barrier_init(t.full(s), 2);
    barrier_init_fence();
  } else if (threadIdx.x == T::WEIGHT_WARP * 32) {
#pragma unroll
    for (int s = 0; s < T::STAGES; s++)
      barrier_init(t.empty(s), pair ? 8 : 4);
#pragma unroll
    for (int place = 0; place < T::PLACES; place++)
      barrier_init(t.vectors_full(place), 1);
#pragma unroll
    for (int box = 0; !GATED && box < T::BOXES; box++)
      barrier_init(t.box_full(box), 1);
    barrier_init_fence();
  } else if (threadIdx.x == 0) {
    tensor_prefetch(&p.weight);
    tensor_prefetch(&p.x);
    tensor_prefetch(&p.y);
    if (!GATED && p.has_residual)
      tensor_prefetch(&p.residual);
  }
  __syncwarp();
  if (pair) {
    cluster_arrive_relaxed();
    cluster_wait();
  } else {
    __syncthreads();
  }
  /* Split the warps into two producers and two consumers. */
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
    turns_consumer<GATED> c = {p, t, memory, warp / 4, thread, thread % 32};
    c.run();
  }
#endif
}

} // namespace product_sm90

#endif
