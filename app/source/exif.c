#include "app/source/exif.h"

#include <stdbool.h>
#include <string.h>

#include <libavutil/intreadwrite.h>

enum { TAG_ORIENTATION = 0x112, TYPE_SHORT = 3, JPEG_START_OF_SCAN = 0xda, JPEG_APP1 = 0xe1 };

struct bytes {
  const uint8_t *data;
  size_t size;
};

/* Returns the part of `whole` that begins at byte number `at`, with at most `size` bytes; it is empty if `at` is beyond
 * the end. */
static struct bytes part(struct bytes whole, size_t at, size_t size) {
  if (at >= whole.size)
    return (struct bytes){0};
  return (struct bytes){whole.data + at, size < whole.size - at ? size : whole.size - at};
}

static unsigned read16(const uint8_t *at, bool big) {
  return big ? AV_RB16(at) : AV_RL16(at);
}

static uint32_t read32(const uint8_t *at, bool big) {
  return big ? AV_RB32(at) : AV_RL32(at);
}

/* Returns the orientation in the first directory of a TIFF file; 0: there is none. (EXIF data has the form of a TIFF
 * file.) */
static int read_tiff(struct bytes tiff) {
  if (tiff.size < 8 || (memcmp(tiff.data, "II*\0", 4) != 0 && memcmp(tiff.data, "MM\0*", 4) != 0))
    return 0;
  bool big = *tiff.data == 'M';
  struct bytes directory = part(tiff, read32(tiff.data + 4, big), SIZE_MAX);
  if (directory.size < 2)
    return 0;
  unsigned count = read16(directory.data, big);
  for (unsigned i = 0; i < count && 14 + 12 * (size_t)i <= directory.size; i++) {
    const uint8_t *entry = directory.data + 2 + 12 * (size_t)i;
    if (read16(entry, big) == TAG_ORIENTATION && read16(entry + 2, big) == TYPE_SHORT)
      return (int)read16(entry + 8, big);
  }
  return 0;
}

/* Finds EXIF in a JPEG, whose segments (a marker, a length of two bytes, and the data) come before the picture
 * itself. */
static struct bytes find_in_jpeg(struct bytes jpeg) {
  static const char name[] = "Exif\0";
  for (size_t at = 2; at + 4 <= jpeg.size && jpeg.data[at] == 0xff && jpeg.data[at + 1] != JPEG_START_OF_SCAN;) {
    struct bytes segment = part(jpeg, at + 4, (size_t)AV_RB16(jpeg.data + at + 2) - 2);
    if (jpeg.data[at + 1] == 0xff) { /* skips a fill byte, which may come before a marker */
      at++;
      continue;
    }
    if (jpeg.data[at + 1] == JPEG_APP1 && segment.size > sizeof name && !memcmp(segment.data, name, sizeof name))
      return part(segment, sizeof name, SIZE_MAX);
    at += 2 + (size_t)AV_RB16(jpeg.data + at + 2);
  }
  return (struct bytes){0};
}

/* Finds EXIF in a PNG, whose chunks are a length, four letters, the data and a checksum. */
static struct bytes find_in_png(struct bytes png) {
  for (size_t at = 8; at + 8 <= png.size;) {
    uint32_t length = AV_RB32(png.data + at);
    if (!memcmp(png.data + at + 4, "eXIf", 4))
      return part(png, at + 8, length);
    at += 12 + (size_t)length;
  }
  return (struct bytes){0};
}

/* Finds EXIF in a WebP, whose chunks are four letters, a length and the data, each at an even offset. Some programs
 * write the prefix that EXIF has in JPEG before the data. */
static struct bytes find_in_webp(struct bytes webp) {
  for (size_t at = 12; at + 8 <= webp.size;) {
    uint32_t length = AV_RL32(webp.data + at + 4);
    if (!memcmp(webp.data + at, "EXIF", 4)) {
      struct bytes found = part(webp, at + 8, length);
      return found.size > 6 && !memcmp(found.data, "Exif\0\0", 6) ? part(found, 6, SIZE_MAX) : found;
    }
    at += 8 + (size_t)length + (length & 1);
  }
  return (struct bytes){0};
}

int exif_orientation(enum AVCodecID codec, const uint8_t *data, size_t size) {
  struct bytes picture = {data, size}, found = {0};
  if (codec == AV_CODEC_ID_MJPEG)
    found = find_in_jpeg(picture);
  else if (codec == AV_CODEC_ID_PNG)
    found = find_in_png(picture);
  else if (codec == AV_CODEC_ID_WEBP)
    found = find_in_webp(picture);
  else if (codec == AV_CODEC_ID_TIFF)
    found = picture;
  int orientation = read_tiff(found);
  return orientation >= 2 && orientation <= 8 ? orientation : 0;
}

int exif_attach(enum AVCodecID codec, AVPacket *packet) {
  /* For each EXIF orientation, 2 to 8, the matrix xx, xy, yx, yy (fields of struct convert) that turns and mirrors the
   * picture upright. */
  static const int8_t turns[9][4] = {[2] = {-1, 0, 0, 1}, [3] = {-1, 0, 0, -1}, [4] = {1, 0, 0, -1}, [5] = {0, 1, 1, 0},
                                     [6] = {0, -1, 1, 0}, [7] = {0, -1, -1, 0}, [8] = {0, 1, -1, 0}};
  int orientation = exif_orientation(codec, packet->data, (size_t)packet->size);
  if (!orientation || av_packet_get_side_data(packet, AV_PKT_DATA_DISPLAYMATRIX, NULL))
    return 0;
  int32_t *matrix = (int32_t *)(void *)av_packet_new_side_data(packet, AV_PKT_DATA_DISPLAYMATRIX, 9 * sizeof *matrix);
  if (!matrix)
    return AVERROR(ENOMEM);
  const int8_t *turn = turns[orientation];
  const int32_t one = 1 << 16;
  memcpy(matrix, (int32_t[9]){turn[0] * one, turn[2] * one, 0, turn[1] * one, turn[3] * one, 0, 0, 0, 1 << 30},
         9 * sizeof *matrix);
  return 0;
}
