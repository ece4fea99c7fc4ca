#include "app/source/mirror.h"

#include <string.h>

/* Mirrors a row of `count` units of `size` bytes. The function is inlined, so that the compiler makes a loop with plain
 * loads and stores for each size. */
static inline void turn_units(const uint8_t *from, uint8_t *to, int count, size_t size) {
  for (int i = 0; i < count; i++)
    memcpy(to + (size_t)i * size, from + (size_t)(count - 1 - i) * size, size);
}

/* Mirrors a row of YUYV, in which two pixels are stored as Y0 Cb Y1 Cr. */
static void turn_pairs(const uint8_t *from, uint8_t *to, int width) {
  for (int x = 0; x < width; x += 2, to += 4) {
    int first = width - 1 - x, second = first ? first - 1 : 0;
    const uint8_t *pair = from + first / 2 * 4;
    to[0] = from[first * 2];
    to[1] = pair[1];
    to[2] = from[second * 2];
    to[3] = pair[3];
  }
}

static void turn_row(enum pixel_format format, int plane, const uint8_t *from, uint8_t *to, int width) {
  int bytes = frame_row_bytes(format, plane, width);
  bool chroma = plane > 0;
  if (format == PIXEL_YUYV)
    turn_pairs(from, to, width);
  else if (format == PIXEL_YUV420P || (format == PIXEL_NV12 && !chroma))
    turn_units(from, to, bytes, 1);
  else if (format == PIXEL_NV12 || (format == PIXEL_P010 && !chroma))
    turn_units(from, to, bytes / 2, 2);
  else
    turn_units(from, to, bytes / 4, 4);
}

int mirror_frame(struct host_pictures *pictures, struct frame *frame, struct error *err) {
  struct frame turned, from = *frame;
  if (frame_wait(frame, MEMORY_HOST, err) ||
      host_pictures_take(pictures, from.format, from.width, from.height, &turned, err)) {
    frame_release(frame);
    return -1;
  }
  frame->picture = turned.picture;
  for (int i = 0; i < frame_planes(from.format); i++) {
    uint8_t *to = frame_plane(&turned, i);
    for (int y = 0; y < frame_rows(from.format, i, from.height); y++)
      turn_row(from.format, i, from.plane[i] + (ptrdiff_t)y * from.pitch[i], to + (ptrdiff_t)y * turned.pitch[i],
               from.width);
    frame->plane[i] = turned.plane[i];
    frame->pitch[i] = turned.pitch[i];
  }
  frame_release(&from);
  return 0;
}
