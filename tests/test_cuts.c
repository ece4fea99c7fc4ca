/* Tests how attention's work is divided between clusters of thread blocks, simulated on the host: for any number of
 * keys each block of keys of each tile is computed once, the pieces of a tile that was cut find each other, and an
 * empty second segment of keys gives the same division as none. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "attention/cuts.h"
#include "tests/rigs/cmocka_all.h"

enum { UNITS_MAX = 1 << 14, TRIALS = 4000 };

/* A launch: tile shapes as in attention/tiles.h, and numbers of keys. */
struct launch {
  enum attn_cutting cutting;
  int keys_of_block, slices, parts, resident, tiles;
  bool one_tile, can_cut;
  /* keys of the first segment; capacity of the second segment; keys of the second segment that are used */
  int first_keys, room, count;
};

/* The work of all clusters together. begins[u]: a piece begins at unit u. */
struct played {
  int blocks, clusters, pieces, whole;
  unsigned char done[UNITS_MAX], begins[UNITS_MAX], pieces_of[UNITS_MAX];
};

static uint64_t state_of_random = 1;

static int random_below(int limit) {
  state_of_random = state_of_random * 6364136223846793005u + 1442695040888963407u;
  return (int)((state_of_random >> 33) % (uint64_t)limit);
}

static int blocks_of(int keys, int block) {
  return (keys + block - 1) / block;
}

static struct attn_cuts cuts_of(const struct launch *l) {
  int first = blocks_of(l->first_keys, l->keys_of_block);
  return attn_divide(l->cutting, l->resident, l->slices, l->one_tile, l->tiles, first,
                     first + blocks_of(l->room, l->keys_of_block));
}

static struct attn_work work_of(const struct launch *l, const struct attn_cuts *cuts, int cluster) {
  return attn_work_begin(cuts, l->can_cut, l->slices, cluster, l->first_keys,
                         blocks_of(l->first_keys, l->keys_of_block), l->count, blocks_of(l->count, l->keys_of_block));
}

/* Checks a piece of a tile that was cut: it stores its result in slot 0 of its cluster, or in slot 1 if its tile is not
 * the cluster's first. The cluster that finishes last reads the others' slots, from the cluster of the tile's first
 * unit to that of its last. */
static void check_cut(const struct launch *l, const struct attn_work *all, int cluster, const struct attn_piece *piece,
                      bool *slots) {
  int first = attn_cluster_of(all, piece->tile * all->blocks);
  int last = attn_cluster_of(all, (piece->tile + 1) * all->blocks - 1);
  bool slot = attn_start(all, cluster) / all->blocks != piece->tile;
  assert_in_range(cluster, first, last);
  assert_true(first < last);
  assert_in_range(cluster, 0, l->resident - 1); /* the workspace has two slots for each resident cluster */
  assert_false(slots[slot]);
  slots[slot] = true;
}

static void play_piece(struct played *p, const struct attn_piece *piece) {
  assert_true(piece->first >= 0 && piece->first <= piece->last && piece->last <= p->blocks);
  for (int j = piece->first; j < piece->last; j++)
    p->done[piece->tile * p->blocks + j]++;
  p->begins[piece->tile * p->blocks + piece->first]++;
  p->pieces_of[piece->tile]++;
  p->pieces++;
  p->whole += piece->first == 0 && piece->last == p->blocks;
}

static void play_cluster(struct played *p, const struct launch *l, const struct attn_cuts *cuts, int cluster) {
  struct attn_work all = work_of(l, cuts, cluster);
  struct attn_piece piece;
  bool slots[2] = {false, false};
  for (int part = 0; part < l->parts; part++)
    for (struct attn_work work = all; attn_work_next(&work, l->parts, part, &piece);) {
      assert_in_range(piece.tile, 0, l->tiles - 1);
      play_piece(p, &piece);
      if (l->can_cut && !(piece.first == 0 && piece.last == p->blocks))
        check_cut(l, &all, cluster, &piece, slots);
    }
}

/* Simulates a launch and checks that each unit is computed exactly once. */
static void play(struct played *p, const struct launch *l) {
  struct attn_cuts cuts = cuts_of(l);
  *p = (struct played){.blocks = blocks_of(l->first_keys, l->keys_of_block) + blocks_of(l->count, l->keys_of_block),
                       .clusters = cuts.clusters};
  for (int cluster = 0; cluster < cuts.clusters; cluster++)
    play_cluster(p, l, &cuts, cluster);
  for (int unit = 0; unit < l->tiles * p->blocks; unit++)
    assert_int_equal(p->done[unit], 1);
  struct attn_work all = work_of(l, &cuts, 0);
  for (int tile = 0; l->can_cut && p->whole < p->pieces && tile < l->tiles; tile++) {
    int first = attn_cluster_of(&all, tile * p->blocks), last = attn_cluster_of(&all, (tile + 1) * p->blocks - 1);
    assert_int_equal(p->pieces_of[tile], last - first + 1);
  }
}

/* Returns a random launch: tiles that are whole or cut, in one or two slices; half tiles; two groups that split the
 * keys. */
static struct launch random_launch(void) {
  static const int blocks[] = {64, 80, 128};
  struct launch l = {.keys_of_block = blocks[random_below(3)], .slices = 1, .parts = 1, .can_cut = true};
  l.resident = 1 + random_below(132);
  switch (random_below(5)) {
  case 0:
    l.parts = 2, l.one_tile = true, l.can_cut = false;
    break;
  case 1:
    l.one_tile = true, l.can_cut = false;
    break;
  case 2:
    l.slices = 2;
    break;
  }
  l.cutting = l.can_cut ? (enum attn_cutting)random_below(3) : ATTN_CUT_NEVER;
  l.tiles = 1 + random_below(random_below(2) ? 8 : 200);
  l.first_keys = 1 + random_below(random_below(2) ? 200 : 4500);
  l.room = random_below(4) ? random_below(5000) : 0;
  return l;
}

static void test_every_block_once(void **state) {
  (void)state;
  static struct played p;
  for (int trial = 0; trial < TRIALS; trial++) {
    struct launch l = random_launch();
    if ((long)l.tiles * (blocks_of(l.first_keys, l.keys_of_block) + blocks_of(l.room, l.keys_of_block)) > UNITS_MAX)
      continue;
    const int counts[] = {0, l.room ? random_below(l.room) : 0, l.room};
    for (int i = 0; i < 3; i++) {
      l.count = counts[i];
      play(&p, &l);
    }
  }
}

/* With an empty second segment the pieces begin and end at the same units as without one. Which cluster computes a
 * whole tile may differ. */
static void test_empty_is_none(void **state) {
  (void)state;
  static struct played with, without;
  for (int trial = 0; trial < TRIALS; trial++) {
    struct launch l = random_launch();
    if ((long)l.tiles * blocks_of(l.first_keys, l.keys_of_block) > UNITS_MAX)
      continue;
    play(&with, &l);
    l.room = 0;
    play(&without, &l);
    assert_int_equal(with.pieces, without.pieces);
    assert_memory_equal(with.begins, without.begins, sizeof with.begins);
  }
}

/* Five heads of 4096 rows in tiles of 192. With an empty bank tiles are whole, which leaves 22 of 132 multiprocessors
 * idle; with a full bank that would cost more than cutting, so they are cut. */
static void test_bank(void **state) {
  (void)state;
  static struct played p;
  struct launch l = {.cutting = ATTN_CUT_BY_COUNT,
                     .keys_of_block = 128,
                     .slices = 1,
                     .parts = 1,
                     .resident = 132,
                     .tiles = 110,
                     .can_cut = true,
                     .first_keys = 4096,
                     .room = 8192};
  assert_int_equal(attn_cut_from(132, 110), 6145);
  play(&p, &l);
  assert_int_equal(p.whole, 110);
  assert_int_equal(p.pieces, 110);
  l.count = 2048;
  play(&p, &l);
  assert_int_equal(p.pieces, 110);
  l.count = 2049;
  play(&p, &l);
  assert_true(p.pieces > 132);
  assert_int_equal(p.clusters, 132);
  /* The clusters' numbers of units differ by at most one. */
  struct attn_cuts cuts = cuts_of(&l);
  struct attn_work last = work_of(&l, &cuts, 131), first = work_of(&l, &cuts, 0);
  assert_in_range(first.left, last.left, last.left + 1);
}

static void test_full_waves_stay_whole(void **state) {
  (void)state;
  assert_int_equal(attn_cut_from(132, 132), INT_MAX);
  assert_int_equal(attn_cut_from(132, 264), INT_MAX);
  assert_int_equal(attn_cut_from(132, 220), 1024 * 132 / 44 + 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_block_once),
      cmocka_unit_test(test_empty_is_none),
      cmocka_unit_test(test_bank),
      cmocka_unit_test(test_full_waves_stay_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
