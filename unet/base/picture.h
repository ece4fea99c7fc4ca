/* Pictures: reference-counted memory for the planes of frames, so that any number of consumers share it without copies.
 *
 * A struct frame is passed by value: each consumer has its own times and numbers, and all share the picture.
 * - A function that gives a frame out (source_read, queue_take, engine_collect) gives a hold on its picture with it,
 *   which the receiver ends with frame_release or passes on. A const struct frame * is borrowed for the call; a
 *   function that needs it for longer calls frame_hold.
 * - The code that takes a picture out of its pool writes its planes before it passes the frame on. After that they are
 *   only read.
 * - A picture outlives its pool and its maker, such as a source or an engine.
 * - Every consumer declares how many pictures it holds at most, so that no consumer runs out of pictures.
 *
 * Any thread may hold, wait and release. Once as many pictures exist as are used at the same time, nothing here
 * allocates. */
#ifndef UNET_BASE_PICTURE_H
#define UNET_BASE_PICTURE_H

#include <stdatomic.h>
#include <stddef.h>

#include "unet/base/error.h"
#include "unet/base/frame.h"
#include "unet/base/gpu.h"

/* The kinds of memory in which a picture's pixels can be; a picture may have several. If it has device and host memory,
 * the host's part is allocated from the start, and the owner's wait(MEMORY_HOST) fills it when it is first asked to,
 * once, on the calling thread. Shared memory that is not the memory of device_plane is filled in the same way, or
 * earlier if the owner does so. */
enum memory {
  MEMORY_HOST = 1,   /* frame.plane */
  MEMORY_DEVICE = 2, /* device_plane */
  MEMORY_PINNED = 4, /* with MEMORY_HOST: page-locked, so that GPUs can copy directly from it and to it */
  /* device memory that OpenGL can import: see share. The planes lie in it as they do in device_plane. */
  MEMORY_SHARED = 8,
};

/* The functions that the owner of pictures provides. */
struct picture_owner {
  size_t bytes; /* size of the owner's struct, which begins with struct picture */
  /* Allocates the memory of a zeroed picture: fills memory, template with its planes, and the owner's own fields. */
  int (*make)(void *opaque, struct picture *picture, struct error *err);
  /* Called when the last hold ends, on the thread that ended it. May be NULL. */
  void (*recycle)(struct picture *picture);
  /* Frees everything that make allocated. The opaque pointer of the pool may be invalid by then. */
  void (*destroy)(struct picture *picture);
  /* Waits until the pixels are in this kind of memory. NULL: they are there as soon as the picture is passed on. */
  int (*wait)(struct picture *picture, enum memory kind, struct error *err);
  /* True if wait would return at once. NULL: it always does. */
  bool (*ready)(struct picture *picture, enum memory kind);
};

struct picture {
  const struct picture_owner *owner;
  struct frame template; /* the initial value of a frame with this picture */
  unsigned memory;       /* bits of enum memory */
  void *device_plane[3]; /* planes in device memory, with the frame's pitches */
  struct gpu_id gpu;     /* the GPU of device_plane */
  void *fence; /* fence of that GPU (gpu.h), which is passed once device_plane is written; NULL: it is written */
  /* File descriptor of the memory that OpenGL may import, which begins at the first plane. Valid after
   * wait(MEMORY_SHARED). */
  int share;
  size_t share_bytes;

  /* The following fields belong to picture.c. */
  uint64_t number; /* unique among all pictures of this process */
  atomic_int holds;
  struct picture_pool *pool;
  struct picture *next;
};

/* Returns a copy of the frame with its own hold. */
struct frame frame_hold(const struct frame *frame);
/* Ends the frame's hold and sets its planes to NULL. Takes a frame that holds nothing. */
void frame_release(struct frame *frame);
/* Must be called before pixels are read: it waits until they are in this kind of memory. Returns -1 if they never will
 * be, or if the picture has no memory of this kind. */
int frame_wait(const struct frame *frame, enum memory kind, struct error *err);
bool frame_ready(const struct frame *frame, enum memory kind);
/* frame_on_gpu is true if this GPU has the pixels in its own memory, frame_pinned if GPUs can copy them directly from
 * the host's. */
bool frame_on_gpu(const struct frame *frame, const struct gpu_id *gpu);
bool frame_pinned(const struct frame *frame);
/* Returns a plane for writing, for the code that took the picture out of its pool. */
uint8_t *frame_plane(const struct frame *frame, int plane);

/* --- pools --- */

struct picture_pool;

/* Opens a pool and makes at_once pictures. Others are made when they are needed, up to `most` (0: no limit). opaque is
 * passed to make, and must stay valid as long as the pool is open. */
int picture_pool_open(struct picture_pool **pool, const struct picture_owner *owner, void *opaque, int at_once,
                      int most, struct error *err);
/* Takes a free picture. Returns 1 with *frame as the picture's template, 0 if all pictures are held, and -1 if none can
 * be made. One thread at a time may call it. */
int picture_pool_take(struct picture_pool *pool, struct frame *frame, struct error *err);
/* Closes a pool. Pictures that are held exist until they are released. Stores NULL; takes NULL. */
void picture_pool_close(struct picture_pool **pool);

/* --- in host memory --- */

/* A pool of pictures of one shape in host memory, laid out by frame_lay_out. A zeroed struct is valid. It must not be
 * moved. */
struct host_pictures {
  enum pixel_format format;
  int width, height;
  struct picture_pool *pool;
  struct gpu gpu; /* GPU that copies from them, so they are page-locked if possible; zeroed: none */
};

/* Takes a picture of this shape with undefined pixels. If the shape differs from the previous one a new pool is
 * opened. */
int host_pictures_take(struct host_pictures *pictures, enum pixel_format format, int width, int height,
                       struct frame *frame, struct error *err);
/* Takes a picture with the pixels of `from`, and copies the other fields of the frame. */
int host_pictures_copy(struct host_pictures *pictures, const struct frame *from, struct frame *frame,
                       struct error *err);
void host_pictures_free(struct host_pictures *pictures);

#endif
