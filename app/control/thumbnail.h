/* Writes a small PNG of a picture, by which people recognise a preset. */
#ifndef APP_CONTROL_THUMBNAIL_H
#define APP_CONTROL_THUMBNAIL_H

#include "unet/base/error.h"
#include "unet/base/frame.h"

enum { THUMBNAIL_SIDE = 160 };

/* Writes the picture (PIXEL_RGBA, in host memory) as a PNG to the file at `path`, reduced so that no side is longer
 * than THUMBNAIL_SIDE pixels; a smaller picture keeps its size. An existing file is overwritten. Returns 0, or -1 with
 * err; an incomplete file is removed. */
int thumbnail_write(const char *path, const struct frame *picture, struct error *err);

#endif
