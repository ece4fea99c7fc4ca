#include "app/source/marker.h"

#include <libavutil/crc.h>
#include <string.h>

#include "unet/base/picture.h"

enum { NUMBER_BYTES = 4, TIME_BYTES = 6, SUM_BYTES = 2, BYTES = NUMBER_BYTES + TIME_BYTES + SUM_BYTES };
enum { BLACK = 16, GREY = 128, WHITE = 235 };
_Static_assert(BYTES * 8 == MARKER_BLOCKS, "each bit has its block");

/* The checksum starts from this value, so that a marker (marker.h) whose blocks are all black, as in a black frame, is
 * not valid. */
static const uint32_t sum_seed = 0x5ac3;

static void put(uint8_t *to, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; i++)
    to[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t get(const uint8_t *from, int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes; i++)
    value |= (uint64_t)from[i] << 8 * i;
  return value;
}

static uint16_t sum_of(const uint8_t bytes[BYTES]) {
  return (uint16_t)av_crc(av_crc_get_table(AV_CRC_16_CCITT), sum_seed, bytes, BYTES - SUM_BYTES);
}

static void fill(const struct frame *frame, int plane, int left, int top, int right, int bottom, int value) {
  for (int y = top; y < bottom; y++)
    memset(frame_plane(frame, plane) + (size_t)y * (size_t)frame->pitch[plane] + left, value, (size_t)(right - left));
}

void marker_draw(const struct frame *frame, const struct marker *marker) {
  uint8_t bytes[BYTES];
  put(bytes, marker->number, NUMBER_BYTES);
  put(bytes + NUMBER_BYTES, (uint64_t)marker->time_us, TIME_BYTES);
  put(bytes + NUMBER_BYTES + TIME_BYTES, sum_of(bytes), SUM_BYTES);
  int height = frame->height, wanted = ((MARKER_COLUMNS + 1) * height + MARKER_ROWS - 1) / MARKER_ROWS;
  int width = wanted < frame->width ? wanted : frame->width;
  fill(frame, 0, 0, 0, width, height, GREY);
  for (int plane = 1; plane < 3; plane++)
    fill(frame, plane, 0, 0, (width + 1) / 2, (height + 1) / 2, GREY);
  for (int i = 0; i < MARKER_BLOCKS; i++) {
    int row = i / MARKER_COLUMNS, column = i % MARKER_COLUMNS;
    int left = column * height / MARKER_ROWS, right = (column + 1) * height / MARKER_ROWS;
    if (right <= width)
      fill(frame, 0, left, row * height / MARKER_ROWS, right, (row + 1) * height / MARKER_ROWS,
           bytes[i / 8] >> i % 8 & 1 ? WHITE : BLACK);
  }
}

bool marker_read(const uint8_t level[MARKER_BLOCKS], struct marker *marker) {
  uint8_t bytes[BYTES] = {0};
  for (int i = 0; i < MARKER_BLOCKS; i++)
    bytes[i / 8] |= (uint8_t)((level[i] >= GREY) << i % 8);
  marker->number = (uint32_t)get(bytes, NUMBER_BYTES);
  marker->time_us = (int64_t)get(bytes + NUMBER_BYTES, TIME_BYTES);
  return get(bytes + NUMBER_BYTES + TIME_BYTES, SUM_BYTES) == sum_of(bytes);
}
