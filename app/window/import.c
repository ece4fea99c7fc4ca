#include "app/window/import.h"

#include <stdlib.h>
#include <string.h>

struct import_entry {
  uint64_t number; /* number of the picture (struct picture) whose memory was imported; 0: this element is unused */
  size_t bytes;
  struct imported imported;
  /* value of import.takes (a count of uses) when this element was last used; the element with the smallest value is
   * replaced first */
  long used;
};

struct import_hold {
  struct frame frame;
  void *fence;
};

struct import {
  const char *what;
  int holds;
  const struct import_impl *impl;
  void *opaque;
  const struct log *log;
  struct gpu_id asked; /* the GPU that import_suits was last asked about */
  bool has_asked;
  bool suited; /* true: OpenGL can import pictures from the memory of the GPU `asked` (result of impl->suits) */
  /* true: importing a picture's memory into OpenGL has failed once, so no more imports are tried */
  bool refused;
  /* the pool (device memory for pictures that is used again and again) to which all pictures in `entries` belong */
  const struct picture_pool *pool;
  struct import_entry entries[IMPORT_CACHE];
  long takes;
  /* number of further calls of import_take that return 0 at once: after a picture's memory could not be shared with
   * OpenGL, sharing is not tried again for some time */
  int rest;
  int idle; /* number of calls of import_follow since the last call of import_take */
  /* pictures that OpenGL still reads; the n-th hold (reference to a picture) is at index n modulo IMPORT_HOLDS */
  struct import_hold held[IMPORT_HOLDS];
  /* told: number of holds (references to pictures that OpenGL reads) that were begun since the start; released: number
   * of those that were ended. */
  long told, released;
};

int import_open(struct import **out, const char *what, int holds, const struct import_impl *impl, void *opaque,
                const struct log *log, struct error *err) {
  struct import *import = calloc(1, sizeof *import);
  *out = import;
  if (!import)
    return error_set(err, STATUS_FAILED, "no memory for the window");
  import->what = what;
  import->holds = holds;
  import->impl = impl;
  import->opaque = opaque;
  import->log = log;
  return 0;
}

static void drop(struct import *import, struct import_entry *entry) {
  if (entry->number)
    import->impl->close(import->opaque, &entry->imported);
  *entry = (struct import_entry){0};
}

static void drop_all(struct import *import) {
  for (int i = 0; i < IMPORT_CACHE; i++)
    drop(import, &import->entries[i]);
}

static void release_oldest(struct import *import) {
  struct import_hold *oldest = &import->held[import->released++ % IMPORT_HOLDS];
  import->impl->free_fence(import->opaque, oldest->fence);
  frame_release(&oldest->frame);
}

void import_close(struct import **pointer) {
  struct import *import = *pointer;
  if (!import)
    return;
  while (import->released < import->told)
    release_oldest(import);
  drop_all(import);
  free(import);
  *pointer = NULL;
}

bool import_suits(struct import *import, const struct gpu_id *gpu) {
  if (!import->has_asked || memcmp(gpu->uuid, import->asked.uuid, sizeof gpu->uuid)) {
    import->asked = *gpu;
    import->has_asked = true;
    import->suited = import->impl->suits(import->opaque, gpu);
  }
  return import->suited && !import->refused;
}

void import_follow(struct import *import) {
  while (import->released < import->told &&
         import->impl->has_passed(import->opaque, import->held[import->released % IMPORT_HOLDS].fence))
    release_oldest(import);
  if (import->idle < IMPORT_REST && ++import->idle == IMPORT_REST)
    drop_all(import);
}

/* Returns the element of import->entries that has the imported memory of the picture with this number. If there is
 * none, returns the element that was used longest ago, to be replaced. */
static struct import_entry *find(struct import *import, uint64_t number) {
  struct import_entry *oldest = &import->entries[0];
  for (int i = 0; i < IMPORT_CACHE; i++) {
    struct import_entry *entry = &import->entries[i];
    if (entry->number == number)
      return entry;
    if (entry->used < oldest->used)
      oldest = entry;
  }
  return oldest;
}

static void refuse(struct import *import, const struct error *err) {
  log_line(import->log, LOG_DEBUG, "%s are uploaded to the window: %s", import->what, err->message);
  import->refused = true;
  drop_all(import);
}

static unsigned look_up(struct import *import, const struct picture *picture) {
  struct import_entry *entry = find(import, picture->number);
  if (entry->number != picture->number || entry->bytes != picture->share_bytes) {
    struct error err;
    drop(import, entry);
    if (import->impl->open(import->opaque, picture->share, picture->share_bytes, &entry->imported, &err)) {
      refuse(import, &err);
      return 0;
    }
    entry->number = picture->number;
    entry->bytes = picture->share_bytes;
  }
  entry->used = ++import->takes;
  return entry->imported.buffer;
}

unsigned import_take(struct import *import, const struct frame *frame) {
  const struct picture *picture = frame->picture;
  struct error err;
  if (!picture || !(picture->memory & MEMORY_SHARED) || !import_suits(import, &picture->gpu) ||
      import->told - import->released >= import->holds || (import->rest && import->rest--))
    return 0;
  if (frame_wait(frame, MEMORY_SHARED, &err) < 0) {
    log_line(import->log, LOG_DEBUG, "%s are uploaded to the window for now: %s", import->what, err.message);
    import->rest = IMPORT_REST;
    return 0;
  }
  if (picture->pool != import->pool)
    drop_all(import);
  import->pool = picture->pool;
  unsigned buffer = look_up(import, picture);
  if (buffer)
    import->impl->renew(import->opaque);
  import->idle = 0;
  return buffer;
}

void import_told(struct import *import, const struct frame *frame) {
  void *fence = import->impl->make_fence(import->opaque);
  if (!fence)
    return;
  import->held[import->told++ % IMPORT_HOLDS] = (struct import_hold){frame_hold(frame), fence};
}
