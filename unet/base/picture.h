/* Pictures: reference-counted memory for the planes of frames, so that any number of consumers share the pixels without
 * copies.
 *
 * A struct frame is passed by value: each consumer has its own times and numbers, and all share the picture.
 * - A function that gives a frame out (source_read, queue_take, engine_collect) gives a hold on its picture (a share
 *   that keeps the memory) with it; the receiver ends the hold with frame_release or passes it on. A const struct
 *   frame * is borrowed for the call; a function that needs it for longer calls frame_hold.
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

/* The kinds of memory in which a picture's pixels can be, as bits; a picture may have several.
 *
 * Host memory of a picture in device memory is allocated from the start. The owner's function `wait` fills it when it
 * is first called with MEMORY_HOST, on the calling thread. Shared memory may be the memory of device_plane itself. If
 * not, wait(MEMORY_SHARED) fills it in the same way, unless the owner has filled it before. */
enum memory {
  MEMORY_HOST = 1,   /* ordinary host memory: the planes are at frame.plane */
  MEMORY_DEVICE = 2, /* device memory: the planes are at device_plane */
  /* the host memory of MEMORY_HOST is also page-locked, so that GPUs can copy directly from it and to it */
  MEMORY_PINNED = 4,
  /* device memory that OpenGL can import through the descriptor `share`; the planes have the same layout as in
   * device_plane */
  MEMORY_SHARED = 8,
};

/* Functions that the maker of pictures (a source, a device, ...) provides. */
struct picture_owner {
  size_t bytes; /* size in bytes of the owner's struct for a picture, which begins with struct picture */
  /* Allocates the memory of a zeroed picture: sets the fields `memory` and `template` (with its planes), and the
   * owner's own fields. */
  int (*make)(void *opaque, struct picture *picture, struct error *err);
  /* Called when the last reference to the picture was given back, on the thread that gave it back. May be NULL. */
  void (*recycle)(struct picture *picture);
  /* Frees everything that the function `make` allocated for the picture. The pool's opaque pointer, which `make` got,
   * may be invalid by then. */
  void (*destroy)(struct picture *picture);
  /* Waits until the picture's pixels are in this kind of memory. NULL: the pixels are complete as soon as the picture
   * is passed on. */
  int (*wait)(struct picture *picture, enum memory kind, struct error *err);
  /* Returns true if wait(picture, kind) would return at once. NULL: `wait` always returns at once. */
  bool (*ready)(struct picture *picture, enum memory kind);
  /* For pictures in a GPU's memory, which CUDA streams (cudaStream_t) read. wait_on makes a stream wait until the
   * pixels are in device memory. read_on tells that work which the stream has been given reads them there: whoever
   * writes to the picture's memory next waits for this work. NULL: the picture has no such memory. */
  int (*wait_on)(struct picture *picture, void *stream, struct error *err);
  int (*read_on)(struct picture *picture, void *stream, struct error *err);
};

struct picture {
  const struct picture_owner *owner;
  struct frame template; /* value that a frame gets when this picture is taken from the pool */
  unsigned memory;       /* the kinds of memory that the picture has, as bits of enum memory */
  /* addresses of the planes in device memory; they have the same pitches as the frame's planes */
  void *device_plane[3];
  struct gpu_id gpu; /* the GPU to whose memory device_plane belongs */
  /* CUDA event of that GPU (fence) that is reached when device_plane is written; NULL: device_plane is already
   * written */
  void *fence;
  /* File descriptor of the memory that OpenGL may import; the memory begins at the first plane. Valid after
   * wait(MEMORY_SHARED). */
  int share;
  size_t share_bytes;

  /* The following fields are used only by picture.c. */
  uint64_t number; /* number that no other picture of this process has */
  atomic_int holds;
  struct picture_pool *pool;
  struct picture *next;
};

/* Returns a copy of the frame with a reference (hold) of its own to the picture's memory. */
struct frame frame_hold(const struct frame *frame);
/* Gives back the frame's reference (hold) to its picture's memory, and sets the frame's planes to NULL. The frame may
 * have no picture. */
void frame_release(struct frame *frame);
/* Waits until the frame's pixels are in this kind of memory; must be called before they are read. Returns 0, or -1 with
 * err: the pixels cannot be made, or the picture has no memory of this kind. */
int frame_wait(const struct frame *frame, enum memory kind, struct error *err);
/* frame_wait_on makes a CUDA stream wait until the frame's pixels are in device memory, and does not wait itself.
 * frame_read_on is called after the stream was given work that reads them there, and before the frame is released:
 * their memory is written again only when this work is done. Return 0, or -1 with err if no stream can read the
 * picture. */
int frame_wait_on(const struct frame *frame, void *stream, struct error *err);
int frame_read_on(const struct frame *frame, void *stream, struct error *err);
/* Returns true if frame_wait would not have to wait for the pixels. */
bool frame_ready(const struct frame *frame, enum memory kind);
/* frame_on_gpu returns true if the frame's pixels are in this GPU's own memory; frame_pinned returns true if they are
 * in page-locked host memory, from which GPUs can copy directly. */
bool frame_on_gpu(const struct frame *frame, const struct gpu_id *gpu);
bool frame_pinned(const struct frame *frame);
/* Returns a plane's address for writing. Only the code that took the picture out of its pool may write. */
uint8_t *frame_plane(const struct frame *frame, int plane);

/* --- pools of pictures in memory of any kind --- */

struct picture_pool;

/* Opens a pool and makes `at_once` pictures immediately. More are made when they are needed, up to `most` pictures (0:
 * no limit). `opaque` is passed to picture_owner.make, and must stay valid as long as the pool is open. */
int picture_pool_open(struct picture_pool **pool, const struct picture_owner *owner, void *opaque, int at_once,
                      int most, struct error *err);
/* Takes a free picture from the pool. Returns 1 with *frame set to the picture's template, 0 if all pictures are held,
 * and -1 if none can be made. One thread at a time may call it. */
int picture_pool_take(struct picture_pool *pool, struct frame *frame, struct error *err);
/* Closes a pool. Pictures that are still held exist until they are released. *pool becomes NULL; does nothing if it is
 * NULL. */
void picture_pool_close(struct picture_pool **pool);

/* --- pools of pictures in host memory --- */

/* A pool of pictures of one shape in host memory, laid out by frame_lay_out. A zeroed struct is valid. The struct must
 * not be moved. */
struct host_pictures {
  enum pixel_format format;
  int width, height;
  struct picture_pool *pool;
  /* GPU that will copy from these pictures, whose memory is therefore page-locked if possible; zeroed: no GPU */
  struct gpu gpu;
};

/* Takes a picture of this format and size from the pool, with undefined pixels. If format or size differ from those of
 * the previous call, a new pool is opened. Returns 0, or -1 with err. */
int host_pictures_take(struct host_pictures *pictures, enum pixel_format format, int width, int height,
                       struct frame *frame, struct error *err);
/* Takes a picture from the pool and copies the pixels of `from` into it. *frame gets this picture, which the caller
 * holds, and the other fields of `from`, such as its times. Returns 0, or -1 with err. */
int host_pictures_copy(struct host_pictures *pictures, const struct frame *from, struct frame *frame,
                       struct error *err);
void host_pictures_free(struct host_pictures *pictures);

#endif
