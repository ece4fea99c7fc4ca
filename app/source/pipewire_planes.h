/* Where the planes of a picture lie in a buffer of PipeWire's. */
#ifndef APP_SOURCE_PIPEWIRE_PLANES_H
#define APP_SOURCE_PIPEWIRE_PLANES_H

#include <stdbool.h>
#include <stddef.h>

#include "unet/base/frame.h"

/* Sets the planes and pitches of *frame, whose format and size are set, to a picture at `data` + `offset`. bytes: size
 * of the memory at `data`. stride: bytes from row to row of the first plane; if less than a row (for example 0), rows
 * have no padding. Planes follow each other without gaps. Returns false if the picture does not fit into the memory;
 * the planes must not be read then. */
bool pipewire_planes(struct frame *frame, const void *data, size_t bytes, size_t offset, int stride);

#endif
