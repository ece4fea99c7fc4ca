/* A video frame, as sources make it and as the engine returns it. The engine reads and writes the pixel formats below
 * on the device; sources convert every other format to one of them (swscale). */
#ifndef UNET_BASE_FRAME_H
#define UNET_BASE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct picture;

enum pixel_format {
  PIXEL_NV12,    /* 8 bit: plane 0 luma, plane 1 interleaved CbCr at half width and half height */
  PIXEL_P010,    /* planes as in NV12, of 16-bit little-endian samples whose upper 10 bits are significant */
  PIXEL_YUV420P, /* 8 bit: three planes, chroma at half width and half height */
  PIXEL_YUYV,    /* 8 bits for each sample, interleaved in the order Y0 Cb Y1 Cr; the format of most webcams */
  PIXEL_BGRA,    /* 8 bits for each channel, interleaved; alpha is ignored on input, and 255 on output */
  PIXEL_RGBA,    /* 8 bits for each channel, interleaved; alpha is ignored on input, and 255 on output */
  PIXEL_FORMATS
};

/* standard of the conversion between YUV and R, G, B; used for YUV formats only */
enum color_matrix { MATRIX_BT601, MATRIX_BT709, MATRIX_BT2020 };
enum color_range { RANGE_LIMITED, RANGE_FULL }; /* 16..235 or 0..255 */

struct frame {
  /* The fields from `format` to `pitch` describe the pixels. */
  enum pixel_format format;
  enum color_matrix matrix;
  enum color_range range;
  int width, height;       /* size in pixels; if it is odd, the chroma planes' size is rounded up */
  const uint8_t *plane[3]; /* planes in host memory; those that the format does not use are NULL */
  int pitch[3];            /* bytes from one row of a plane to the next */

  /* `sample_aspect`, `pts` and `duration` say in which shape and when the frame is displayed. */
  float sample_aspect; /* width of a pixel divided by its height when the frame is shown; 0: square */
  int64_t pts;         /* time at which the frame is shown, in the source's time base; copied unchanged */
  int64_t duration;    /* how long the source shows the frame, in the same time base as pts; 0: unknown */

  /* The fields from `captured_ns` to `number` say where the frame comes from. */
  int64_t captured_ns; /* value of platform_now_ns when the frame was captured, or when its packet arrived */
  /* for sources that are files: how many nanoseconds after its due time the source passed the frame on */
  int64_t late_ns;
  uint64_t serial; /* number of the frame in its source, from 0 */
  /* Number of the stretch (a part of the input without a gap in time) to which the frame belongs. Another source,
   * another pass of a loop and a jump to another place in a file begin another stretch. */
  uint64_t stretch;
  bool numbered; /* true: the source is a sequence of image files, and this file's name contains a number */
  int number;    /* the number in the file name, if `numbered` is true */

  /* The next field owns the memory of the planes. */
  /* the picture (picture.h) in whose memory the planes are; NULL: the caller keeps the planes' memory valid */
  struct picture *picture;
};

/* Returns the number of a format's planes (1 to 3). */
int frame_planes(enum pixel_format format);
/* frame_row_bytes returns the bytes of one row of a plane without padding, frame_rows the number of a plane's rows. */
int frame_row_bytes(enum pixel_format format, int plane, int width);
int frame_rows(enum pixel_format format, int plane, int height);
/* Returns the number of bytes of all planes together, without padding. */
size_t frame_bytes(const struct frame *frame);
const char *frame_format_name(enum pixel_format format);
/* Returns the width of the shown frame divided by its height. The result is a double, so that pictures of the same size
 * have the same ratio to the last bit of a float. */
double frame_aspect(const struct frame *frame);
enum { FRAME_ALIGN = 64 }; /* alignment of rows, in bytes, of memory that frame_lay_out divides */

/* Sets pitch and plane for the frame's format, width and height: rows are aligned to FRAME_ALIGN, and the planes follow
 * each other, beginning at `memory` (NULL: the planes become NULL). Returns the number of bytes that the planes
 * take. */
size_t frame_lay_out(struct frame *frame, const uint8_t *memory);
/* Copies pixels into planes of the same format and size; padding between rows is not written. */
void frame_copy_pixels(uint8_t *const plane[3], const int pitch[3], const struct frame *from);

#endif
