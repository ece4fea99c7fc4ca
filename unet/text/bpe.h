/* Byte-pair encoding of one word, on token ids.
 *
 * Ownership: struct bpe owns its table. */
#ifndef UNET_TEXT_BPE_H
#define UNET_TEXT_BPE_H

#include <stddef.h>
#include <stdint.h>

struct merge {
  uint64_t pair; /* the two tokens that are merged: left id << 32 | right id */
  int rank;      /* position in the list of merges: merges of lower rank are made first */
  int id;        /* id of the joined token */
};

struct bpe {
  /* the merges (of two tokens into one) that are possible; once bpe_sort was called they are sorted by pair, and no
   * pair occurs twice */
  struct merge *merges;
  size_t count;
};

static inline uint64_t bpe_pair(int left, int right) {
  return (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
}

/* Sorts the merges (of two tokens into one). If a pair occurs several times, only the merge with the greatest rank
 * number is kept, as in transformers. */
void bpe_sort(struct bpe *bpe);

/* Replaces pairs of ids in ids[0] to ids[count - 1] by their merged tokens, in place: always the pair of lowest rank,
 * and of equal pairs the leftmost. Returns the new count, or -1 if memory is missing. */
int bpe_merge(const struct bpe *bpe, int *ids, int count);

#endif
