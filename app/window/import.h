/* Pictures in a GPU's memory, as OpenGL on the same GPU reads them: in place, with nothing copied through the host. The
 * memory behind each picture is imported once, and known by the picture's number. A picture that OpenGL has been told
 * to read is held until it has. Nothing here waits. */
#ifndef APP_WINDOW_IMPORT_H
#define APP_WINDOW_IMPORT_H

#include "unet/base/log.h"
#include "unet/base/picture.h"

enum {
  IMPORT_HOLDS = 6,  /* pictures that are held at most */
  IMPORT_CACHE = 32, /* imported at the same time */
  IMPORT_REST = 120, /* takes until memory is asked for again that could not be had; calls of import_follow between two
                      * takes, behind which nothing stays imported */
};

/* What OpenGL calls them. */
struct imported {
  unsigned memory, buffer;
};

/* What OpenGL does for it (import_gl.h). */
struct import_impl {
  /* Whether it draws on this GPU and can import at all. */
  bool (*suits)(void *opaque, const struct gpu_id *gpu);
  /* The descriptor stays the caller's. */
  int (*open)(void *opaque, int share, size_t bytes, struct imported *imported, struct error *err);
  void (*close)(void *opaque, const struct imported *imported);
  /* What OpenGL is told from now on reads what others have written until now. */
  void (*renew)(void *opaque);
  /* It passes when everything is done that OpenGL was told until now. NULL: there is none, nor a context any more. */
  void *(*make_fence)(void *opaque);
  bool (*has_passed)(void *opaque, void *fence);
  void (*free_fence)(void *opaque, void *fence);
};

struct import;

/* what: a word for the pictures, in lines. holds: of them at most, up to IMPORT_HOLDS. impl, what and log (may be NULL)
 * must last as long as it. */
int import_open(struct import **import, const char *what, int holds, const struct import_impl *impl, void *opaque,
                const struct log *log, struct error *err);
void import_close(struct import **import); /* stores NULL; takes NULL */

/* Whether pictures of this GPU would be taken: not after OpenGL has refused one. */
bool import_suits(struct import *import, const struct gpu_id *gpu);

/* The buffer that the picture lies in, from its first plane on. 0: it has to be uploaded, for it has no such memory or
 * gets none, OpenGL refuses it, or too many are held. */
unsigned import_take(struct import *import, const struct frame *frame);
/* OpenGL has been told to read what was taken last. */
void import_told(struct import *import, const struct frame *frame);
/* Ends the holds on what OpenGL has read; to be called now and then. */
void import_follow(struct import *import);

#endif
