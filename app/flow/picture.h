/* A frame with planes of its own: what queues and mailboxes hold, since a source's or an engine's planes last only
 * until the next call. */
#ifndef APP_FLOW_PICTURE_H
#define APP_FLOW_PICTURE_H

#include <stddef.h>

#include "unet/base/error.h"
#include "unet/base/frame.h"

/* Zero-initialise to start. The buffer grows when a larger frame comes and is kept otherwise. */
struct picture {
  struct frame frame; /* planes point into buffer */
  uint8_t *buffer;
  size_t capacity;
};

/* Makes room for a frame of this format and size (rows 64 bytes aligned) and points frame's planes at it; the pixels
 * are undefined. Other fields of frame are left alone. */
int picture_resize(struct picture *picture, enum pixel_format format, int width, int height, struct error *err);
/* Copies pixels and everything else. */
int picture_copy(struct picture *picture, const struct frame *frame, struct error *err);
/* Plane to write into: the buffer behind frame.plane[plane]. */
uint8_t *picture_plane(struct picture *picture, int plane);
void picture_free(struct picture *picture); /* leaves it empty */

#endif
