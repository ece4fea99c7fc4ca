/* Lets OpenGL read pictures in GPU memory directly, without a copy through host memory. Each picture's memory is
 * imported into OpenGL once, and found again by the picture's number, because the engine uses the same few pictures
 * repeatedly. A picture is held from the moment when OpenGL is told to read it until the GPU has done so. These
 * functions do not wait. Only the main thread calls them. */
#ifndef APP_WINDOW_IMPORT_H
#define APP_WINDOW_IMPORT_H

#include "unet/base/log.h"
#include "unet/base/picture.h"

enum {
  IMPORT_HOLDS = 6,  /* largest number of pictures that one struct import holds */
  IMPORT_CACHE = 32, /* largest number of pictures whose memory is imported at the same time */
  /* After memory could not be shared, import_take returns 0 for this number of calls before it tries again. All imports
   * are closed after this number of calls of import_follow without import_take, to free memory. */
  IMPORT_REST = 120,
};

/* OpenGL's numbers of the two objects of one import: a memory object, and a buffer in that memory. */
struct imported {
  unsigned memory, buffer;
};

/* The OpenGL calls that importing needs. The program uses import_gl; tests use others, which work without OpenGL. */
struct import_impl {
  /* Returns true if OpenGL draws on this GPU and can import memory from other libraries. */
  bool (*suits)(void *opaque, const struct gpu_id *gpu);
  /* Imports `bytes` bytes of GPU memory. share: file descriptor of that memory, which remains the caller's. Returns 0,
   * or -1 with err. */
  int (*open)(void *opaque, int share, size_t bytes, struct imported *imported, struct error *err);
  void (*close)(void *opaque, const struct imported *imported);
  /* Makes sure that OpenGL commands after this call read what another library (CUDA) wrote to imported memory before
   * this call. */
  void (*renew)(void *opaque);
  /* Returns a fence (a mark in OpenGL's sequence of commands): has_passed returns true for it when the GPU has done all
   * commands given so far. NULL: no fence can be made, for example because the context is lost. */
  void *(*make_fence)(void *opaque);
  bool (*has_passed)(void *opaque, void *fence);
  void (*free_fence)(void *opaque, void *fence);
};

struct import;

/* Allocates *import; the caller frees it with import_close. what: word for the pictures in log lines, such as "frames".
 * holds: number of pictures that may be held at a time, up to IMPORT_HOLDS. `impl`, `what` and `log` (may be NULL) must
 * outlive *import; `opaque` is passed to `impl`'s functions. Returns 0, or -1 with err. */
int import_open(struct import **import, const char *what, int holds, const struct import_impl *impl, void *opaque,
                const struct log *log, struct error *err);
void import_close(struct import **import); /* closes all imports; *import becomes NULL; does nothing if it is NULL */

/* Returns true if OpenGL can read pictures in this GPU's memory directly. Once an import has failed, always returns
 * false. */
bool import_suits(struct import *import, const struct gpu_id *gpu);

/* Returns an OpenGL buffer that shares the picture's memory, beginning with its first plane. Returns 0 if the picture
 * must be uploaded instead: its memory cannot be shared, OpenGL cannot import it, or too many pictures are held. */
unsigned import_take(struct import *import, const struct frame *frame);
/* Called after OpenGL was told to read the buffer from import_take for this frame. Holds the frame until the GPU has
 * read it; not if the OpenGL context is lost, because no fence can then be made. */
void import_told(struct import *import, const struct frame *frame);
/* Releases pictures that the GPU has finished reading. The caller must call this regularly, at least once per
 * picture. */
void import_follow(struct import *import);

#endif
