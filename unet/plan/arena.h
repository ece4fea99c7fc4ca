/* An arena is working memory that all programs (prepared plans) of a device use in turn, one run after another. It is
 * as large as the largest program needs. Its address never changes, because programs store addresses within it.
 *
 * A range of addresses is reserved once. Memory is mapped at the range's beginning as the arena grows, and is unmapped
 * at its end when the largest program is released. A program that must not share the memory gets an allocation of its
 * own; so does every program if the device cannot reserve addresses.
 *
 * Threads: one thread at a time calls arena_take and arena_give; other threads may meanwhile use memory that was taken
 * before. */
#ifndef UNET_PLAN_ARENA_H
#define UNET_PLAN_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#include "unet/base/error.h"

struct arena;

/* The functions that a device provides for its arena (working memory). Those that can fail return -1 or NULL with err
 * set. */
struct arena_impl {
  /* Makes the first `bytes` of the reserved range usable. Maps more memory if needed, and unmaps what lies behind, as
   * far as possible. Sets arena->mapped. On failure nothing changes. */
  int (*resize)(struct arena *arena, size_t bytes, struct error *err);
  /* allocates memory outside the reserved range, for a program that must not share its memory */
  void *(*alloc)(struct arena *arena, size_t bytes, struct error *err);
  void (*free)(struct arena *arena, void *data, size_t bytes);
};

/* The memory that one program takes from an arena: the first `bytes` of the reserved range, or an allocation of its
 * own. Zeroed: no memory. */
struct arena_share {
  struct arena_share *next;
  void *data;
  size_t bytes;
  bool own; /* true: the memory is a separate allocation, outside the reserved range */
};

struct arena {
  const struct arena_impl *impl;
  void *opaque; /* pointer that is passed to the device's functions */
  void *base;   /* start of the reserved range of addresses; NULL: none is reserved */
  size_t reserved, mapped;
  /* the programs that use the reserved range, with the number of bytes that each needs; all of them begin at `base` and
   * use the memory in turn */
  struct arena_share *shares;
};

/* Gives a program `bytes` of memory and describes them in *share, which must be zeroed. own: true: an allocation that
 * no other program uses; false: the beginning of the range that all programs share. If that range is too small, or none
 * is reserved, the program gets an allocation of its own as well. Returns -1 with err set on failure. */
int arena_take(struct arena *arena, struct arena_share *share, size_t bytes, bool own, struct error *err);
/* Ends a program's use of the memory that arena_take gave it, and zeroes *share. Does nothing if it has no memory. */
void arena_give(struct arena *arena, struct arena_share *share);

#endif
