/* Finds the codec of a picture file by its first bytes. */
#ifndef APP_SOURCE_PICTURE_CODEC_H
#define APP_SOURCE_PICTURE_CODEC_H

#include <libavcodec/avcodec.h>

/* Returns AV_CODEC_ID_NONE if the file cannot be read or begins like no picture that is known here. */
enum AVCodecID picture_codec_of(const char *path);

#endif
