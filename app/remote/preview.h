/* Encodes small JPEGs of the picture on the screen, for remote clients. Only one thread at a time may use a struct
 * preview. */
#ifndef APP_REMOTE_PREVIEW_H
#define APP_REMOTE_PREVIEW_H

#include "unet/base/error.h"
#include "unet/base/frame.h"

enum { PREVIEW_SIDE_MAX = 640 }; /* longest side of a JPEG, in pixels */

struct preview;

/* Makes an encoder of JPEGs, which the caller frees with preview_close. Returns 0, or -1 with err set if memory is
 * short. */
int preview_open(struct preview **preview, struct error *err);
/* frees the encoder and its buffers; *preview becomes NULL; does nothing if it is NULL */
void preview_close(struct preview **preview);

/* Encodes a picture in host memory, RGBA or BGRA, as a small JPEG. *jpeg points into memory of `preview`, and is valid
 * until the next call. Returns 0, or -1 with err set. */
int preview_encode(struct preview *preview, const struct frame *picture, const uint8_t **jpeg, size_t *size,
                   struct error *err);

#endif
