/* Memory that programs of one device work in by turns: as large as the largest of them needs, and always at the same
 * address, because programs keep addresses. It lies in a range of addresses that is reserved once; memory is put behind
 * the range's beginning as it grows, and its end is given back when the largest program goes.
 *
 * A program that must not share, or a device that cannot reserve addresses, has memory of its own.
 *
 * Threads: one at a time takes and gives; what others have taken can be used meanwhile. */
#ifndef UNET_PLAN_ARENA_H
#define UNET_PLAN_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#include "unet/base/error.h"

struct arena;

/* What a device does for its arenas. */
struct arena_impl {
  /* Makes the first `bytes` of the range usable, where fewer are, and gives back what lies behind them, as far as it
   * can, where more are; then arena->mapped says what is there. Growing may fail, with all as it was. */
  int (*resize)(struct arena *arena, size_t bytes, struct error *err);
  void *(*alloc)(struct arena *arena, size_t bytes, struct error *err); /* NULL with err set */
  void (*free)(struct arena *arena, void *data, size_t bytes);
};

/* A program's part in an arena. All 0: it has none. */
struct arena_share {
  struct arena_share *next;
  void *data;
  size_t bytes;
  bool own; /* not in the range */
};

struct arena {
  const struct arena_impl *impl;
  void *opaque; /* the device's */
  void *base;   /* NULL: no addresses are reserved */
  size_t reserved, mapped;
  struct arena_share *shares; /* those in the range */
};

/* Gives share its memory. own: nobody else uses it. */
int arena_take(struct arena *arena, struct arena_share *share, size_t bytes, bool own, struct error *err);
void arena_give(struct arena *arena, struct arena_share *share); /* also of one that has none */

#endif
