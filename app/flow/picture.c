#include "app/flow/picture.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64 };

static size_t align_up(size_t bytes) {
  return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

int picture_resize(struct picture *picture, enum pixel_format format, int width, int height, struct error *err) {
  size_t total = 0, offset[3] = {0}, pitch[3] = {0};
  int planes = frame_planes(format);
  for (int i = 0; i < planes; i++) {
    offset[i] = total;
    pitch[i] = align_up((size_t)frame_row_bytes(format, i, width));
    total += pitch[i] * (size_t)frame_rows(format, i, height);
  }
  if (total > picture->capacity) {
    free(picture->buffer);
    picture->capacity = 0;
    picture->buffer = aligned_alloc(ALIGN, align_up(total));
    if (!picture->buffer)
      return error_set(err, STATUS_FAILED, "no memory for a %dx%d picture (%zu bytes)", width, height, total);
    picture->capacity = align_up(total);
  }
  struct frame *frame = &picture->frame;
  frame->format = format;
  frame->width = width;
  frame->height = height;
  for (int i = 0; i < 3; i++) {
    frame->plane[i] = i < planes ? picture->buffer + offset[i] : NULL;
    frame->pitch[i] = (int)pitch[i];
  }
  return 0;
}

uint8_t *picture_plane(struct picture *picture, int plane) {
  return picture->buffer + (picture->frame.plane[plane] - picture->buffer);
}

static void copy_plane(uint8_t *to, int to_pitch, const uint8_t *from, int from_pitch, int bytes, int rows) {
  for (int y = 0; y < rows; y++)
    memcpy(to + (size_t)y * (size_t)to_pitch, from + (ptrdiff_t)y * from_pitch, (size_t)bytes);
}

int picture_copy(struct picture *picture, const struct frame *frame, struct error *err) {
  if (picture_resize(picture, frame->format, frame->width, frame->height, err))
    return -1;
  struct frame copy = *frame;
  for (int i = 0; i < 3; i++) {
    copy.plane[i] = picture->frame.plane[i];
    copy.pitch[i] = picture->frame.pitch[i];
  }
  picture->frame = copy;
  for (int i = 0; i < frame_planes(frame->format); i++)
    copy_plane(picture_plane(picture, i), copy.pitch[i], frame->plane[i], frame->pitch[i],
               frame_row_bytes(frame->format, i, frame->width), frame_rows(frame->format, i, frame->height));
  return 0;
}

void picture_free(struct picture *picture) {
  free(picture->buffer);
  *picture = (struct picture){0};
}
