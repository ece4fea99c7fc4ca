/* Pictures that are a hardware decoder's surfaces: the GPU reads them where they are, and the host has a copy of its
 * own when somebody asks for it. */
#ifndef APP_SOURCE_SURFACES_H
#define APP_SOURCE_SURFACES_H

#include <libavutil/frame.h>

#include "unet/base/picture.h"

/* Zero-initialise to start. It must stay where it is. */
struct surfaces {
  struct gpu gpu;
  struct picture_pool *pool;
  struct frame_memory *copies; /* of those that could not be kept */
};

/* Whether the frame is such a surface, and the engine reads its format: then *format says which. */
bool surfaces_is_one(const AVFrame *in);
bool surfaces_readable(const AVFrame *in, enum pixel_format *format);

/* Gives frame, whose format, size, matrix and range are set, a picture that takes over what `in` refers to. 1; 0: so
 * many are held that the decoder needs this one back; -1. */
int surfaces_keep(struct surfaces *surfaces, const struct gpu *gpu, AVFrame *in, struct frame *frame,
                  struct error *err);
/* Puts a copy in memory of the host's in the place of the surface: page-locked, where there is such memory. */
int surfaces_bring_down(struct surfaces *surfaces, const struct gpu *gpu, AVFrame *in, struct error *err);
/* What is held lasts until it is released. */
void surfaces_free(struct surfaces *surfaces);

#endif
