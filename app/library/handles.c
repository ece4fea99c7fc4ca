/* Keeps the handles (struct prepared) of a struct reverie. A handle is the engine made ready for one size, step count
 * and so on; several are kept, so that a change back to one of them takes no time. Any thread may prepare a handle. */
#include "app/library/library.h"
#include "app/models/engine_wish.h"

/* --- computing the shape of an engine (size, step count and so on) from the parameters' values (engine_shape) --- */

const char *library_text(const struct parameters *values, int slot) {
  const char *text = values_slot_text(values, slot);
  return text || slot != SLOT_PRESET_1 ? text : PARAMETER_PROMPT_DEFAULT;
}

/* Counts the token chunks of all texts into reverie->chunks, if a text has changed since the last count. Returns 0, or
 * -1 with err. */
static int count_chunks(struct reverie *reverie, const struct parameters *values, struct error *err) {
  if (reverie->counted == values->texts)
    return 0;
  for (int slot = SLOT_PRESET_1; slot < LIBRARY_SLOTS; slot++) {
    const char *text = library_text(values, slot);
    int chunks = text ? engine_count_chunks(reverie->engine, slot, text, err) : 1;
    if (chunks < 0)
      return -1;
    reverie->chunks[slot] = chunks;
    reverie->given[slot] = text != NULL;
  }
  reverie->counted = values->texts;
  return 0;
}

/* True if pictures with these values depend on the prompt in this slot (storage for an encoded prompt): the slot's
 * share in the blend of prompts is not 0, or it is the negative prompt. */
static bool is_shown(const struct parameters *values, int slot) {
  float shares[SLOT_PRESETS];
  values_shares(values, shares);
  return slot == SLOT_NEGATIVE || shares[slot - SLOT_PRESET_1] > 0;
}

int library_shape(struct reverie *reverie, const struct parameters *values, struct engine_shape *shape,
                  struct error *err) {
  int now = 1, most = 1;
  if (count_chunks(reverie, values, err))
    return -1;
  for (int slot = SLOT_PRESET_1; slot < LIBRARY_SLOTS; slot++) {
    int chunks = reverie->chunks[slot];
    if (reverie->given[slot] && is_shown(values, slot) && chunks > now)
      now = chunks;
    if (reverie->given[slot] && chunks > most)
      most = chunks;
  }
  values_shape(values, shape);
  shape->chunks = engine_choose_chunks(most, now);
  if (!parameters_marked(values, PARAMETER_SIZE, 0))
    shape->width = shape->height = 0;
  return 0;
}

/* --- handles (engines made ready for one size, step count and so on): finding and making them --- */

/* Returns the handle that was prepared for this shape (size, step count and so on); NULL: there is none. Called with
 * reverie->lock held. */
static struct library_handle *find(struct reverie *reverie, const struct engine_shape *shape) {
  for (int i = 0; i < LIBRARY_HANDLES; i++)
    if (reverie->handles[i].prepared && shapes_equal(&reverie->handles[i].wish, shape))
      return &reverie->handles[i];
  return NULL;
}

/* Returns the handle that was prepared for this shape (size, step count and so on), and records that it is used now;
 * NULL: there is none. claim: true: the handle's number of frames in flight is increased. */
static struct library_handle *take(struct reverie *reverie, const struct engine_shape *shape, bool claim) {
  pthread_mutex_lock(&reverie->lock);
  struct library_handle *found = find(reverie, shape);
  if (found) {
    found->used = ++reverie->uses;
    found->in_flight += claim;
  }
  pthread_mutex_unlock(&reverie->lock);
  return found;
}

/* Returns an unused element of reverie->handles. If all are used, empties the one whose handle was unused for the
 * longest time. A handle with frames in flight is never released. There is always one without, because the array has
 * more elements than there can be frames in flight. */
static struct library_handle *free_place(struct reverie *reverie) {
  struct library_handle *oldest = NULL;
  pthread_mutex_lock(&reverie->lock);
  for (int i = 0; i < LIBRARY_HANDLES; i++) {
    struct library_handle *handle = &reverie->handles[i];
    uint64_t used = handle->prepared ? handle->used : 0;
    if (!handle->in_flight && (!oldest || used < (oldest->prepared ? oldest->used : 0)))
      oldest = handle;
  }
  struct prepared *prepared = oldest->prepared;
  oldest->prepared = NULL;
  pthread_mutex_unlock(&reverie->lock);
  engine_release(reverie->engine, &prepared);
  return oldest;
}

/* Moves the engine to the CPU, unless pictures are to be in the GPU's memory. */
static int fall_back(struct reverie *reverie, struct error *err) {
  if (reverie->memory == REVERIE_CUDA || engine_fall_back(reverie->engine, err))
    return -1;
  reverie->fallen_back = true;
  return 0;
}

/* Prepares the engine for this shape, in an unused element of reverie->handles. If the GPU has too little memory, and
 * the calling program did not choose that GPU, the engine moves to the CPU. Returns 0, or -1 with err. */
static int prepare(struct reverie *reverie, const struct engine_shape *shape, struct error *err) {
  struct library_handle *place = free_place(reverie);
  struct prepared *prepared = NULL;
  if (engine_prepare(reverie->engine, shape, &prepared, err) &&
      (fall_back(reverie, err) || engine_prepare(reverie->engine, shape, &prepared, err)))
    return -1;
  pthread_mutex_lock(&reverie->lock);
  *place = (struct library_handle){.prepared = prepared, .wish = *shape};
  pthread_mutex_unlock(&reverie->lock);
  return 0;
}

int library_handle_find(struct reverie *reverie, const struct engine_shape *shape, bool claim,
                        struct library_handle **handle, struct error *err) {
  int status = 0;
  *handle = take(reverie, shape, claim);
  if (*handle)
    return 0;
  pthread_mutex_lock(&reverie->preparing);
  /* another thread may have prepared this handle (one size and step count) while this one waited for the lock */
  *handle = take(reverie, shape, claim);
  if (!*handle) {
    status = prepare(reverie, shape, err);
    *handle = status ? NULL : take(reverie, shape, claim);
  }
  pthread_mutex_unlock(&reverie->preparing);
  return status;
}

/* --- functions of the library's interface (reverie.h) --- */

int reverie_prepare(struct reverie *reverie, int width, int height, struct reverie_error *error) {
  struct error err;
  struct engine_shape shape;
  struct library_handle *handle;
  if (!reverie->engine)
    return library_refuse(error, "no model is open: reverie_open comes first");
  pthread_mutex_lock(&reverie->lock);
  int status =
      width || height ? parameters_set_size(&reverie->asked.values, PARAMETER_SIZE, 0, width, height, &err) : 0;
  if (!status)
    status = library_shape(reverie, &reverie->asked.values, &shape, &err);
  pthread_mutex_unlock(&reverie->lock);
  if (!status)
    status = library_handle_find(reverie, &shape, false, &handle, &err);
  return library_tell(error, status ? &err : NULL);
}

int reverie_nearest_size(struct reverie *reverie, int *width, int *height, struct reverie_error *error) {
  if (!reverie->engine)
    return library_refuse(error, "no model is open: reverie_open comes first");
  engine_nearest_size(reverie->engine, SIZE_WHOLE, width, height);
  return library_tell(error, NULL);
}
