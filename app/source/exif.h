/* Reads the EXIF orientation of pictures in JPEG, PNG, WebP and TIFF. FFmpeg's decoders report it for some of them
 * only. */
#ifndef APP_SOURCE_EXIF_H
#define APP_SOURCE_EXIF_H

#include <libavcodec/avcodec.h>

/* Returns EXIF's orientation number, 2 to 8, of the picture in a packet; 0: the picture is upright, or no orientation
 * is stored. */
int exif_orientation(enum AVCodecID codec, const uint8_t *data, size_t size);

/* Attaches the display matrix for the picture's orientation to the packet, from which the decoded frame gets it. Does
 * nothing for an upright picture, or if the packet has a matrix already. Returns 0 or an FFmpeg code. */
int exif_attach(enum AVCodecID codec, AVPacket *packet);

#endif
