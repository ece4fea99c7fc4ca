/* Working memory that all programs of a device use in turn, one run after another. It is as large as the largest
 * program needs, and always begins at the same address, because programs keep addresses into it. A range of addresses
 * is reserved once; memory is mapped at its beginning as it grows, and unmapped at its end when the largest program is
 * released.
 *
 * A program that must not share the memory gets its own allocation, and so does every program if the device cannot
 * reserve addresses.
 *
 * Threads: one thread at a time calls arena_take and arena_give; others may use memory that was taken meanwhile. */
#ifndef UNET_PLAN_ARENA_H
#define UNET_PLAN_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#include "unet/base/error.h"

struct arena;

/* The functions that a device provides for its arenas. Those that can fail return -1 or NULL with err set. */
struct arena_impl {
  /* Maps memory until the first `bytes` of the range are usable, or unmaps what lies after them as far as it can, and
   * sets arena->mapped. If growing fails, nothing has changed. */
  int (*resize)(struct arena *arena, size_t bytes, struct error *err);
  void *(*alloc)(struct arena *arena, size_t bytes, struct error *err); /* a separate allocation */
  void (*free)(struct arena *arena, void *data, size_t bytes);
};

/* The memory that one program takes: the first `bytes` of the range, or an allocation. Zeroed: none. */
struct arena_share {
  struct arena_share *next;
  void *data;
  size_t bytes;
  bool own; /* the memory is a separate allocation, outside the range */
};

struct arena {
  const struct arena_impl *impl;
  void *opaque; /* passed through for the device's functions; not used here */
  void *base;   /* start of the reserved range; NULL: no addresses are reserved */
  size_t reserved, mapped;
  struct arena_share *shares; /* list of the shares that lie in the range, all from its beginning on */
};

/* Gives a zeroed share its memory. own: the share gets an allocation that no other program uses. */
int arena_take(struct arena *arena, struct arena_share *share, size_t bytes, bool own, struct error *err);
void arena_give(struct arena *arena, struct arena_share *share); /* Takes a share without memory too, and zeroes it. */

#endif
