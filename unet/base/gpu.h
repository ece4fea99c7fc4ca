/* GPUs beside the engine: what sources and windows ask of the one that an engine computes on. Without CUDA there is
 * none.
 *
 * Any thread may call all of this, also while an engine is opened, used or closed. */
#ifndef UNET_BASE_GPU_H
#define UNET_BASE_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "unet/base/error.h"

struct frame;
struct gpu;

/* Which GPU; no other has its number. Zeroed: none. */
struct gpu_id {
  uint8_t uuid[16]; /* OpenGL and Vulkan know it by the same one */
  int ordinal;      /* as CUDA counts */
};

/* Not where one is none. */
static inline bool gpu_same(const struct gpu_id *a, const struct gpu_id *b) {
  unsigned any = 0;
  for (size_t i = 0; i < sizeof a->uuid; i++)
    any |= a->uuid[i];
  return any && !memcmp(a->uuid, b->uuid, sizeof a->uuid);
}

/* Memory of a GPU's that OpenGL may import. */
struct gpu_share {
  int descriptor; /* a file's */
  size_t bytes;
};

struct gpu_impl {
  /* Page-locked memory, from which every GPU copies by itself, at the beginning of a page. NULL: there is none. It
   * takes milliseconds, so it belongs in pools. */
  void *(*alloc_host)(const struct gpu *gpu, size_t bytes);
  void (*free_host)(const struct gpu *gpu, void *memory);
  /* Locks whole pages that are there already, or unlocks them. false: they stay as they are, which is no error. */
  bool (*lock_host)(const struct gpu *gpu, void *memory, size_t bytes);
  void (*unlock_host)(const struct gpu *gpu, void *memory);
  /* A fence for struct picture, which has passed until it is recorded: it passes then when everything is done that was
   * begun on CUDA's default stream before, by whichever library. NULL: err says why. */
  void *(*make_fence)(const struct gpu *gpu, struct error *err);
  int (*record_fence)(const struct gpu *gpu, void *fence, struct error *err);
  void (*free_fence)(const struct gpu *gpu, void *fence);
  /* Copies the pixels of the frame's picture from device_plane to the frame's planes, when its fence has passed, and
   * waits for that. No other thread's work waits. */
  int (*download)(const struct gpu *gpu, const struct frame *frame, struct error *err);
  /* Memory of its own, of so many bytes or a few more, that OpenGL may import. It takes a millisecond. */
  int (*make_share)(const struct gpu *gpu, size_t bytes, struct gpu_share **share, struct error *err);
  /* Begins to copy the pixels of the frame's picture there, which lie as far from its beginning as they do from
   * device_plane[0], when its fence has passed. The pixels must stay until wait_share; -1: nothing reads them any
   * more. */
  int (*fill_share)(const struct gpu *gpu, struct gpu_share *share, const struct frame *frame, struct error *err);
  /* Waits until everything that fill_share began is done. No other thread's work waits. */
  int (*wait_share)(const struct gpu *gpu, struct gpu_share *share, struct error *err);
  void (*free_share)(const struct gpu *gpu, struct gpu_share *share);
  /* CUDA's handle (CUcontext) of what engines compute in, for libraries that are to work there, too. It lasts as long
   * as the program. NULL: there is none. */
  void *(*context)(const struct gpu *gpu);
};

struct gpu {
  const struct gpu_impl *impl; /* NULL: none */
  struct gpu_id id;
};

/* The GPU that a device of this name (device_options.name) computes on, or with "auto" would if it has room. Opens no
 * engine. false: none, and *gpu is zeroed. */
bool devices_find_gpu(const char *device_name, struct gpu *gpu);

#endif
