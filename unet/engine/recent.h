/* A cache with few places, numbered from 0: if all are taken, the entry that was used longest ago is replaced. */
#ifndef UNET_ENGINE_RECENT_H
#define UNET_ENGINE_RECENT_H

#include <stdint.h>

enum { RECENT_MAX = 16 };

/* The cache. The caller sets count and zeroes the other fields, so that the cache is empty. */
struct recent {
  int count; /* number of elements of `place` that are used, at most RECENT_MAX */
  struct {
    /* key of the entry (0: the place is free), and the number of the recent_assign call that used it last */
    uint64_t key, used;
  } place[RECENT_MAX];
  uint64_t now;
};

/* Finds a place for each of the keys: the one that already holds it, or else the one that was used longest ago among
 * those that hold none of these keys. Keys are not 0 and may repeat; at most recent->count of them are different.
 * places[i] gets the place of keys[i]. Returns bits: bit i is set if keys[i] was not in the cache, so that the caller
 * must fill its place; if a key repeats only the bit of its first occurrence is set. */
uint64_t recent_assign(struct recent *recent, const uint64_t keys[], int count, int places[]);
/* Removes all entries. */
void recent_forget_all(struct recent *recent);

#endif
