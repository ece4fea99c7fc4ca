/* Converts the frames and pixel formats of programs that use the library to those of the engine. */
#include "app/library/library.h"

static const enum pixel_format formats[] = {
    [REVERIE_RGBA] = PIXEL_RGBA, [REVERIE_BGRA] = PIXEL_BGRA, [REVERIE_I420] = PIXEL_YUV420P,
    [REVERIE_NV12] = PIXEL_NV12, [REVERIE_P010] = PIXEL_P010, [REVERIE_YUYV] = PIXEL_YUYV};
enum { FORMATS = sizeof formats / sizeof *formats };

_Static_assert((int)REVERIE_BT601 == MATRIX_BT601 && (int)REVERIE_BT709 == MATRIX_BT709 &&
                   (int)REVERIE_BT2020 == MATRIX_BT2020 && (int)REVERIE_LIMITED == RANGE_LIMITED &&
                   (int)REVERIE_FULL == RANGE_FULL,
               "matrices and ranges are those of frames");

bool library_format_read(int format, enum pixel_format *pixels) {
  if (format < REVERIE_RGBA || format >= FORMATS)
    return false;
  *pixels = formats[format];
  return true;
}

int library_format_tell(enum pixel_format pixels) {
  int format = REVERIE_RGBA;
  while (format < FORMATS - 1 && formats[format] != pixels)
    format++;
  return format;
}

/* longest side of a frame in pixels; with this limit, the number of bytes of a row never overflows an int. A plane can
 * have more: its bytes are counted as size_t. */
enum { SIDE_MOST = 32768 };

static int check_planes(const struct frame *frame, struct error *err) {
  for (int i = 0; i < frame_planes(frame->format); i++) {
    int least = frame_row_bytes(frame->format, i, frame->width);
    if (!frame->plane[i])
      return error_set(err, STATUS_INPUT, "the frame has no plane %d, which %s has", i,
                       frame_format_name(frame->format));
    if (frame->pitch[i] < least)
      return error_set(err, STATUS_INPUT, "plane %d of the frame: a row of %d bytes has %d of pixels", i,
                       frame->pitch[i], least);
  }
  return 0;
}

int library_take_frame(struct reverie_frame *frame, const struct reverie_frame *given, struct error *err) {
  if (library_check_size(given, LIBRARY_FRAME_LEAST, "reverie_frame", err))
    return -1;
  library_read(frame, given, sizeof *frame);
  return 0;
}

int library_frame(struct frame *frame, const struct reverie_frame *from, bool needs, struct error *err) {
  *frame = (struct frame){.matrix = (enum color_matrix)from->matrix,
                          .range = (enum color_range)from->range,
                          .width = from->width,
                          .height = from->height,
                          .pitch = {from->pitch[0], from->pitch[1], from->pitch[2]},
                          .sample_aspect = from->pixel_aspect,
                          .pts = from->time_ns};
  for (int i = 0; i < 3; i++)
    frame->plane[i] = from->plane[i];
  if (!needs)
    return 0;
  if (!library_format_read(from->format, &frame->format))
    return error_set(err, STATUS_INPUT, "the frame's format %d: there is none of this number", from->format);
  if (from->width < 1 || from->height < 1 || from->width > SIDE_MOST || from->height > SIDE_MOST)
    return error_set(err, STATUS_INPUT, "a frame of %dx%d: sides have 1 to %d pixels", from->width, from->height,
                     SIDE_MOST);
  if (from->matrix < REVERIE_BT601 || from->matrix > REVERIE_BT2020 || from->range < REVERIE_LIMITED ||
      from->range > REVERIE_FULL || !(from->pixel_aspect >= 0 && from->pixel_aspect < 1e6f))
    return error_set(err, STATUS_INPUT, "the frame's matrix %d, range %d or pixel aspect %g has no meaning",
                     from->matrix, from->range, (double)from->pixel_aspect);
  if (from->memory != REVERIE_HOST && from->memory != REVERIE_CUDA)
    return error_set(err, STATUS_INPUT, "the frame's memory %d: there is none of this number", from->memory);
  return check_planes(frame, err);
}
