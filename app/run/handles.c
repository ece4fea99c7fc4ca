#include "app/run/handles.h"

enum shape_property handles_first_difference(const struct engine_shape *wish, const struct engine_shape *now) {
  const bool differs[] = {
      [SHAPE_SIZE] = wish->width != now->width || wish->height != now->height,
      [SHAPE_SAMPLER] = wish->sampler != now->sampler || wish->spacing != now->spacing,
      [SHAPE_CONTROLS] = wish->controls != now->controls,
      [SHAPE_BANK_ROOM] = wish->bank_room != now->bank_room,
      [SHAPE_BANK_LAYERS] = wish->bank_layers != now->bank_layers,
      [SHAPE_STEPS] = wish->steps != now->steps,
      [SHAPE_STREAM_BATCH] = wish->stream_batch != now->stream_batch,
      [SHAPE_CARRIED] = wish->carried && !now->carried,
      [SHAPE_FEEDBACK] = wish->feedback && !now->feedback,
      [SHAPE_CANVAS] = wish->canvas != now->canvas,
      [SHAPE_GUIDANCE] = wish->guidance != now->guidance,
  };
  int property = 0;
  while (property < SHAPE_CHUNKS && !differs[property])
    property++;
  return (enum shape_property)property;
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
    if (!handles->at[i].stale && shapes_equal(&handles->at[i].shape, shape))
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
    if (shapes_equal(&handles->refused[i], shape))
      return true;
  return false;
}

void handles_forget_refusals(struct handles *handles) {
  handles->refusals = 0;
}

/* Records that a shape (size, step count and so on) could not be prepared, and copies it to *shape, the caller's
 * result. The last HANDLES_MAX such shapes are remembered. Returns -1. */
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
    if (shapes_equal(&handle->shape, &wanted[i]))
      return true;
  return false;
}

static void forget(struct handles *handles, int place) {
  for (int i = place; i < handles->count - 1; i++)
    handles->at[i] = handles->at[i + 1];
  handles->count--;
  handles->used -= handles->used > place;
}

/* Releases one handle (prepared size and step count) that is neither in use nor wanted. If frames of this handle are
 * still in flight, it is left for a later call. Returns true if there is such a handle, released or not. */
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
