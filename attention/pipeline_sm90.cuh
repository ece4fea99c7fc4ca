/* What the Hopper kernel's producer and consumers share: the division of the work, the layout of shared memory with its
 * barriers, and the producer itself. */
#ifndef ATTENTION_PIPELINE_SM90_CUH
#define ATTENTION_PIPELINE_SM90_CUH

#include "hopper.cuh"
#include "tiles.h"

namespace attention {

/* Key blocks [first, last) of one row tile. */
struct Piece {
  int tile, first, last;
};

/* A cluster's share of the line of units; unit u is key block u % blocks of row tile u / blocks, or, for shapes whose
 * tiles are never cut, row tile u. A cluster is one thread block, or as many as a tile has slices. */
template <class T> struct Work {
  int blocks, split; /* key blocks of a row tile; those of the first segment */
  int count2;
  int unit, end;

  int share, larger; /* units of a cluster; the first `larger` ones have one more (tile, or unit if balanced) */
  int grain;         /* units that stay together */

  __device__ __forceinline__ Work(const params_sm90 &p, int count2) : count2(count2) {
    split = (p.Tk + T::BN - 1) / T::BN;
    blocks = split + (count2 + T::BN - 1) / T::BN;
    grain = p.balanced || !T::CUTS ? 1 : blocks;
    unsigned grains = p.balanced ? p.tiles * blocks : p.tiles, clusters = gridDim.x / T::SLICES;
    share = grains / clusters;
    larger = grains - share * clusters;
    unit = start(cluster());
    end = start(cluster() + 1);
  }

  __device__ __forceinline__ static int cluster() {
    return blockIdx.x / T::SLICES;
  }

  /* The first unit of a cluster. */
  __device__ __forceinline__ int start(int cluster) const {
    return (cluster * share + min(cluster, larger)) * grain;
  }

  /* The cluster that a unit falls to, in a balanced launch. */
  __device__ __forceinline__ int cluster_of(int u) const {
    int in_larger = larger * (share + 1);
    return u < in_larger ? u / (share + 1) : larger + (u - in_larger) / share;
  }

  __device__ __forceinline__ bool next(Piece &piece) {
    if (unit >= end)
      return false;
    if (!T::CUTS) {
      piece = {unit++, 0, blocks};
      return true;
    }
    piece.tile = unit / blocks;
    piece.first = unit - piece.tile * blocks;
    piece.last = min(blocks, piece.first + end - unit);
    unit += piece.last - piece.first;
    return true;
  }

  /* First row of key block j within its segment, and the keys there are from it on. */
  __device__ __forceinline__ int row(int j) const {
    return (j < split ? j : j - split) * T::BN;
  }
  __device__ __forceinline__ int valid(const params_sm90 &p, int j) const {
    return (j < split ? p.Tk : count2) - row(j);
  }
};

/* Shared memory: addresses of the tiles and barriers. */
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
  __device__ __forceinline__ uint32_t q_full() const {
    return barrier(0);
  }
  __device__ __forceinline__ uint32_t q_empty() const {
    return barrier(1);
  }
  __device__ __forceinline__ uint32_t k_full(int stage) const {
    return barrier(2 + stage);
  }
  __device__ __forceinline__ uint32_t k_empty(int stage) const {
    return barrier(2 + T::STAGES + stage);
  }
  __device__ __forceinline__ uint32_t v_full(int stage) const {
    return barrier(2 + 2 * T::STAGES + stage);
  }
  __device__ __forceinline__ uint32_t v_empty(int stage) const {
    return barrier(2 + 3 * T::STAGES + stage);
  }
  /* Of a consumer warp, from 0 on. */
  __device__ __forceinline__ uint32_t inbox(int warp) const {
    return base + T::INBOX_OFFSET + warp * T::INBOX_WARP_BYTES;
  }
  __device__ __forceinline__ uint32_t inbox_full(int warp) const {
    return barrier(2 + 4 * T::STAGES + warp);
  }
  /* The one with the same number in the other thread block is. */
  __device__ __forceinline__ uint32_t outbox_empty(int warp) const {
    return barrier(2 + 4 * T::STAGES + 4 * T::CONSUMERS + warp);
  }

  __device__ __forceinline__ void init_barriers() const {
    barrier_init(q_full(), 1);
    barrier_init(q_empty(), T::ROW_GROUPS);
    for (int s = 0; s < T::STAGES; s++) {
      barrier_init(k_full(s), 1);
      barrier_init(v_full(s), 1);
      barrier_init(k_empty(s), 4 * T::ROW_GROUPS); /* a warp arrives once it is done */
      barrier_init(v_empty(s), 4 * T::ROW_GROUPS);
    }
    for (int warp = 0; T::SLICES > 1 && warp < 4 * T::CONSUMERS; warp++) {
      barrier_init(inbox_full(warp), 1);
      barrier_init(outbox_empty(warp), 1);
    }
    barrier_init_fence();
  }
};

/* A place in the ring of stages, and the parity of its barriers' current phase. */
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

/* A thread block's slice of the channels: its number within the cluster. */
template <class T> __device__ __forceinline__ int slice_of_block() {
  return T::SLICES > 1 ? cluster_rank() : 0;
}

struct Place {
  int channel, row, head, batch;
};

template <class T> __device__ __forceinline__ Place place_of(const params_sm90 &p, int tile) {
  int row_tile = tile % p.row_tiles, rest = tile / p.row_tiles;
  return {slice_of_block<T>() * T::DP, row_tile * T::BM, rest % p.heads, rest / p.heads};
}

/* Has the compiler work out a place here and not where it is used. */
__device__ __forceinline__ void pin(Place &at) {
  asm volatile("" : "+r"(at.channel), "+r"(at.row), "+r"(at.head), "+r"(at.batch)::"memory");
}

/* ---- producer: one thread -------------------------------------------------------------------------------- */

template <class T>
__device__ __forceinline__ void load_tile(uint32_t to, uint32_t full, const CUtensorMap *map, Place at) {
  barrier_expect(full, T::TILE_BYTES);
#pragma unroll
  for (int c = 0; c < T::CHUNKS; c++)
    tensor_load(to + c * T::CHUNK_BYTES, map, full, at.channel + c * 64, at.head, at.row, at.batch);
}

template <class T> __device__ __forceinline__ void produce(const params_sm90 &p, Work<T> work, Shared<T> shared) {
  Ring<T> ring = {0, 1};
  int q_parity = 1;
  Piece piece = {};
  bool more = work.next(piece);
  Place at = place_of<T>(p, piece.tile);
  pin(at); /* its divisions are done while the kernel before still runs */
  wait_for_predecessors();
  for (; more; q_parity ^= 1) {
    barrier_wait(shared.q_empty(), q_parity);
    barrier_expect(shared.q_full(), T::Q_BYTES);
#pragma unroll
    for (int g = 0; g < T::ROW_GROUPS; g++)
#pragma unroll
      for (int c = 0; c < T::CHUNKS; c++)
        tensor_load(shared.q(g) + c * T::Q_CHUNK_BYTES, &p.q, shared.q_full(), at.channel + c * 64, at.head,
                    at.row + 64 * g, at.batch);
    for (int j = piece.first; j < piece.last; j++) {
      bool one = j < work.split;
      int k_batch = (one ? p.k_batched : p.k2_batched) ? at.batch : 0;
      int v_batch = (one ? p.v_batched : p.v2_batched) ? at.batch : 0;
      barrier_wait(shared.k_empty(ring.stage), ring.parity);
      load_tile<T>(shared.k(ring.stage), shared.k_full(ring.stage), one ? &p.k : &p.k2,
                   {at.channel, work.row(j), at.head, k_batch});
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
