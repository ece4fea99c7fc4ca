#include "app/run/handles.h"

bool handles_same_shape(const struct engine_shape *a, const struct engine_shape *b) {
  return a->width == b->width && a->height == b->height && a->sampler == b->sampler && a->spacing == b->spacing &&
         a->steps == b->steps && a->guidance == b->guidance && a->chunks == b->chunks &&
         a->stream_batch == b->stream_batch && a->controls == b->controls && a->canvas == b->canvas &&
         a->bank_room == b->bank_room && a->bank_layers == b->bank_layers && a->carried == b->carried &&
         a->feedback == b->feedback;
}

static void add(struct handles *handles, struct prepared *prepared) {
  struct prepared_info info;
  prepared_get_info(prepared, &info);
  handles->at[handles->count++] = (struct handle){.prepared = prepared, .shape = info.shape};
}

void handles_begin(struct handles *handles, struct engine *engine, struct prepared *first) {
  *handles = (struct handles){.preparer = {.engine = engine}};
  add(handles, first);
}

struct prepared *handles_used(const struct handles *handles) {
  return handles->at[handles->used].prepared;
}

int handles_find(const struct handles *handles, const struct engine_shape *shape) {
  for (int i = 0; i < handles->count; i++)
    if (!handles->at[i].stale && handles_same_shape(&handles->at[i].shape, shape))
      return i;
  return -1;
}

void handles_use(struct handles *handles, int place, long submitted) {
  struct handle *before = &handles->at[handles->used];
  before->until = submitted;
  before->stale = engine_under_way(before->prepared) > 0;
  handles->used = place;
}

bool handles_refused(const struct handles *handles, const struct engine_shape *shape) {
  for (int i = 0; i < handles->refusals; i++)
    if (handles_same_shape(&handles->refused[i], shape))
      return true;
  return false;
}

void handles_forget_refusals(struct handles *handles) {
  handles->refusals = 0;
}

/* Records that a shape could not be prepared, and copies it to *shape. HANDLES_MAX refused shapes are kept; then the
 * oldest is overwritten. Returns -1. */
static int refuse(struct handles *handles, const struct engine_shape *refused, struct engine_shape *shape) {
  if (handles->refusals == HANDLES_MAX) {
    handles->refusals--;
    for (int i = 0; i < handles->refusals; i++)
      handles->refused[i] = handles->refused[i + 1];
  }
  handles->refused[handles->refusals++] = *refused;
  *shape = *refused;
  return -1;
}

int handles_take(struct handles *handles, struct engine_shape *shape, struct error *err) {
  struct prepared *prepared = NULL;
  int got = preparer_take(&handles->preparer, &prepared, err);
  if (got < 0)
    return refuse(handles, &handles->preparer.shape, shape);
  if (got)
    add(handles, prepared);
  return 0;
}

static bool is_wanted(const struct handle *handle, const struct engine_shape *wanted, int count) {
  for (int i = 0; i < count && !handle->stale; i++)
    if (handles_same_shape(&handle->shape, &wanted[i]))
      return true;
  return false;
}

static void forget(struct handles *handles, int place) {
  for (int i = place; i < handles->count - 1; i++)
    handles->at[i] = handles->at[i + 1];
  handles->count--;
  handles->used -= handles->used > place;
}

/* Releases one handle that is neither in use nor wanted, or leaves it for a later call if its frames are not all
 * collected. Returns true if there is such a handle, released or not. */
static bool release_one(struct handles *handles, const struct engine_shape *wanted, int count, long collected) {
  struct error ignored;
  for (int i = 0; i < handles->count; i++) {
    struct handle *handle = &handles->at[i];
    if (i == handles->used || is_wanted(handle, wanted, count))
      continue;
    if (collected >= handle->until) {
      struct prepared *prepared = handle->prepared;
      if (preparer_release(&handles->preparer, &prepared, &ignored))
        engine_release(handles->preparer.engine, &prepared);
      forget(handles, i);
    }
    return true;
  }
  return false;
}

int handles_follow(struct handles *handles, const struct engine_shape *wanted, int count, long collected,
                   struct engine_shape *shape, struct error *err) {
  if (handles->preparer.errand.busy || release_one(handles, wanted, count, collected))
    return 0;
  bool settled = is_wanted(&handles->at[handles->used], wanted, count);
  for (int i = 0; i < (settled ? count : 1); i++) {
    if (handles_find(handles, &wanted[i]) >= 0 || handles_refused(handles, &wanted[i]))
      continue;
    return preparer_ask(&handles->preparer, &wanted[i], err) ? refuse(handles, &wanted[i], shape) : 0;
  }
  return 0;
}
