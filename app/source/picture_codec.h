/* Finds the codec of a picture file by its first bytes. */
#ifndef APP_SOURCE_PICTURE_CODEC_H
#define APP_SOURCE_PICTURE_CODEC_H

#include <libavcodec/avcodec.h>

/* Returns the codec of the file at `path`; AV_CODEC_ID_NONE: the file cannot be read, is shorter than 16 bytes, or does
 * not begin as a known picture format. */
enum AVCodecID picture_codec_of(const char *path);

#endif
