/* Which of many things are in a few places: the one used longest ago gives way. */
#ifndef UNET_ENGINE_RECENT_H
#define UNET_ENGINE_RECENT_H

#include <stdint.h>

enum { RECENT_MAX = 16 };

/* Zeroed but for the count: all places are free. */
struct recent {
  int count; /* of places */
  struct {
    uint64_t key, used; /* what is there; 0: nothing. When it was asked for last */
  } place[RECENT_MAX];
  uint64_t now;
};

/* Gives each key, which is not 0, a place in places: the one where it is already, else one that nothing asked for here
 * is in. Keys may repeat; there are at most recent->count different ones. Returns the keys that have come in, one bit
 * each: of one that repeats, the first. */
uint64_t recent_assign(struct recent *recent, const uint64_t keys[], int count, int places[]);
/* Nothing is there any more. */
void recent_forget_all(struct recent *recent);

#endif
