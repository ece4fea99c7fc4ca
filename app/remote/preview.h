/* Encodes small JPEGs of the picture on the screen, for remote clients. Only one thread at a time may use a struct
 * preview. */
#ifndef APP_REMOTE_PREVIEW_H
#define APP_REMOTE_PREVIEW_H

#include "unet/base/error.h"
#include "unet/base/frame.h"

enum { PREVIEW_SIDE_MAX = 640 }; /* longest side of a JPEG, in pixels */

struct preview;

int preview_open(struct preview **preview, struct error *err);
void preview_close(struct preview **preview); /* stores NULL; takes NULL */

/* Encodes a picture in RGBA or BGRA in host memory. *jpeg points into preview, and is valid until the next call.
 * Returns 0, or -1 with err set. */
int preview_encode(struct preview *preview, const struct frame *picture, const uint8_t **jpeg, size_t *size,
                   struct error *err);

#endif
