/* The code that the Hopper kernel's producer and consumers share (the division of the work, the layout of shared memory
 * with its barriers), and the producer itself. */
#ifndef ATTENTION_PIPELINE_SM90_CUH
#define ATTENTION_PIPELINE_SM90_CUH

#include "cuts.h"
#include "hopper.cuh"
#include "tiles.h"

namespace attention {

using Piece = attn_piece;

/* Returns the number of this thread block's slice (half of the channels), which is its rank in the cluster; 0 without
 * slices. */
template <class T> __device__ __forceinline__ int slice_of_block() {
  return T::SLICES > 1 ? cluster_rank() : 0;
}

/* Returns the number of this thread block's part (half of the keys), which is its rank in the cluster; 0 without
 * parts. */
template <class T> __device__ __forceinline__ int part_of_block() {
  return T::PARTS > 1 ? cluster_rank() : 0;
}

/* The part of the work that this thread block's cluster does (cuts.h), and the numbers of keys in k and in k2. */
template <class T> struct Work {
  /* split: number of key blocks in k; count2: number of keys in k2 (keys of earlier frames) that take part */
  int split, count2;
  attn_work own;

  __device__ __forceinline__ Work(const params_sm90 &p, int count2)
      : split((p.Tk + T::BN - 1) / T::BN), count2(count2) {
    own = attn_work_begin(&p.cuts, T::CUTS, T::SLICES, cluster(), p.Tk, split, count2, (count2 + T::BN - 1) / T::BN);
  }

  __device__ __forceinline__ static int cluster() {
    return blockIdx.x / T::CLUSTER;
  }
  __device__ __forceinline__ int blocks() const {
    return own.blocks;
  }
  __device__ __forceinline__ bool next(Piece &piece) {
    return attn_work_next(&own, T::PARTS, part_of_block<T>(), &piece);
  }

  /* row() returns the index, within k or k2, of the first key (row) in key block j. valid() returns the number of keys
   * from that key to the end of k or k2. */
  __device__ __forceinline__ int row(int j) const {
    return (j < split ? j : j - split) * T::BN;
  }
  __device__ __forceinline__ int valid(const params_sm90 &p, int j) const {
    return (j < split ? p.Tk : count2) - row(j);
  }
};

/* Addresses of tiles and barriers in the thread block's shared memory. */
template <class T> struct Shared {
  uint32_t base;

  __device__ __forceinline__ uint32_t q(int group) const {
    return base + group * T::Q_GROUP_BYTES;
  }
  __device__ __forceinline__ uint32_t k(int stage) const {
    return base + T::K_OFFSET + stage * T::TILE_BYTES;
  }
  __device__ __forceinline__ uint32_t v(int stage) const {
    return base + T::V_OFFSET + stage * T::TILE_BYTES;
  }
  __device__ __forceinline__ uint32_t barrier(int i) const {
    return base + T::BARRIER_OFFSET + 8 * i;
  }
  __device__ __forceinline__ uint32_t q_full(int group) const {
    return barrier(T::KEYS_FIRST ? group : 0);
  }
  __device__ __forceinline__ uint32_t q_empty() const {
    return barrier(T::Q_FULLS);
  }
  __device__ __forceinline__ uint32_t k_full(int stage) const {
    return barrier(T::Q_BARRIERS + stage);
  }
  __device__ __forceinline__ uint32_t k_empty(int stage) const {
    return barrier(T::Q_BARRIERS + T::STAGES + stage);
  }
  __device__ __forceinline__ uint32_t v_full(int stage) const {
    return barrier(T::Q_BARRIERS + 2 * T::STAGES + stage);
  }
  __device__ __forceinline__ uint32_t v_empty(int stage) const {
    return barrier(T::Q_BARRIERS + 3 * T::STAGES + stage);
  }
  /* Where a consumer warp receives scores from the other thread block, which has the other half of the channels.
   * inbox() returns the buffer of warp number `warp` (from 0); inbox_full() returns the barrier that counts the bytes
   * which arrive there. */
  __device__ __forceinline__ uint32_t inbox(int warp) const {
    return base + T::INBOX_OFFSET + warp * T::INBOX_WARP_BYTES;
  }
  __device__ __forceinline__ uint32_t inbox_full(int warp) const {
    return barrier(T::TILE_BARRIERS + warp);
  }
  /* Returns the barrier on which a warp waits before it sends scores. Its phase ends when the previous ones were read,
   * by the warp of the same number in the other thread block. */
  __device__ __forceinline__ uint32_t outbox_empty(int warp) const {
    return barrier(T::TILE_BARRIERS + 4 * T::CONSUMERS + warp);
  }

  /* part() returns the buffer in which a row group receives the results of the thread block that has the other half of
   * the keys. part_full() returns the barrier that counts the bytes of these results. */
  __device__ __forceinline__ uint32_t part(int row_group) const {
    return base + T::PART_OFFSET + row_group * T::PART_GROUP_BYTES;
  }
  __device__ __forceinline__ uint32_t part_full(int row_group) const {
    return barrier(T::TILE_BARRIERS + T::SLICE_BARRIERS + row_group);
  }

  /* The warpgroups of a row group store their results, and one of them adds these up at the end. Returns the barrier on
   * which it waits for the others; it counts their threads. */
  __device__ __forceinline__ uint32_t merge_full(int row_group) const {
    return barrier(T::TILE_BARRIERS + T::SLICE_BARRIERS + T::PART_BARRIERS + row_group);
  }

  __device__ __forceinline__ void init_barriers() const {
    for (int group = 0; group < T::Q_FULLS; group++)
      barrier_init(q_full(group), 1);
    /* q_empty: each thread that starts a store of rows arrives when TMA has read them from shared memory */
    barrier_init(q_empty(), T::BM / T::STORE_ROWS);
    for (int s = 0; s < T::STAGES; s++) {
      barrier_init(k_full(s), 1);
      barrier_init(v_full(s), 1);
      /* k_empty, v_empty: each warp arrives when it has read the stage (buffer) */
      barrier_init(k_empty(s), 4 * T::ROW_GROUPS);
      barrier_init(v_empty(s), 4 * T::ROW_GROUPS);
    }
    for (int warp = 0; T::SLICES > 1 && warp < 4 * T::CONSUMERS; warp++) {
      barrier_init(inbox_full(warp), 1);
      barrier_init(outbox_empty(warp), 1);
    }
    for (int group = 0; T::PARTS > 1 && group < T::ROW_GROUPS; group++)
      barrier_init(part_full(group), 1);
    for (int group = 0; T::KEY_GROUPS > 1 && group < T::ROW_GROUPS; group++)
      barrier_init(merge_full(group), (T::KEY_GROUPS - 1) * 128);
    barrier_init_fence();
    for (int group = 0; T::PARTS > 1 && group < T::ROW_GROUPS; group++)
      /* part_full is armed only here, once: with PARTS > 1 a thread block has only one tile. */
      barrier_expect(part_full(group), T::PART_GROUP_BYTES);
  }
};

/* A position in the ring of stages (buffers in shared memory): the number of a stage, and the parity of the phase in
 * which its barriers are. */
template <class T> struct Ring {
  int stage, parity;

  __device__ __forceinline__ void advance(int by) {
    stage += by;
    if (stage >= T::STAGES) {
      stage -= T::STAGES;
      parity ^= 1;
    }
  }
};

/* Coordinates of a row tile, or of a block of keys, in its tensor, as the copy engine (TMA) takes them. */
struct alignas(16) Place {
  int channel, row, head, batch;
};

__device__ __forceinline__ int divide(int x, divisor by) {
  return static_cast<uint64_t>(static_cast<unsigned>(x)) * by.magic >> by.shift;
}

template <class T> __device__ __forceinline__ Place place_of(const params_sm90 &p, int tile) {
  int rest = divide(tile, p.by_row_tiles), batch = divide(rest, p.by_heads);
  return {slice_of_block<T>() * T::DP, (tile - rest * p.row_tiles) * T::BM, rest - batch * p.heads, batch};
}

/* Makes the compiler calculate the coordinates at this point of the code instead of where they are used. */
__device__ __forceinline__ void pin(Place &at) {
  asm volatile("" : "+r"(at.channel), "+r"(at.row), "+r"(at.head), "+r"(at.batch)::"memory");
}

/* ---- producer: one thread ----
 *
 * Before it loads data that earlier kernels in the stream write, the thread waits for these kernels
 * (wait_for_predecessors); all other work is done before that. Only the first of these waits takes time. */

template <class T>
__device__ __forceinline__ void load_tile(uint32_t to, uint32_t full, const CUtensorMap *map, Place at) {
  barrier_expect(full, T::TILE_BYTES);
  wait_for_predecessors();
#pragma unroll
  for (int c = 0; c < T::CHUNKS; c++)
    tensor_load(to + c * T::CHUNK_BYTES, map, full, at.channel + c * 64, at.head, at.row, at.batch);
}

/* Waits until Q and the result of the previous tile have left shared memory, so that the next Q can be loaded. Then
 * stores the new tile's coordinates in shared memory. The barriers q_full tell the consumers that coordinates and Q are
 * there. */
template <class T>
__device__ __forceinline__ void expect_queries(Shared<T> shared, char *memory, const Place &at, int parity) {
  barrier_wait(shared.q_empty(), parity);
  *reinterpret_cast<Place *>(memory + T::PLACE_OFFSET) = at;
#pragma unroll
  for (int g = 0; g < T::Q_FULLS; g++)
    barrier_expect(shared.q_full(g), T::Q_FULL_BYTES);
}

template <class T> __device__ __forceinline__ void load_queries(const params_sm90 &p, Shared<T> shared, Place at) {
  wait_for_predecessors();
#pragma unroll
  for (int g = 0; g < T::ROW_GROUPS; g++)
#pragma unroll
    for (int c = 0; c < T::CHUNKS; c++)
      tensor_load(shared.q(g) + c * T::Q_CHUNK_BYTES, &p.q, shared.q_full(g), at.channel + c * 64, at.head,
                  at.row + 64 * g, at.batch);
}

/* Loads Q, K and V of all pieces (ranges of keys of a tile) of this thread block, beginning with `piece`. memory: the
 * address of shared memory as a pointer. */
template <class T>
__device__ __forceinline__ void produce(const params_sm90 &p, Work<T> work, Piece piece, Shared<T> shared,
                                        char *memory) {
  Ring<T> ring = {0, 1};
  int q_parity = 1;
  Place at = place_of<T>(p, piece.tile);
  pin(at);
  /* Wait until Q's shared memory is free, and arm the barriers for the first Q. */
  expect_queries(shared, memory, at, q_parity);
  for (bool more = true, expected = true; more; q_parity ^= 1, expected = false) {
    /* Load Q: before K, unless the shape loads the first keys before Q (KEYS_FIRST). */
    /* With PARTS > 1 a tile's blocks of keys are divided among thread blocks. If there are too few, this thread block
     * may have none (piece.first == piece.last), but it loads Q all the same. */
    bool queries_first = !T::KEYS_FIRST || piece.first == piece.last;
    if (queries_first) {
      if (!expected)
        expect_queries(shared, memory, at, q_parity);
      load_queries(p, shared, at);
    }
    /* Load K and V, block after block, each as soon as its stage (buffer) is empty. */
    for (int j = piece.first; j < piece.last; j++) {
      bool one = j < work.split;
      int k_batch = (one ? p.k_batched : p.k2_batched) ? at.batch : 0;
      int v_batch = (one ? p.v_batched : p.v2_batched) ? at.batch : 0;
      barrier_wait(shared.k_empty(ring.stage), ring.parity);
      load_tile<T>(shared.k(ring.stage), shared.k_full(ring.stage), one ? &p.k : &p.k2,
                   {at.channel, work.row(j), at.head, k_batch});
      if (!queries_first && j == piece.first) {
        if (!expected)
          expect_queries(shared, memory, at, q_parity);
        load_queries(p, shared, at);
      }
      barrier_wait(shared.v_empty(ring.stage), ring.parity);
      load_tile<T>(shared.v(ring.stage), shared.v_full(ring.stage), one ? &p.v : &p.v2,
                   {at.channel, work.row(j), at.head, v_batch});
      ring.advance(1);
    }
    more = work.next(piece);
    if (more)
      at = place_of<T>(p, piece.tile);
  }
}

} // namespace attention

#endif
