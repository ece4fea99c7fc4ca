#include "unet/base/frame.h"

#include <string.h>

static bool is_chroma(enum pixel_format format, int plane) {
  return plane > 0 && (format == PIXEL_NV12 || format == PIXEL_P010 || format == PIXEL_YUV420P);
}

int frame_planes(enum pixel_format format) {
  switch (format) {
  case PIXEL_NV12:
  case PIXEL_P010:
    return 2;
  case PIXEL_YUV420P:
    return 3;
  default:
    return 1;
  }
}

int frame_row_bytes(enum pixel_format format, int plane, int width) {
  int half = (width + 1) / 2;
  switch (format) {
  case PIXEL_NV12:
    return plane ? half * 2 : width;
  case PIXEL_P010:
    return plane ? half * 4 : width * 2;
  case PIXEL_YUV420P:
    return plane ? half : width;
  case PIXEL_YUYV:
    return half * 4;
  default:
    return width * 4;
  }
}

int frame_rows(enum pixel_format format, int plane, int height) {
  return is_chroma(format, plane) ? (height + 1) / 2 : height;
}

double frame_aspect(const struct frame *frame) {
  double sample = frame->sample_aspect > 0 ? (double)frame->sample_aspect : 1;
  return frame->width * sample / frame->height;
}

size_t frame_lay_out(struct frame *frame, const uint8_t *memory) {
  size_t used = 0;
  for (int i = 0; i < 3; i++) {
    bool there = i < frame_planes(frame->format);
    int bytes = there ? frame_row_bytes(frame->format, i, frame->width) : 0;
    frame->pitch[i] = (bytes + FRAME_ALIGN - 1) / FRAME_ALIGN * FRAME_ALIGN;
    frame->plane[i] = there && memory ? memory + used : NULL;
    used += (size_t)frame->pitch[i] * (size_t)frame_rows(frame->format, i, frame->height);
  }
  return used;
}

static void copy_plane(uint8_t *to, int to_pitch, const uint8_t *from, int from_pitch, size_t bytes, int rows) {
  if (to_pitch == from_pitch && (size_t)to_pitch == bytes) {
    memcpy(to, from, bytes * (size_t)rows);
    return;
  }
  for (int y = 0; y < rows; y++)
    memcpy(to + (ptrdiff_t)y * to_pitch, from + (ptrdiff_t)y * from_pitch, bytes);
}

void frame_copy_pixels(uint8_t *const plane[3], const int pitch[3], const struct frame *from) {
  for (int i = 0; i < frame_planes(from->format); i++)
    copy_plane(plane[i], pitch[i], from->plane[i], from->pitch[i],
               (size_t)frame_row_bytes(from->format, i, from->width), frame_rows(from->format, i, from->height));
}

size_t frame_bytes(const struct frame *frame) {
  size_t bytes = 0;
  for (int i = 0; i < frame_planes(frame->format); i++)
    bytes +=
        (size_t)frame_row_bytes(frame->format, i, frame->width) * (size_t)frame_rows(frame->format, i, frame->height);
  return bytes;
}

const char *frame_format_name(enum pixel_format format) {
  static const char *const names[PIXEL_FORMATS] = {"nv12", "p010", "yuv420p", "yuyv", "bgra", "rgba"};
  return format < PIXEL_FORMATS ? names[format] : "unknown";
}
