/* Makes pictures from a hardware decoder's surfaces. The GPU reads them without a copy; the host gets a copy when it
 * asks for one. */
#ifndef APP_SOURCE_SURFACES_H
#define APP_SOURCE_SURFACES_H

#include <libavutil/frame.h>

#include "unet/base/picture.h"

/* Zero-initialise to start. The struct must not move while it is used. */
struct surfaces {
  struct gpu gpu;
  struct picture_pool *pool;
  struct frame_memory *copies; /* page-locked memory for the copies in surfaces_bring_down; NULL: none yet */
};

/* surfaces_is_one: true if the frame is a surface. surfaces_readable: true if the engine also reads its format, which
 * is then stored in *format. */
bool surfaces_is_one(const AVFrame *in);
bool surfaces_readable(const AVFrame *in, enum pixel_format *format);

/* Gives frame a picture that takes over the reference of `in`; frame's format, size, matrix and range must be set.
 * Returns 1; 0: the decoder needs the surface back, because too many are held; or -1 with err. */
int surfaces_keep(struct surfaces *surfaces, const struct gpu *gpu, AVFrame *in, struct frame *frame,
                  struct error *err);
/* Replaces the surface by a copy in the host's memory, which is page-locked if there is such memory. Returns 0, or -1
 * with err. */
int surfaces_bring_down(struct surfaces *surfaces, const struct gpu *gpu, AVFrame *in, struct error *err);
/* Frees what surfaces holds. Pictures that are still held stay valid until they are released. */
void surfaces_free(struct surfaces *surfaces);

#endif
