/* A cache of a few entries, for the keys and values of prompts on the device. It only decides which index each entry
 * has, from 0. If all indices are taken, a new entry replaces the one that was used longest ago. */
#ifndef UNET_ENGINE_RECENT_H
#define UNET_ENGINE_RECENT_H

#include <stdint.h>

enum { RECENT_MAX = 16 };

/* The state of the cache, which tells what is stored in each of its numbered places. The caller sets count and zeroes
 * the other fields; the cache is then empty. */
struct recent {
  int count; /* number of entries that the cache has room for, at most RECENT_MAX */
  struct {
    /* key: the caller's number of the thing that is stored at this index of the cache; 0: nothing is. used: number of
     * the call of recent_assign that used this index last */
    uint64_t key, used;
  } place[RECENT_MAX];
  uint64_t now;
};

/* Gives each key an index in the cache. A key that is in the cache keeps its index. Any other key replaces the entry
 * that was used longest ago, among those with none of these keys. Keys are not 0 and may repeat; at most recent->count
 * of them are different. places[i] becomes the index of keys[i].
 *
 * Returns bits: bit i is set if keys[i] was not in the cache, so that the caller must compute what it stands for. Of a
 * key that repeats, only the first one's bit is set. */
uint64_t recent_assign(struct recent *recent, const uint64_t keys[], int count, int places[]);
/* Removes all entries from the cache. */
void recent_forget_all(struct recent *recent);

#endif
