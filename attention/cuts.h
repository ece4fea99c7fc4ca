/* How a launch of the Hopper kernel divides its work between clusters of thread blocks. The host, the kernel and a test
 * that needs no GPU use the same functions.
 *
 * A unit of work is a block of keys of a row tile: unit u is key block u % blocks of row tile u / blocks. A cluster is
 * one thread block, or several that divide each tile between them: into slices of its channels, or into parts of its
 * keys. The share of a cluster is a number of whole tiles, or, where tiles are cut, any range of units.
 *
 *   tiles        | 0           | 1           | 2           |      3 tiles of 4 key blocks, cut into ranges for
 *   units        | 0  1  2  3  | 4  5  6  7  | 8  9 10 11  |      5 clusters: 12 = 3 + 3 + 2 + 2 + 2
 *   clusters     | 0      | 1        | 2    | 3   | 4      |
 *
 * The number of keys in the second segment (k2 in attention.h) is known on the device alone. The kernel therefore
 * decides if tiles are cut, and into how many ranges. With an empty second segment all numbers are those of a launch
 * without one. */
#ifndef ATTENTION_CUTS_H
#define ATTENTION_CUTS_H

#include <limits.h>
#include <stdbool.h>

#ifdef __CUDACC__
#define ATTN_FUNCTION __host__ __device__ __forceinline__
#else
#define ATTN_FUNCTION static inline
#endif

/* The number of keys that a cut tile costs: a launch with cut tiles takes about as long as one that has so many keys
 * more in each tile, and leaves no multiprocessor idle. */
enum { ATTN_CUT_COST = 1024 };

/* Which launches cut tiles. */
enum attn_cutting {
  ATTN_CUT_NEVER,
  ATTN_CUT_ALWAYS,
  ATTN_CUT_BY_COUNT, /* only with many keys in both segments together, as attn_cut_from says */
};

/* Returns the number of keys of the second segment that take part. count: the number on the device; each counts `rows`
 * keys, and at most `most` count. */
ATTN_FUNCTION int attn_second_keys(int count, int most, int rows) {
  return (count < 0 ? 0 : count < most ? count : most) * rows;
}

/* What the host knows of the division. */
struct attn_cuts {
  int tiles;         /* row tiles of all heads and batch rows */
  int clusters;      /* clusters of the launch */
  int share, larger; /* whole tiles of each cluster; the first `larger` clusters have one more */
  int from;          /* tiles are cut if at least so many keys take part */
  int most;          /* clusters that the GPU runs at a time, and that cut tiles are divided between at most */
  int first_active;  /* clusters that cut tiles are divided between if the second segment is empty */
};

/* A part of a row tile's work: its blocks of keys from `first` to `last` - 1. */
struct attn_piece {
  int tile, first, last;
};

/* What one cluster does. */
struct attn_work {
  int blocks; /* key blocks of a row tile */
  /* Whole tiles of each cluster, or units where tiles are cut; the first `larger` clusters have one more. */
  int share, larger;
  int tile, first, left; /* tile and first key block of the next piece; units from there to the end of the share */
};

/* Returns the number of clusters that cut tiles are divided between: at most `most`, and at most one for each unit. If
 * two thread blocks share a tile by channels and there are fewer tiles than clusters, every tile is cut into the same
 * number of parts p, because other cuts would leave some tiles with three parts and some with two. A tile of n blocks
 * of keys then takes time n / p, plus about p for merging the parts, which is least for p = sqrt(n). With more blocks
 * the number never becomes smaller. */
ATTN_FUNCTION int attn_active_clusters(int most, int slices, int tiles, int blocks) {
  if (slices > 1 && tiles <= most) {
    int parts = most / tiles;
    while (parts > 1 && parts * parts > blocks)
      parts--;
    return tiles * parts;
  }
  return tiles * blocks < most ? tiles * blocks : most;
}

/* Returns the least number of keys for which cut tiles are faster than whole ones, which leave a part of the last wave
 * idle. */
ATTN_FUNCTION int attn_cut_from(int most, long tiles) {
  long waves = (tiles + most - 1) / most, idle = waves * most - tiles;
  return idle ? (int)((long)ATTN_CUT_COST * most / idle + 1) : INT_MAX;
}

/* Returns the host's part of the division. resident: clusters that the GPU runs at a time. one_tile: each cluster has
 * one tile. first_blocks: key blocks of the first segment; all_blocks: those of both if the second is full. */
ATTN_FUNCTION struct attn_cuts attn_divide(enum attn_cutting cutting, int resident, int slices, bool one_tile,
                                           int tiles, int first_blocks, int all_blocks) {
  struct attn_cuts cuts = {tiles, tiles, 0, 0, INT_MAX, resident, 0};
  if (cutting != ATTN_CUT_NEVER) {
    cuts.from = cutting == ATTN_CUT_ALWAYS ? 0 : attn_cut_from(resident, tiles);
    cuts.first_active = attn_active_clusters(resident, slices, tiles, first_blocks);
    cuts.clusters = attn_active_clusters(resident, slices, tiles, all_blocks);
  } else if (!one_tile && resident < tiles) {
    cuts.clusters = resident;
  }
  cuts.share = cuts.tiles / cuts.clusters;
  cuts.larger = cuts.tiles % cuts.clusters;
  return cuts;
}

/* Returns the first tile of a cluster's share, or its first unit where tiles are cut. */
ATTN_FUNCTION int attn_start(const struct attn_work *work, int cluster) {
  return cluster * work->share + (cluster < work->larger ? cluster : work->larger);
}

/* Returns the cluster that does unit u where tiles are cut. */
ATTN_FUNCTION int attn_cluster_of(const struct attn_work *work, int u) {
  int in_larger = work->larger * (work->share + 1);
  return u < in_larger ? u / (work->share + 1) : work->larger + (u - in_larger) / work->share;
}

/* Returns a cluster's work, which may be none. can_cut: false where tiles are never cut. first_keys, first_blocks: keys
 * and key blocks of the first segment; second_keys, second_blocks: those of the second, as many as take part. */
ATTN_FUNCTION struct attn_work attn_work_begin(const struct attn_cuts *cuts, bool can_cut, int slices, int cluster,
                                               int first_keys, int first_blocks, int second_keys, int second_blocks) {
  struct attn_work work = {first_blocks + second_blocks, cuts->share, cuts->larger, 0, 0, 0};
  if (can_cut && first_keys + second_keys >= cuts->from) {
    int units = cuts->tiles * work.blocks;
    int active =
        second_keys > 0 ? attn_active_clusters(cuts->most, slices, cuts->tiles, work.blocks) : cuts->first_active;
    work.share = (int)((unsigned)units / (unsigned)active);
    work.larger = units - work.share * active;
    int start = attn_start(&work, cluster);
    work.tile = start / work.blocks;
    work.first = start - work.tile * work.blocks;
    work.left = cluster < active ? attn_start(&work, cluster + 1) - start : 0;
  } else {
    work.tile = attn_start(&work, cluster);
    work.left = (attn_start(&work, cluster + 1) - work.tile) * work.blocks;
  }
  return work;
}

/* Takes the next piece of a cluster's work. Returns false if there is none. parts: thread blocks of the cluster that
 * split the keys of its one tile; part: the number of this one. */
ATTN_FUNCTION bool attn_work_next(struct attn_work *work, int parts, int part, struct attn_piece *piece) {
  if (work->left <= 0)
    return false;
  piece->tile = work->tile;
  if (parts > 1) {
    piece->first = part * work->blocks / parts;
    piece->last = (part + 1) * work->blocks / parts;
    work->left = 0;
    return true;
  }
  piece->first = work->first;
  piece->last = work->blocks < work->first + work->left ? work->blocks : work->first + work->left;
  work->left -= piece->last - piece->first;
  work->first = 0;
  work->tile++;
  return true;
}

#endif
