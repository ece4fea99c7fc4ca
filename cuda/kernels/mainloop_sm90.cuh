/* Calculates the sums of a tile of a product A W^T. The producers, one thread each, load blocks of A and W into a ring
 * of stages (buffers in shared memory); the consumers, warpgroups, multiply them. */
#ifndef CUDA_KERNELS_MAINLOOP_SM90_CUH
#define CUDA_KERNELS_MAINLOOP_SM90_CUH

#include "cuda/kernels/copies_sm90.cuh"
#include "cuda/kernels/tile_sm90.cuh"

namespace product_sm90 {

/* --- producers: one thread loads the input A, and one the weights W --- */

template <class T> struct producer {
  const params &p;
  work<T> w;
  int rank; /* rank of this thread block in its pair (a cluster of two): 0 or 1; 0 without a pair */
  pixel at;

  __device__ __forceinline__ producer(const params &args, const work<T> &mine) : p(args), w(mine), at() {
    rank = p.pair == PAIR_NONE ? 0 : cluster_rank();
    if (p.taps > 1) {
      int first = w.row + skipped();
      int picture = quotient(first, p.pixels), pixel = first - picture * (int)p.pixels.by, y = quotient(pixel, p.out_w);
      at = {(pixel - y * (int)p.out_w.by) * p.stride - p.pad, y * p.stride - p.pad, picture};
    }
  }

  /* Returns how many rows of the tile of A this thread block does not load, because the other thread block of its pair
   * loads them for both. */
  __device__ __forceinline__ int skipped() const {
    return p.pair == PAIR_INPUT ? rank * (T::M / 2) : 0;
  }

  /* Returns the column of W at which block number `inner` of tap (place of the convolution window) number `tap`
   * begins. */
  __device__ __forceinline__ int weight_column(int tap, int inner) const {
    return (w.quarter * 4 + tap) * p.channels +
           (inner < p.x_blocks ? inner * BLOCK_K : p.c + (inner - p.x_blocks) * BLOCK_K);
  }

  __device__ __forceinline__ void load_weights(int s, int tap, int inner) const {
    load_weights_from(&p.weight, s, weight_column(tap, inner));
  }

  __device__ __forceinline__ void load_weights_from(const CUtensorMap *map, int s, int k) const {
    uint32_t to = w.stage(s) + T::A_BYTES;
    if (p.pair == PAIR_WEIGHTS) {
      load_box_both(to + rank * (T::B_BYTES / 2), map, w.full(s), k, w.weight_row(p, rank));
      return;
    }
    load_box(to, map, w.full(s), k, w.weight_row(p, 0));
    load_box(to + T::B_BYTES / 2, map, w.full(s), k, w.weight_row(p, 1));
  }

  /* The following functions are for blocks of a second product (product_more). more_block returns the block's number
   * among those of the second product, or a negative number if it belongs to the first. */
  __device__ __forceinline__ const two_params &two() const {
    return static_cast<const two_params &>(p);
  }
  __device__ __forceinline__ int more_block(int i) const {
    return T::TWO ? i - two().first : -1;
  }
  __device__ __forceinline__ void load_more_weights(int s, int block) const {
    int x_blocks = two().more_x_blocks;
    load_weights_from(&two().more_weight, s,
                      block < x_blocks ? block * BLOCK_K : two().more_c + (block - x_blocks) * BLOCK_K);
  }
  __device__ __forceinline__ void load_more_input(int s, int block) const {
    bool second = block >= two().more_x_blocks;
    const CUtensorMap *map = second ? &two().more_x2 : &two().more_x;
    int c = (second ? block - two().more_x_blocks : block) * BLOCK_K, row = w.row + skipped();
    uint32_t to = w.stage(s) + skipped() * ROW_BYTES;
    if (p.pair == PAIR_INPUT)
      load_box_both(to, map, w.full(s), c, row);
    else
      load_box(to, map, w.full(s), c, row);
  }

  /* The arguments of the copy of one block of A. They are calculated ahead of the wait for the preceding kernel in the
   * stream, so that the copy directly follows the wait. */
  struct input_block {
    const CUtensorMap *map;
    uint32_t to;
    int c;
    uint32_t place; /* position in the convolution window: row in the upper 16 bits, column in the lower 16 bits */
  };

  __device__ __forceinline__ input_block find_input(int s, int tap, int inner) const {
    bool second = inner >= p.x_blocks;
    input_block block = {second ? &p.x2 : &p.x, w.stage(s) + skipped() * ROW_BYTES,
                         (second ? inner - p.x_blocks : inner) * BLOCK_K, 0};
    if (p.taps > 1) {
      int dy = p.taps == 9 ? (tap * 11) >> 5 : tap >> 1, dx = tap - dy * (p.taps == 9 ? 3 : 2);
      block.place = (uint32_t)(dy + w.quarter / 2) << 16 | (uint32_t)(dx + w.quarter % 2);
    }
    asm volatile("" : "+l"(block.map), "+r"(block.to), "+r"(block.c), "+r"(block.place));
    return block;
  }

  __device__ __forceinline__ void load_input(const input_block &block, int s) const {
    bool both = p.pair == PAIR_INPUT;
    uint16_t dx = (uint16_t)block.place, dy = (uint16_t)(block.place >> 16);
    if (p.taps == 1) {
      if (both)
        load_box_both(block.to, block.map, w.full(s), block.c, w.row + skipped());
      else
        load_box(block.to, block.map, w.full(s), block.c, w.row);
    } else if (both) {
      load_pixels_both(block.to, block.map, w.full(s), block.c, at, dx, dy);
    } else {
      load_pixels(block.to, block.map, w.full(s), block.c, at, dx, dy);
    }
  }

  /* The following functions load bias and time row (a vector from the time embedding). half_columns returns how many
   * columns of y exist in half 0 or 1 of the tile. The bytes of both copies are multiples of 16. */
  __device__ __forceinline__ int half_columns(int half) const {
    int left = p.gate ? p.columns - w.column : p.columns - w.column - half * T::HALF;
    return min(max(left, 0), (int)T::HALF);
  }
  __device__ __forceinline__ void load_bias() const {
    for (int half = 0; half < 2; half++)
      if (int count = half_columns(half))
        load_bytes(w.base + w.bias_offset() + half * T::HALF * 4, p.bias + w.weight_row(p, half), count * 4,
                   w.vectors());
  }
  __device__ __forceinline__ int time_columns() const {
    return max(min(p.columns - w.column, (int)T::N), 0);
  }
  __device__ __forceinline__ void load_time() const {
    if (int count = time_columns())
      load_bytes(w.base + w.time_offset(), p.time + w.column, count * 2, w.vectors());
  }
  __device__ __forceinline__ int vector_bytes() const {
    return (p.bias ? (half_columns(0) + half_columns(1)) * 4 : 0) + (p.time ? time_columns() * 2 : 0);
  }

  /* Loads the head's keys and values, of the text that all rows of the tile read. Launches ahead may make them anew in
   * each run, so this comes after the wait for the preceding kernel. */
  __device__ __forceinline__ void load_head() const {
    const attend_params &a = static_cast<const attend_params &>(p);
    int text = a.text_rows ? w.row / a.text_rows : 0;
    barrier_expect(w.text_full(), 2 * T::TEXT_BYTES);
    load_text(w.keys(), &a.k, w.text_full(), w.column, text);
    load_text(w.values(), &a.v, w.text_full(), w.column, text);
  }

  /* Calls load(block, stage, tap, inner) for each block of the tile's sum, as soon as its stage (buffer in shared
   * memory) is free. tap: number of the block's tap (place of the convolution window); inner: number of the block
   * within its tap. */
  template <class Load> __device__ __forceinline__ void each_block(ring<T> &at_stage, Load load) const {
    int tap = quotient(w.begin, p.tap_blocks), inner = w.begin - tap * (int)p.tap_blocks.by;
#pragma unroll 1
    for (int i = w.begin; i < w.end; i++, at_stage.advance()) {
      barrier_wait(w.empty(at_stage.stage), at_stage.parity ^ 1);
      load(i, at_stage.stage, tap, inner);
      if (++inner == (int)p.tap_blocks.by) {
        inner = 0;
        tap++;
      }
    }
  }

  /* Loads the weights. They are constant, so this does not wait for earlier kernels in the stream. The bias is constant
   * as well, but it is loaded by the producer of A, which has time for that while it waits. */
  __device__ __forceinline__ void run_weights() {
    ring<T> at_stage;
    do {
      each_block(at_stage, [&](int i, int s, int tap, int inner) {
        barrier_expect(w.full(s), T::B_BYTES);
        if constexpr (T::TWO)
          if (more_block(i) >= 0) {
            load_more_weights(s, more_block(i));
            return;
          }
        load_weights(s, tap, inner);
      });
#pragma unroll 1
      for (int i = 0; i < w.chunks(p); i++, at_stage.advance()) {
        barrier_wait(w.empty(at_stage.stage), at_stage.parity ^ 1);
        barrier_arrive(w.full(at_stage.stage));
      }
    } while (w.next(p));
    if (p.pair == PAIR_WEIGHTS || p.pair == PAIR_INPUT)
      wait_for_releases(at_stage);
  }

  /* Waits until all stages (buffers in shared memory) are free: a thread block must not end while the other one of its
   * pair may still signal its barriers. A barrier of the cluster would take a thousand clocks. The stages with the last
   * tile's results are not waited for: they are never released, and their stores were waited for. */
  __device__ __forceinline__ void wait_for_releases(ring<T> &at_stage) const {
#pragma unroll 1
    for (int i = T::SEVERAL && p.column_tiles ? 0 : w.chunks(p); i < T::STAGES; i++, at_stage.advance())
      barrier_wait(w.empty(at_stage.stage), at_stage.parity ^ 1);
  }

  /* Loads the input. All that is possible is done before the wait for the preceding kernel in the stream, so that the
   * first block's copy directly follows the wait. */
  __device__ __forceinline__ void run_input() {
    ring<T> at_stage;
    do {
      /* Tell the barrier how many bytes will arrive, load the bias, wait for the preceding kernel in the stream; then
       * load the blocks of A one after the other. */
      bool vectors = w.has_vectors(p);
      each_block(at_stage, [&](int i, int s, int tap, int inner) {
        input_block block = find_input(s, tap, inner);
        barrier_expect(w.full(s), T::A_BYTES);
        if (i == w.begin) {
          if (vectors) {
            barrier_expect(w.vectors(), vector_bytes());
            if (p.bias)
              load_bias();
          }
          wait_for_predecessors();
        }
        if (T::TWO && more_block(i) >= 0)
          load_more_input(s, more_block(i));
        else
          load_input(block, s);
        if (i == w.begin) {
          launch_dependents();
          if (vectors && p.time)
            load_time();
          if constexpr (T::ATTENDS)
            load_head();
        }
      });
      load_residual(at_stage);
    } while (w.next(p));
  }

  /* Loads the residual of the tile into the stages (buffers in shared memory) that follow the stage of the last block
   * of the sum. */
  __device__ __forceinline__ void load_residual(ring<T> &at_stage) const {
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

/* --- consumers: warpgroups that multiply --- */

template <class T> struct consumer {
  const params &p;
  work<T> w;
  char *memory;
  /* an array in shared memory, one number for each consumer. If the tile's sum is divided among thread blocks (splits):
   * how many of them had finished their part before this one */
  unsigned *told;
  int group, thread, lane, rank;
  float sum[T::HIGH][T::N / 8][4];
  ring<T> at;

  __device__ __forceinline__ void group_sync() const {
    named_sync(BARRIER_GROUP + group, 128);
  }

  /* Releases a stage (buffer in shared memory): one lane of each warp arrives at the stage's barrier. The stage is free
   * when all warps that read it have arrived; in a pair, the warps of both thread blocks. */
  __device__ __forceinline__ void release(int stage) const {
    if (lane == 0) {
      barrier_arrive(w.empty(stage));
      if (p.pair == PAIR_WEIGHTS || p.pair == PAIR_INPUT)
        barrier_arrive_remote(cluster_address(w.empty(stage), rank ^ 1));
    }
  }

  /* Sets the start value of each sum: the bias plus the value from the time embedding. If a sum is split between thread
   * blocks, only the one with the first part starts from this value, the others from 0. This takes no extra time,
   * because the first blocks of the operands are still being loaded. */
  __device__ __forceinline__ void begin() {
    int column = lane % 4 * 2;
    clear();
    if (w.has_vectors(p)) {
      barrier_wait(w.vectors(), w.vectors_parity);
      const float2 *bias = reinterpret_cast<const float2 *>(memory + w.bias_offset() + column * 4);
      const uint32_t *time = reinterpret_cast<const uint32_t *>(memory + w.time_offset() + column * 2);
#pragma unroll
      for (int h = 0; h < T::HIGH; h++) {
        if (p.bias)
#pragma unroll
          for (int g = 0; g < T::N / 8; g++)
            add(sum[h][g], bias[g * 4]);
        if (p.time)
#pragma unroll
          for (int g = 0; g < T::N / 8; g++)
            add(sum[h][g], unpack2(time[g * 4]));
      }
    }
    pin_all();
  }

  __device__ __forceinline__ static void add(float (&to)[4], float2 x) {
    to[0] += x.x;
    to[1] += x.y;
    to[2] += x.x;
    to[3] += x.y;
  }

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int h = 0; h < T::HIGH; h++)
#pragma unroll
      for (int g = 0; g < T::N / 8; g++)
#pragma unroll
        for (int i = 0; i < 4; i++)
          sum[h][g][i] = 0;
  }

  __device__ __forceinline__ void pin_all() {
#pragma unroll
    for (int h = 0; h < T::HIGH; h++)
      pin(sum[h]);
  }

  /* Issues the products with the blocks of A and W in the next stage (buffer in shared memory). Returns the number of
   * that stage, which the caller releases when the products are done. */
  __device__ __forceinline__ int issue(uint32_t a, uint32_t b) {
    int stage = at.stage;
    uint32_t offset = stage * (T::STAGE_BYTES / 16);
    barrier_wait(w.full(stage), at.parity);
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < BLOCK_K / 16; k++)
#pragma unroll
      for (int h = 0; h < T::HIGH; h++)
        Wgmma<T::N>::scores(sum[h], descriptor(a + offset, h * 64 * ROW_BYTES + k * 32), descriptor(b + offset, k * 32),
                            1);
    wgmma_commit();
    at.advance();
    return stage;
  }

  __device__ __forceinline__ void multiply() {
    uint32_t a = describe_rows(w.base + group * T::HIGH * 64 * ROW_BYTES), b = describe_rows(w.base + T::A_BYTES);
    int last = issue(a, b);
#pragma unroll 1
    for (int i = w.begin + 1; i < w.end; i++) {
      int stage = issue(a, b);
      wgmma_wait<1>();
      release(last);
      last = stage;
    }
    wgmma_wait<0>();
    pin_all();
    release(last);
  }
};

} // namespace product_sm90

#endif
