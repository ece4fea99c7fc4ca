/* A checksum of a frame's samples. */
#ifndef TESTS_HASH_SAMPLES_H
#define TESTS_HASH_SAMPLES_H

#include "unet/base/frame.h"

static inline uint64_t hash_add(uint64_t hash, unsigned value) {
  return (hash ^ value) * 0x100000001b3;
}

/* Returns a hash of a frame's samples, which must be in host memory. A frame in NV12 or P010 has the same hash as a
 * planar frame with the same samples. */
static inline uint64_t hash_samples(const struct frame *frame) {
  uint64_t hash = 0xcbf29ce484222325;
  bool packed = frame->format == PIXEL_NV12 || frame->format == PIXEL_P010;
  int planes = frame_planes(frame->format), bytes = frame->format == PIXEL_P010 ? 2 : 1;
  for (int i = 0; i < (packed ? 3 : planes); i++) {
    int plane = packed && i == 2 ? 1 : i, step = packed && i ? 2 * bytes : bytes;
    int first = packed && i == 2 ? bytes : 0;
    for (int y = 0; y < frame_rows(frame->format, plane, frame->height); y++) {
      const uint8_t *row = frame->plane[plane] + (ptrdiff_t)y * frame->pitch[plane];
      for (int x = first; x < frame_row_bytes(frame->format, plane, frame->width); x += step)
        hash = hash_add(hash, bytes == 2 ? *(const uint16_t *)(row + x) : row[x]);
    }
  }
  return hash;
}

#endif
