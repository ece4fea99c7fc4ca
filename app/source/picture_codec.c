#include "app/source/picture_codec.h"

#include <stdio.h>
#include <string.h>

#include "unet/base/platform.h"

enum { HEAD_BYTES = 16 };

/* The bytes by which files of a codec are recognised, at offset `skip` in the file. */
static const struct beginning {
  enum AVCodecID codec;
  int skip, length;
  const char *bytes;
} beginnings[] = {
    {AV_CODEC_ID_PNG, 0, 8, "\x89PNG\r\n\x1a\n"},
    {AV_CODEC_ID_JPEGLS, 0, 4, "\xff\xd8\xff\xf7"},
    {AV_CODEC_ID_MJPEG, 0, 3, "\xff\xd8\xff"},
    {AV_CODEC_ID_WEBP, 8, 4, "WEBP"},
    {AV_CODEC_ID_GIF, 0, 4, "GIF8"},
    {AV_CODEC_ID_BMP, 6, 4, "\0\0\0\0"},
    {AV_CODEC_ID_TIFF, 0, 4, "II*\0"},
    {AV_CODEC_ID_TIFF, 0, 4, "MM\0*"},
    {AV_CODEC_ID_EXR, 0, 4, "\x76\x2f\x31\x01"},
    {AV_CODEC_ID_DPX, 0, 4, "SDPX"},
    {AV_CODEC_ID_DPX, 0, 4, "XPDS"},
    {AV_CODEC_ID_QOI, 0, 4, "qoif"},
    {AV_CODEC_ID_PSD, 0, 4, "8BPS"},
    {AV_CODEC_ID_JPEGXL, 0, 2, "\xff\x0a"},
    {AV_CODEC_ID_JPEG2000, 0, 8, "\0\0\0\x0cjP  "},
    {AV_CODEC_ID_JPEG2000, 0, 4, "\xff\x4f\xff\x51"},
};

static bool begins_so(const struct beginning *beginning, const char *head) {
  if (beginning->codec == AV_CODEC_ID_BMP && memcmp(head, "BM", 2) != 0)
    return false;
  if (beginning->codec == AV_CODEC_ID_WEBP && memcmp(head, "RIFF", 4) != 0)
    return false;
  return !memcmp(head + beginning->skip, beginning->bytes, (size_t)beginning->length);
}

enum AVCodecID picture_codec_of(const char *path) {
  char head[HEAD_BYTES] = "";
  FILE *file = platform_stream(path, "rb");
  size_t count = file ? fread(head, 1, sizeof head, file) : 0;
  if (file)
    fclose(file);
  for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings && count == sizeof head; i++)
    if (begins_so(&beginnings[i], head))
      return beginnings[i].codec;
  return AV_CODEC_ID_NONE;
}
