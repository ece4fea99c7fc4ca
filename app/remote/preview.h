/* Makes small JPEGs of the picture on the screen, for clients. One thread at a time uses it. */
#ifndef APP_REMOTE_PREVIEW_H
#define APP_REMOTE_PREVIEW_H

#include "unet/base/error.h"
#include "unet/base/frame.h"

enum { PREVIEW_SIDE_MAX = 640 }; /* longest side of a JPEG, in pixels */

struct preview;

int preview_open(struct preview **preview, struct error *err);
void preview_close(struct preview **preview); /* stores NULL; takes NULL */

/* Encodes a picture, which is RGBA or BGRA in host memory. *jpeg is valid until the next call. */
int preview_encode(struct preview *preview, const struct frame *picture, const uint8_t **jpeg, size_t *size,
                   struct error *err);

#endif
