/* Memory that programs of one device use one after another. It is as large as the largest program needs, and always at
 * the same address, because programs keep addresses. A range of addresses is reserved once; memory is mapped at its
 * beginning as it grows, and unmapped at its end when the largest program is released.
 *
 * A program that must not share the memory gets its own allocation, and so does every program of a device that cannot
 * reserve addresses.
 *
 * Threads: one thread at a time takes and gives; memory that was taken can be used meanwhile. */
#ifndef UNET_PLAN_ARENA_H
#define UNET_PLAN_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#include "unet/base/error.h"

struct arena;

/* The functions that a device provides for its arenas. */
struct arena_impl {
  /* Maps memory until the first `bytes` of the range are usable, or unmaps what lies after them as far as it can, and
   * sets arena->mapped. If growing fails, nothing has changed. */
  int (*resize)(struct arena *arena, size_t bytes, struct error *err);
  void *(*alloc)(struct arena *arena, size_t bytes, struct error *err); /* returns NULL with err set on failure */
  void (*free)(struct arena *arena, void *data, size_t bytes);
};

/* A program's part of an arena. Zeroed: it has no memory. */
struct arena_share {
  struct arena_share *next;
  void *data;
  size_t bytes;
  bool own; /* the memory is a separate allocation, outside the range */
};

struct arena {
  const struct arena_impl *impl;
  void *opaque; /* belongs to the device */
  void *base;   /* NULL: no addresses are reserved */
  size_t reserved, mapped;
  struct arena_share *shares; /* list of the shares in the range */
};

/* Gives share its memory. own: no other program uses it. */
int arena_take(struct arena *arena, struct arena_share *share, size_t bytes, bool own, struct error *err);
void arena_give(struct arena *arena, struct arena_share *share); /* Takes a share without memory too. */

#endif
