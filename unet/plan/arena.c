#include "unet/plan/arena.h"

static int take_own(struct arena *arena, struct arena_share *share, size_t bytes, struct error *err) {
  void *data = arena->impl->alloc(arena, bytes, err);
  if (!data)
    return -1;
  *share = (struct arena_share){.data = data, .bytes = bytes, .own = true};
  return 0;
}

int arena_take(struct arena *arena, struct arena_share *share, size_t bytes, bool own, struct error *err) {
  if (own || !arena->base || bytes > arena->reserved)
    return take_own(arena, share, bytes, err);
  if (bytes > arena->mapped && arena->impl->resize(arena, bytes, err) < 0)
    return -1;
  *share = (struct arena_share){.next = arena->shares, .data = arena->base, .bytes = bytes};
  arena->shares = share;
  return 0;
}

static void leave_range(struct arena *arena, struct arena_share *share) {
  struct arena_share **link = &arena->shares;
  size_t most = 0;
  while (*link != share)
    link = &(*link)->next;
  *link = share->next;
  for (const struct arena_share *s = arena->shares; s; s = s->next)
    most = s->bytes > most ? s->bytes : most;
  if (most < arena->mapped)
    arena->impl->resize(arena, most, NULL);
}

void arena_give(struct arena *arena, struct arena_share *share) {
  if (share->own)
    arena->impl->free(arena, share->data, share->bytes);
  else if (share->data)
    leave_range(arena, share);
  *share = (struct arena_share){0};
}
