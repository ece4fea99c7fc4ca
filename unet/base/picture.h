/* Pictures: the memory that planes of frames lie in, counted, so that any number of consumers share it and none copies.
 *
 * A struct frame is passed on by value: each consumer has times and numbers of its own, and all share the picture.
 * - A function that gives a frame out (source_read, queue_take, engine_collect) gives a hold on its picture with it,
 *   which the receiver ends with frame_release or passes on. A const struct frame * is borrowed for the call; a
 *   function that needs it for longer calls frame_hold.
 * - The code that takes a picture out of its pool writes its planes before it passes the frame on. After that they are
 *   only read.
 * - A picture outlives its pool and whatever made it: a source, an engine.
 * - Every consumer says how many pictures it holds at most, so that none can starve the others.
 *
 * Any thread may hold, wait and release. After the pictures that are used at the same time have been made, nothing here
 * allocates. */
#ifndef UNET_BASE_PICTURE_H
#define UNET_BASE_PICTURE_H

#include <stdatomic.h>
#include <stddef.h>

#include "unet/base/error.h"
#include "unet/base/frame.h"
#include "unet/base/gpu.h"

/* Kinds of memory that a picture has its pixels in; one may have several. Of a picture that has both, the host's part
 * is there from the start and is filled by the owner's wait(MEMORY_HOST) when somebody asks first: once, on the asker's
 * thread. So is shared memory that device_plane does not lie in, which the owner of later pictures may fill before. */
enum memory {
  MEMORY_HOST = 1,   /* frame.plane */
  MEMORY_DEVICE = 2, /* device_plane */
  MEMORY_PINNED = 4, /* of MEMORY_HOST: page-locked, so that GPUs copy from it and to it by themselves */
  MEMORY_SHARED = 8, /* the device's, for OpenGL to import: share. The planes lie in it as they do in device_plane */
};

/* What the owner of pictures does for them. */
struct picture_owner {
  size_t bytes; /* of a struct that begins with struct picture */
  /* Gives a zeroed picture its memory: fills memory, template with planes, and whatever the owner keeps. */
  int (*make)(void *opaque, struct picture *picture, struct error *err);
  /* Called when the last hold ends, on the thread that ended it. NULL: there is nothing to do. */
  void (*recycle)(struct picture *picture);
  /* Frees what make has made; the opaque pointer may be gone. */
  void (*destroy)(struct picture *picture);
  /* Waits until the pixels are in this kind of memory. NULL: they are when the picture is passed on. */
  int (*wait)(struct picture *picture, enum memory kind, struct error *err);
  /* Whether that would take no time. NULL: it would not. */
  bool (*ready)(struct picture *picture, enum memory kind);
};

struct picture {
  const struct picture_owner *owner;
  struct frame template; /* what a frame of this picture begins as */
  unsigned memory;       /* kinds, or-ed */
  void *device_plane[3]; /* with the frame's pitches */
  struct gpu_id gpu;     /* whose memory that is */
  void *fence;           /* of that GPU (gpu.h): passes when device_plane is written. NULL: it is */
  /* Memory that OpenGL may import, from the first plane on: a file descriptor. Set when wait(MEMORY_SHARED) is over */
  int share;
  size_t share_bytes;
  /* picture.c's */
  uint64_t number; /* that no other picture of this process has had */
  atomic_int holds;
  struct picture_pool *pool;
  struct picture *next;
};

/* A copy of the frame, with a hold of its own. */
struct frame frame_hold(const struct frame *frame);
/* Ends the frame's hold; its planes are NULL then. Takes a frame that holds nothing. */
void frame_release(struct frame *frame);
/* To be called before pixels are read: waits until they are there. -1: they never will be, or there are none in this
 * kind of memory. */
int frame_wait(const struct frame *frame, enum memory kind, struct error *err);
bool frame_ready(const struct frame *frame, enum memory kind);
/* Whether this GPU has the pixels in its own memory; whether any can copy them from the host's by itself. */
bool frame_on_gpu(const struct frame *frame, const struct gpu_id *gpu);
bool frame_pinned(const struct frame *frame);
/* A plane, to be written by the code that took the picture out of its pool. */
uint8_t *frame_plane(const struct frame *frame, int plane);

/* --- pools --- */

struct picture_pool;

/* At once pictures are made now, the others when they are needed, at most `most` (0: as many as are held at a time).
 * opaque is for make, and must last as long as the pool is open. */
int picture_pool_open(struct picture_pool **pool, const struct picture_owner *owner, void *opaque, int at_once,
                      int most, struct error *err);
/* 1: *frame is the template of a picture that nobody else holds; 0: all are held; -1: none can be made. One thread at a
 * time. */
int picture_pool_take(struct picture_pool *pool, struct frame *frame, struct error *err);
/* What is held lasts until it is released. Stores NULL; takes NULL. */
void picture_pool_close(struct picture_pool **pool);

/* --- in host memory --- */

/* Pictures of one shape, as frame_lay_out has them. Zero-initialise to start. It must stay where it is. */
struct host_pictures {
  enum pixel_format format;
  int width, height;
  struct picture_pool *pool;
  struct gpu gpu; /* that is to copy from them: page-locked where there is room for that; zeroed: none */
};

/* A picture of this shape, its pixels undefined. Another shape than before is another pool. */
int host_pictures_take(struct host_pictures *pictures, enum pixel_format format, int width, int height,
                       struct frame *frame, struct error *err);
/* One with the pixels of `from`, and all that a frame says beside. */
int host_pictures_copy(struct host_pictures *pictures, const struct frame *from, struct frame *frame,
                       struct error *err);
void host_pictures_free(struct host_pictures *pictures);

#endif
