/* How a picture's file says that it is to be turned: EXIF's orientation, in JPEG, PNG, WebP and TIFF. FFmpeg's decoders
 * tell it of some of them. */
#ifndef APP_SOURCE_EXIF_H
#define APP_SOURCE_EXIF_H

#include <libavcodec/avcodec.h>

/* EXIF's number of the orientation of a whole picture in a packet, 2 to 8; 0 where it is upright or does not say. */
int exif_orientation(enum AVCodecID codec, const uint8_t *data, size_t size);

/* Gives the packet of a picture that is to be turned its display matrix, which its decoded frame then has, unless it
 * has one. Returns 0 or FFmpeg's code. */
int exif_attach(enum AVCodecID codec, AVPacket *packet);

#endif
