/* Makes pictures from a hardware decoder's surfaces, and pictures in GPU memory of their own. The GPU reads them
 * without a copy; a copy in host memory is made only when one is requested. */
#ifndef APP_SOURCE_SURFACES_H
#define APP_SOURCE_SURFACES_H

#include <libavutil/frame.h>

#include "unet/base/picture.h"

/* The pool of pictures that are made from surfaces (the frame buffers of a hardware decoder). Zero-initialise to
 * start. The struct must not move while it is used. */
struct surfaces {
  struct gpu gpu;
  struct picture_pool *pool;
  struct frame_memory *copies; /* page-locked memory for the copies in surfaces_bring_down; NULL: none yet */
};

/* surfaces_is_one: true if the frame's pixels are in a surface of the hardware decoder. surfaces_readable: true if the
 * engine can also read that surface's format, which is then stored in *format. */
bool surfaces_is_one(const AVFrame *in);
bool surfaces_readable(const AVFrame *in, enum pixel_format *format);

/* Makes a picture from the surface of `in`, whose reference the picture takes over, and stores the picture in `frame`.
 * The format, size, matrix and range of `frame` must be set. Returns 1; 0: the decoder needs the surface back, because
 * too many are held; or -1 with err. */
int surfaces_keep(struct surfaces *surfaces, const struct gpu *gpu, AVFrame *in, struct frame *frame,
                  struct error *err);
/* Takes a picture in GPU memory of its own, which OpenGL can import as well. The format, size and pitches of `frame`
 * must be set; its pixels are undefined, and *share becomes the memory into which the caller writes them before anybody
 * else gets the picture. A struct surfaces is used either for such pictures or for those of a decoder. Returns 1; 0:
 * too many pictures are held; or -1 with err. */
int surfaces_take(struct surfaces *surfaces, const struct gpu *gpu, struct frame *frame, struct gpu_share **share,
                  struct error *err);
/* Replaces the surface in the frame `in` by a copy in host memory, page-locked memory if there is any left. Returns 0,
 * or -1 with err. */
int surfaces_bring_down(struct surfaces *surfaces, const struct gpu *gpu, AVFrame *in, struct error *err);
/* Frees all that the struct holds. Pictures that others still hold stay valid until they are released. */
void surfaces_free(struct surfaces *surfaces);

#endif
