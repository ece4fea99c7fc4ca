/* How a launch of the Hopper kernel divides its work between clusters of thread blocks. The host, the kernel and a test
 * that needs no GPU use the same functions.
 *
 * A row tile is a number of query rows of one head; it is computed block of keys by block of keys. A unit of work is
 * one block of keys of one row tile: unit u is key block u % blocks of row tile u / blocks. A cluster is one thread
 * block, or several that divide each tile between them: into slices of its channels, or into parts of its keys. The
 * share of a cluster is a number of whole tiles, or, where tiles are cut, any range of units.
 *
 *   tiles        | 0           | 1           | 2           |      3 tiles of 4 key blocks, cut into ranges for
 *   units        | 0  1  2  3  | 4  5  6  7  | 8  9 10 11  |      5 clusters: 12 = 3 + 3 + 2 + 2 + 2
 *   clusters     | 0      | 1        | 2    | 3   | 4      |
 *
 * Further keys may follow those of k (k2 in attention.h); only the device knows their number. The kernel therefore
 * decides whether tiles are cut, and into how many ranges. If there are no keys of k2, all numbers are those of a
 * launch without k2. */
#ifndef ATTENTION_CUTS_H
#define ATTENTION_CUTS_H

#include <limits.h>
#include <stdbool.h>

#ifdef __CUDACC__
#define ATTN_FUNCTION __host__ __device__ __forceinline__
#else
#define ATTN_FUNCTION static inline
#endif

/* The cost of cutting row tiles into ranges of keys for different clusters. Such a launch leaves no multiprocessor
 * idle, but each tile takes as long as a whole tile with this many more keys. */
enum { ATTN_CUT_COST = 1024 };

/* Whether a launch cuts row tiles into ranges of keys, to keep all multiprocessors busy. */
enum attn_cutting {
  ATTN_CUT_NEVER,
  ATTN_CUT_ALWAYS,
  ATTN_CUT_BY_COUNT, /* tiles are cut only if k and k2 together have so many keys that cutting saves time
                      * (attn_cut_from) */
};

/* Returns how many of the appended keys (k2 in attention.h) the queries attend to. count: number of groups of keys in
 * use (*count2 in attention.h), clamped to 0..most; rows: number of keys in a group. */
ATTN_FUNCTION int attn_second_keys(int count, int most, int rows) {
  return (count < 0 ? 0 : count < most ? count : most) * rows;
}

/* The division of a launch's work between clusters, as far as the host can compute it. */
struct attn_cuts {
  int tiles;         /* number of row tiles of all heads and batch rows together */
  int clusters;      /* number of clusters of the launch */
  int share, larger; /* share: number of whole tiles that each cluster gets; the first `larger` clusters get one more */
  int from;          /* row tiles are cut into ranges of keys if k and k2 together have at least this many keys */
  /* number of clusters that the GPU runs at a time; cut tiles are divided between no more than these */
  int most;
  /* number of clusters that get work if tiles are cut and no key of k2 (keys of earlier frames) is used */
  int first_active;
};

/* A piece of the work on row tile number `tile`: its blocks of keys `first` to `last - 1`. */
struct attn_piece {
  int tile, first, last;
};

/* The row tiles, or ranges of keys of row tiles, that one cluster (one or two thread blocks) has still to compute. */
struct attn_work {
  int blocks; /* number of blocks of keys of each row tile */
  /* share: how much work each cluster gets, in whole tiles or, if tiles are cut, in units (key blocks of a tile); the
   * first `larger` clusters get one tile or unit more */
  int share, larger;
  /* tile, first: row tile and key block at which the cluster's next piece begins; left: number of units (blocks of
   * keys of one row tile) that the cluster still has to do from there on */
  int tile, first, left;
};

/* Returns the number of clusters between which cut tiles are divided: at most `most`, and at most one for each unit
 * (one block of keys of one row tile). blocks: number of blocks of keys in a tile; a greater number never gives fewer
 * clusters.
 *
 * If two thread blocks divide a tile by channels (slices 2), and there are no more tiles than clusters, each tile is
 * cut into the same number of parts p; otherwise some tiles would have three parts and some two. A tile of n blocks
 * then takes time n / p, plus about p for merging the parts. That is least for p = sqrt(n), so p is at most this. */
ATTN_FUNCTION int attn_active_clusters(int most, int slices, int tiles, int blocks) {
  if (slices > 1 && tiles <= most) {
    int parts = most / tiles;
    while (parts > 1 && parts * parts > blocks)
      parts--;
    return tiles * parts;
  }
  return tiles * blocks < most ? tiles * blocks : most;
}

/* Returns the number of keys from which on a launch is faster if row tiles are cut into ranges of keys. INT_MAX:
 * cutting saves no time, because a launch of whole tiles leaves no multiprocessor idle in its last wave. most: number
 * of clusters that the GPU runs at a time. */
ATTN_FUNCTION int attn_cut_from(int most, long tiles) {
  long waves = (tiles + most - 1) / most, idle = waves * most - tiles;
  return idle ? (int)((long)ATTN_CUT_COST * most / idle + 1) : INT_MAX;
}

/* Returns how the work is divided, as far as the host can compute it. resident: number of clusters that the GPU runs at
 * a time. one_tile: each cluster gets a single tile. first_blocks: number of blocks of keys in k (attention.h);
 * all_blocks: the number of those in k and k2 together, if all keys of k2 are used. */
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

/* Returns the number of the first tile that a cluster computes; if tiles are cut between clusters, the number of its
 * first unit (one block of keys of one tile). */
ATTN_FUNCTION int attn_start(const struct attn_work *work, int cluster) {
  return cluster * work->share + (cluster < work->larger ? cluster : work->larger);
}

/* Returns the number of the cluster that does unit u of cut tiles. A unit is one block of keys of one row tile; each
 * cluster does `share` or share + 1 consecutive units. */
ATTN_FUNCTION int attn_cluster_of(const struct attn_work *work, int u) {
  int in_larger = work->larger * (work->share + 1);
  return u < in_larger ? u / (work->share + 1) : work->larger + (u - in_larger) / work->share;
}

/* Returns the work of cluster number `cluster`, which may be none. can_cut: false: this shape's tiles are never cut.
 * first_keys, first_blocks: numbers of keys and of key blocks in k (attention.h); second_keys, second_blocks: those of
 * the used part of k2. */
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

/* Removes the next piece of a cluster's work from *work, and stores it in *piece. Returns false if no piece is left. If
 * the cluster has a single tile, whose keys `parts` thread blocks split between them, the piece is that of thread block
 * number `part`. */
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
