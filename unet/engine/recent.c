#include "unet/engine/recent.h"

static int find(const struct recent *recent, uint64_t key) {
  for (int i = 0; i < recent->count; i++)
    if (recent->place[i].key == key)
      return i;
  return -1;
}

/* Returns the number of the cache's place that was used longest ago. A free place counts as never used, so it is chosen
 * first. */
static int oldest(const struct recent *recent) {
  int place = 0;
  for (int i = 1; i < recent->count; i++)
    if (recent->place[i].used < recent->place[place].used)
      place = i;
  return place;
}

uint64_t recent_assign(struct recent *recent, const uint64_t keys[], int count, int places[]) {
  uint64_t come = 0;
  recent->now++;
  /* Mark keys that are in the cache as used before choosing entries to replace, so that none of these is replaced. */
  for (int i = 0; i < count; i++) {
    int place = find(recent, keys[i]);
    if (place >= 0)
      recent->place[place].used = recent->now;
  }
  for (int i = 0; i < count; i++) {
    places[i] = find(recent, keys[i]);
    if (places[i] >= 0)
      continue;
    places[i] = oldest(recent);
    recent->place[places[i]].key = keys[i];
    recent->place[places[i]].used = recent->now;
    come |= UINT64_C(1) << i;
  }
  return come;
}

void recent_forget_all(struct recent *recent) {
  *recent = (struct recent){.count = recent->count};
}
