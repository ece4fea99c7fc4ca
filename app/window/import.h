/* Lets OpenGL read pictures in GPU memory directly, without a copy through the host. The memory of each picture is
 * imported once and then found again by the picture's number. A picture is held from the moment when OpenGL is told to
 * read it until the GPU has done so. Nothing here waits. Only the main thread calls this. */
#ifndef APP_WINDOW_IMPORT_H
#define APP_WINDOW_IMPORT_H

#include "unet/base/log.h"
#include "unet/base/picture.h"

enum {
  IMPORT_HOLDS = 6,  /* most pictures that one import holds */
  IMPORT_CACHE = 32, /* most pictures that are imported at the same time */
  /* If a picture's memory cannot be shared, this many calls of import_take pass before it is tried again. After this
   * many calls of import_follow without import_take all imports are closed. */
  IMPORT_REST = 120,
};

/* OpenGL's names of an import. */
struct imported {
  unsigned memory, buffer;
};

/* Functions that call OpenGL (import_gl.h); tests have their own. */
struct import_impl {
  /* Returns true if OpenGL draws on this GPU and can import memory at all. */
  bool (*suits)(void *opaque, const struct gpu_id *gpu);
  /* Imports `bytes` of memory. share is its file descriptor, which the caller keeps and closes. */
  int (*open)(void *opaque, int share, size_t bytes, struct imported *imported, struct error *err);
  void (*close)(void *opaque, const struct imported *imported);
  /* Makes commands that follow read what was written to imported memory before. */
  void (*renew)(void *opaque);
  /* Returns a fence that is passed when the GPU has done all commands so far. NULL: there is none, because the context
   * is lost for instance. */
  void *(*make_fence)(void *opaque);
  bool (*has_passed)(void *opaque, void *fence);
  void (*free_fence)(void *opaque, void *fence);
};

struct import;

/* Allocates *import. what names the pictures in log lines. holds: most pictures to hold, up to IMPORT_HOLDS. impl, what
 * and log (may be NULL) must outlive it. */
int import_open(struct import **import, const char *what, int holds, const struct import_impl *impl, void *opaque,
                const struct log *log, struct error *err);
void import_close(struct import **import); /* stores NULL; takes NULL */

/* Returns true if pictures in this GPU's memory can be read directly. After OpenGL has refused one the answer is false
 * for good. */
bool import_suits(struct import *import, const struct gpu_id *gpu);

/* Returns the OpenGL buffer of the picture's memory, which begins with its first plane. Returns 0 if the picture must
 * be uploaded instead: it has no shared memory, OpenGL refuses it, or too many pictures are held. */
unsigned import_take(struct import *import, const struct frame *frame);
/* Must be called after OpenGL was told to read the frame that import_take returned a buffer for: holds the frame until
 * the GPU has read it. */
void import_told(struct import *import, const struct frame *frame);
/* Ends the holds on pictures that the GPU has read. Must be called regularly. */
void import_follow(struct import *import);

#endif
