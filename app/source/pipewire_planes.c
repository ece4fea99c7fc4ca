#include "app/source/pipewire_planes.h"

/* Returns the bytes from one row of a plane to the next. Half an odd stride is rounded up, because chroma rows of an
 * odd width have a sample for the last column, too. */
static int pitch_of(const struct frame *frame, int plane, int stride) {
  int pitch = plane && frame->format == PIXEL_YUV420P ? stride / 2 + stride % 2 : stride;
  int least = frame_row_bytes(frame->format, plane, frame->width);
  return pitch > least ? pitch : least;
}

bool pipewire_planes(struct frame *frame, const void *data, size_t bytes, size_t offset, int stride) {
  uint64_t begin = offset;
  stride = pitch_of(frame, 0, stride);
  for (int i = 0; i < frame_planes(frame->format); i++) {
    int pitch = pitch_of(frame, i, stride);
    uint64_t end = begin + (uint64_t)pitch * (uint64_t)frame_rows(frame->format, i, frame->height);
    if (end > bytes)
      return false;
    frame->plane[i] = (const uint8_t *)data + begin;
    frame->pitch[i] = pitch;
    begin = end;
  }
  return true;
}
