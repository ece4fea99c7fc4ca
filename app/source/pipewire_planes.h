/* Where the planes of a picture lie in a buffer of PipeWire's. */
#ifndef APP_SOURCE_PIPEWIRE_PLANES_H
#define APP_SOURCE_PIPEWIRE_PLANES_H

#include <stdbool.h>
#include <stddef.h>

#include "unet/base/frame.h"

/* Sets the planes and pitches of *frame, whose format and size are set, to a picture that begins at `data` + `offset`.
 * `bytes` is the size of the memory at `data`. The planes lie one behind the other, and rows have no padding but that
 * of the `stride`. stride: bytes from one row of the first plane to the next; less than a row (0, for example): rows
 * have no padding. Returns false if the picture does not fit into the memory; the planes must not be read then. */
bool pipewire_planes(struct frame *frame, const void *data, size_t bytes, size_t offset, int stride);

#endif
