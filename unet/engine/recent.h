/* A cache with few places: if all are taken, the entry that was used longest ago is replaced. */
#ifndef UNET_ENGINE_RECENT_H
#define UNET_ENGINE_RECENT_H

#include <stdint.h>

enum { RECENT_MAX = 16 };

/* All fields zero except count: all places are free. */
struct recent {
  int count; /* number of places */
  struct {
    uint64_t key, used; /* key of the entry, 0: the place is free; and the number of the call that used it last */
  } place[RECENT_MAX];
  uint64_t now;
};

/* Finds a place for each key: the one that already holds it, else one that holds none of these keys. Keys are not 0 and
 * may repeat; there are at most recent->count different ones. Returns a bit for each key that was not there before; for
 * a repeated key only the first one's bit. */
uint64_t recent_assign(struct recent *recent, const uint64_t keys[], int count, int places[]);
/* Frees all places. */
void recent_forget_all(struct recent *recent);

#endif
