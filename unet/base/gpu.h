/* Functions of a GPU that sources and windows call, which use the GPU on which the engine computes. Without CUDA there
 * is no such GPU.
 *
 * Any thread may call all of these functions, even while an engine is opened, used or closed. */
#ifndef UNET_BASE_GPU_H
#define UNET_BASE_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "unet/base/error.h"

struct frame;
struct gpu;
struct mixture;

/* Numbers by which a GPU is identified. Zeroed: no GPU. */
struct gpu_id {
  uint8_t uuid[16]; /* the GPU's UUID, which OpenGL and Vulkan report as well */
  int ordinal;      /* CUDA's number of the GPU in this process, from 0 */
};

/* Returns true if `id` is that of a GPU. */
static inline bool gpu_exists(const struct gpu_id *id) {
  unsigned any = 0;
  for (size_t i = 0; i < sizeof id->uuid; i++)
    any |= id->uuid[i];
  return any;
}

/* Returns true if a and b are the same GPU; false if a or b is no GPU. */
static inline bool gpu_same(const struct gpu_id *a, const struct gpu_id *b) {
  return gpu_exists(a) && !memcmp(a->uuid, b->uuid, sizeof a->uuid);
}

/* Memory of a GPU that OpenGL may import. */
struct gpu_share {
  int descriptor; /* file descriptor by which OpenGL imports the memory */
  size_t bytes;
  void *memory; /* the memory's address on the GPU */
};

/* A mixture of two frames that a GPU shall make. */
struct gpu_mixing {
  /* the mixture (unet/base/mixture.h); its planes are in memory of this GPU, or in page-locked host memory */
  const struct mixture *mixture;
  void *fence[2]; /* CUDA events after which the frames' planes are written; NULL: they are written already */
  size_t chroma;  /* offset of the result's second plane from its first one, in bytes */
};

struct gpu_impl {
  /* Allocates page-locked memory at the beginning of a page, from which every GPU can copy directly. Returns NULL if
   * the system has no such memory left. An allocation takes milliseconds, so such memory should be kept in pools. */
  void *(*alloc_host)(const struct gpu *gpu, size_t bytes);
  void (*free_host)(const struct gpu *gpu, void *memory);
  /* lock_host page-locks whole pages of existing memory, so that GPUs can copy from it directly. It returns false if
   * the pages could not be locked, which is no error. unlock_host ends the lock. */
  bool (*lock_host)(const struct gpu *gpu, void *memory, size_t bytes);
  void (*unlock_host)(const struct gpu *gpu, void *memory);
  /* Makes a fence for struct picture: a CUDA event that tells when a GPU's writes to the picture are complete. Before
   * the event is recorded it counts as reached. Afterwards it is reached when all work is done that was started earlier
   * on CUDA's default stream, by any library. Returns NULL with err set on failure. */
  void *(*make_fence)(const struct gpu *gpu, struct error *err);
  int (*record_fence)(const struct gpu *gpu, void *fence, struct error *err);
  void (*free_fence)(const struct gpu *gpu, void *fence);
  /* Records the event on a CUDA stream (cudaStream_t) of this GPU: it is reached when all work is done that the stream
   * has been given so far. */
  int (*record_fence_on)(const struct gpu *gpu, void *fence, void *stream, struct error *err);
  /* Makes a CUDA stream (cudaStream_t) that no other stream waits for. Returns NULL with err set on failure. */
  void *(*make_stream)(const struct gpu *gpu, struct error *err);
  void (*free_stream)(const struct gpu *gpu, void *stream);
  /* Fails unless CUDA knows the memory and this GPU's kernels can read it. Looks at its first and its last byte. */
  int (*check_memory)(const struct gpu *gpu, const void *memory, size_t bytes, struct error *err);
  /* Copies the pixels of the frame's picture from device_plane to the frame's planes, after its fence (CUDA event) has
   * passed, and waits for the copy. Work of other threads is not delayed. */
  int (*download)(const struct gpu *gpu, const struct frame *frame, struct error *err);
  /* Allocates at least `bytes` bytes of GPU memory that OpenGL may import. The call takes about a millisecond. */
  int (*make_share)(const struct gpu *gpu, size_t bytes, struct gpu_share **share, struct error *err);
  /* Starts to copy the pixels of the frame's picture into `share`, after the picture's fence (CUDA event) has passed.
   * Each plane keeps its offset from device_plane[0]. The pixels must not change until wait_share has returned. Returns
   * -1 on failure, after which nothing reads the pixels any more. */
  int (*fill_share)(const struct gpu *gpu, struct gpu_share *share, const struct frame *frame, struct error *err);
  /* Waits until the copies of pixels into `share` that fill_share has started are done. Work of other threads is not
   * delayed. */
  int (*wait_share)(const struct gpu *gpu, struct gpu_share *share, struct error *err);
  void (*free_share)(const struct gpu *gpu, struct gpu_share *share);
  /* Writes a mixture of two frames into `share`, from its beginning on, and waits until that is done. Work of other
   * threads is not delayed. */
  int (*mix)(const struct gpu *gpu, struct gpu_share *share, const struct gpu_mixing *mixing, struct error *err);
  /* Returns the CUDA context (CUcontext) in which engines compute, for libraries that must use the same one. The
   * context lasts as long as the program. NULL: there is none. */
  void *(*context)(const struct gpu *gpu);
};

struct gpu {
  const struct gpu_impl *impl; /* the functions that use this GPU; NULL: there is no GPU */
  struct gpu_id id;
};

/* Finds the GPU on which a device of this name (device_options.name) computes. For "auto" this is the GPU that would be
 * chosen if it has enough memory. Opens no engine. Returns false with *gpu zeroed if there is none. */
bool devices_find_gpu(const char *device_name, struct gpu *gpu);

#endif
