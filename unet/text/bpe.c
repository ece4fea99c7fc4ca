/* Byte-pair encoding of a word: merges that are possible wait in a heap, from which the one of lowest rank is taken and
 * made next. */
#include "unet/text/bpe.h"

#include <stdbool.h>
#include <stdlib.h>

static int compare_merges(const void *a, const void *b) {
  const struct merge *x = a, *y = b;
  return x->pair != y->pair ? (x->pair > y->pair) - (x->pair < y->pair) : (x->rank > y->rank) - (x->rank < y->rank);
}

static int compare_pairs(const void *a, const void *b) {
  const struct merge *x = a, *y = b;
  return (x->pair > y->pair) - (x->pair < y->pair);
}

void bpe_sort(struct bpe *bpe) {
  if (!bpe->count)
    return;
  qsort(bpe->merges, bpe->count, sizeof *bpe->merges, compare_merges);
  size_t kept = 0;
  for (size_t i = 0; i < bpe->count; i++)
    if (i + 1 == bpe->count || bpe->merges[i + 1].pair != bpe->merges[i].pair)
      bpe->merges[kept++] = bpe->merges[i];
  bpe->count = kept;
}

static const struct merge *find(const struct bpe *bpe, int left, int right) {
  struct merge key = {.pair = bpe_pair(left, right)};
  return bpe->count ? bsearch(&key, bpe->merges, bpe->count, sizeof key, compare_pairs) : NULL;
}

/* A token of the word that is being merged, as an entry of a doubly linked list. With this list and the heap of
 * candidates, merging a word of n bytes takes time O(n log n). */
struct symbol {
  int id, before, after; /* id of the token; indices of the tokens before and after it, -1: none */
  bool gone;
};

/* A merge that may be made: of symbol number `place` with the symbol after it. Until it is taken from the heap, other
 * merges may have changed these symbols, so is_current checks them. */
struct candidate {
  int rank, place, id;
};

struct heap { /* binary heap of merges that are possible, ordered by rank and then by position in the word */
  struct candidate *list;
  int count;
};

static bool is_before(struct candidate a, struct candidate b) {
  return a.rank != b.rank ? a.rank < b.rank : a.place < b.place;
}

static void push(struct heap *heap, struct candidate c) {
  int i = heap->count++;
  for (; i && is_before(c, heap->list[(i - 1) / 2]); i = (i - 1) / 2)
    heap->list[i] = heap->list[(i - 1) / 2];
  heap->list[i] = c;
}

static struct candidate pop(struct heap *heap) {
  struct candidate top = heap->list[0], last = heap->list[--heap->count];
  int i = 0;
  for (;;) {
    int child = 2 * i + 1;
    if (child >= heap->count)
      break;
    if (child + 1 < heap->count && is_before(heap->list[child + 1], heap->list[child]))
      child++;
    if (!is_before(heap->list[child], last))
      break;
    heap->list[i] = heap->list[child];
    i = child;
  }
  heap->list[i] = last;
  return top;
}

static void offer(const struct bpe *bpe, struct heap *heap, const struct symbol *symbols, int place) {
  if (place < 0 || symbols[place].after < 0)
    return;
  const struct merge *merge = find(bpe, symbols[place].id, symbols[symbols[place].after].id);
  if (merge)
    push(heap, (struct candidate){merge->rank, place, merge->id});
}

/* Returns true if the two symbols can still be merged as when the candidate was queued. */
static bool is_current(const struct bpe *bpe, const struct symbol *symbols, struct candidate c) {
  const struct symbol *left = &symbols[c.place];
  if (left->gone || left->after < 0)
    return false;
  const struct merge *merge = find(bpe, left->id, symbols[left->after].id);
  return merge && merge->id == c.id;
}

static void join(struct symbol *symbols, int place, int id) {
  struct symbol *left = &symbols[place], *right = &symbols[left->after];
  right->gone = true;
  left->id = id;
  left->after = right->after;
  if (right->after >= 0)
    symbols[right->after].before = place;
}

int bpe_merge(const struct bpe *bpe, int *ids, int count) {
  if (count < 2)
    return count;
  struct symbol *symbols = malloc((size_t)count * sizeof *symbols);
  /* A heap of 3 * count entries is enough for a word of `count` tokens: it gets count - 1 pairs at first, and each of
   * at most count - 1 merges adds up to two. */
  struct heap heap = {malloc((size_t)count * 3 * sizeof *heap.list), 0};
  int kept = -1;
  if (!symbols || !heap.list)
    goto done;
  for (int i = 0; i < count; i++)
    symbols[i] = (struct symbol){ids[i], i - 1, i + 1 < count ? i + 1 : -1, false};
  for (int i = 0; i + 1 < count; i++)
    offer(bpe, &heap, symbols, i);
  while (heap.count) {
    struct candidate c = pop(&heap);
    if (!is_current(bpe, symbols, c))
      continue;
    join(symbols, c.place, c.id);
    offer(bpe, &heap, symbols, symbols[c.place].before);
    offer(bpe, &heap, symbols, c.place);
  }
  kept = 0;
  for (int i = 0; i >= 0; i = symbols[i].after)
    ids[kept++] = symbols[i].id;

done:
  free(symbols);
  free(heap.list);
  return kept;
}
