/* Byte-pair encoding of one word, over token ids.
 *
 * Ownership: struct bpe owns its table. */
#ifndef UNET_TEXT_BPE_H
#define UNET_TEXT_BPE_H

#include <stddef.h>
#include <stdint.h>

struct merge {
  uint64_t pair; /* left id << 32 | right id */
  int rank;      /* lower merges first */
  int id;        /* of the joined token */
};

struct bpe {
  struct merge *merges; /* sorted by pair once bpe_sort was called; no pair twice */
  size_t count;
};

static inline uint64_t bpe_pair(int left, int right) {
  return (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
}

/* Sorts and, of merges with the same pair, keeps the one with the highest rank, as the reference does. */
void bpe_sort(struct bpe *bpe);

/* Merges ids[0..count) in place, always the pair of lowest rank, of equal ones the leftmost. Returns the new count, or
 * -1 when memory is short. */
int bpe_merge(const struct bpe *bpe, int *ids, int count);

#endif
