/* Functions of GPUs for other parts of the program than the engine: sources and windows use them for the GPU on which
 * an engine computes. Without CUDA there is no such GPU.
 *
 * Any thread may call all of them, even while an engine is opened, used or closed. */
#ifndef UNET_BASE_GPU_H
#define UNET_BASE_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "unet/base/error.h"

struct frame;
struct gpu;

/* Identifies a GPU. Zeroed: no GPU. */
struct gpu_id {
  uint8_t uuid[16]; /* identifies the GPU: OpenGL and Vulkan report the same number */
  int ordinal;      /* CUDA's number of the GPU in this process, from 0 */
};

/* True if both are the same GPU; false if one of them is none. */
static inline bool gpu_same(const struct gpu_id *a, const struct gpu_id *b) {
  unsigned any = 0;
  for (size_t i = 0; i < sizeof a->uuid; i++)
    any |= a->uuid[i];
  return any && !memcmp(a->uuid, b->uuid, sizeof a->uuid);
}

/* Memory of a GPU that OpenGL may import. */
struct gpu_share {
  int descriptor; /* file descriptor */
  size_t bytes;
};

struct gpu_impl {
  /* Allocates page-locked memory at the beginning of a page, from which every GPU can copy directly. Returns NULL if
   * there is none. It takes milliseconds, so such memory should be kept in pools. */
  void *(*alloc_host)(const struct gpu *gpu, size_t bytes);
  void (*free_host)(const struct gpu *gpu, void *memory);
  /* Locks or unlocks whole pages of existing memory. Returns false if they stay as they are, which is no error. */
  bool (*lock_host)(const struct gpu *gpu, void *memory, size_t bytes);
  void (*unlock_host)(const struct gpu *gpu, void *memory);
  /* Makes a fence for struct picture. It counts as passed until it is recorded; after that it passes once all work is
   * done that was started before on CUDA's default stream, by any library. Returns NULL with err set on failure. */
  void *(*make_fence)(const struct gpu *gpu, struct error *err);
  int (*record_fence)(const struct gpu *gpu, void *fence, struct error *err);
  void (*free_fence)(const struct gpu *gpu, void *fence);
  /* Copies the pixels of the frame's picture from device_plane to the frame's planes, after its fence has passed, and
   * waits for the copy. Work of other threads is not delayed. */
  int (*download)(const struct gpu *gpu, const struct frame *frame, struct error *err);
  /* Allocates memory of this size, or slightly more, that OpenGL may import. It takes a millisecond. */
  int (*make_share)(const struct gpu *gpu, size_t bytes, struct gpu_share **share, struct error *err);
  /* Starts to copy the pixels of the frame's picture into share, after the picture's fence has passed. Their offsets
   * are those from device_plane[0]. The pixels must not change until wait_share. Returns -1 on failure; nothing reads
   * the pixels any more then. */
  int (*fill_share)(const struct gpu *gpu, struct gpu_share *share, const struct frame *frame, struct error *err);
  /* Waits until all copies started by fill_share are done. Work of other threads is not delayed. */
  int (*wait_share)(const struct gpu *gpu, struct gpu_share *share, struct error *err);
  void (*free_share)(const struct gpu *gpu, struct gpu_share *share);
  /* Returns the CUDA context (CUcontext) in which engines compute, for libraries that must use the same one. It lasts
   * as long as the program. NULL: there is none. */
  void *(*context)(const struct gpu *gpu);
};

struct gpu {
  const struct gpu_impl *impl; /* NULL: no GPU */
  struct gpu_id id;
};

/* Finds the GPU on which a device of this name (device_options.name) computes; for "auto", the one it would use if it
 * has enough memory. Opens no engine. Returns false with *gpu zeroed if there is none. */
bool devices_find_gpu(const char *device_name, struct gpu *gpu);

#endif
