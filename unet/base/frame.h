/* A video frame, as sources make it and as the engine returns it. The engine reads and writes these pixel formats on
 * the device; sources convert every other format to one of them (swscale). */
#ifndef UNET_BASE_FRAME_H
#define UNET_BASE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct picture;

enum pixel_format {
  PIXEL_NV12,    /* 8 bit: plane 0 luma, plane 1 interleaved CbCr at half width and half height */
  PIXEL_P010,    /* as NV12 with 16-bit little-endian samples, the 10 significant bits on top */
  PIXEL_YUV420P, /* 8 bit: three planes, chroma at half width and half height */
  PIXEL_YUYV,    /* 8 bit packed Y0 Cb Y1 Cr, the format of most webcams */
  PIXEL_BGRA,    /* 8 bit packed; alpha ignored on input, 255 on output */
  PIXEL_RGBA,    /* 8 bit packed; alpha ignored on input, 255 on output */
  PIXEL_FORMATS
};

enum color_matrix { MATRIX_BT601, MATRIX_BT709, MATRIX_BT2020 }; /* for YUV formats only */
enum color_range { RANGE_LIMITED, RANGE_FULL };                  /* 16..235 or 0..255 */

struct frame {
  /* The pixels. */
  enum pixel_format format;
  enum color_matrix matrix;
  enum color_range range;
  int width, height;       /* in pixels; odd sizes are allowed: chroma planes are rounded up */
  const uint8_t *plane[3]; /* in host memory; unused planes are NULL */
  int pitch[3];            /* bytes from one row of a plane to the next */

  /* The display of the frame: its shape and its time. */
  float sample_aspect; /* width of a pixel divided by its height when the frame is shown; 0: square */
  int64_t pts;         /* in the source's time base; never changed here */
  int64_t duration;    /* time for which the source shows the frame, in the same time base; 0: unknown */

  /* The frame's origin. */
  int64_t captured_ns; /* platform_now_ns when the frame was captured, or when its packet arrived */
  int64_t late_ns;     /* for files: delay from the frame's time to captured_ns */
  uint64_t serial;     /* number of the frame in its source, from 0 */
  /* Number of the stretch of the input to which the frame belongs. Frames of one stretch follow each other in time;
   * another source, another round of a loop and another place in a file begin another stretch. */
  uint64_t stretch;
  bool numbered; /* the frame is a picture of a sequence, and its file name contains a number */
  int number;    /* the number in the file name */

  /* The owner of the memory. */
  struct picture *picture; /* owns the planes' memory (picture.h); NULL: the caller keeps the memory valid */
};

/* Returns the number of a format's planes (1 to 3). */
int frame_planes(enum pixel_format format);
/* frame_row_bytes returns the bytes of one row of a plane without padding, frame_rows the number of a plane's rows. */
int frame_row_bytes(enum pixel_format format, int plane, int width);
int frame_rows(enum pixel_format format, int plane, int height);
/* Returns the bytes of all planes without padding. */
size_t frame_bytes(const struct frame *frame);
const char *frame_format_name(enum pixel_format format);
/* Returns the aspect ratio with which the frame is shown: width over height in square pixels. It is a double, so that
 * pictures of the same size have the same ratio to the last bit of a float. */
double frame_aspect(const struct frame *frame);
enum { FRAME_ALIGN = 64 }; /* alignment of rows, in bytes, of memory that frame_lay_out divides */

/* Fills pitch and plane for the frame's format, width and height: rows are aligned, and the planes follow each other
 * from memory on (NULL: the planes stay NULL). Returns the bytes that this takes. */
size_t frame_lay_out(struct frame *frame, const uint8_t *memory);
/* Copies pixels into planes of the same format and size; padding between rows is not written. */
void frame_copy_pixels(uint8_t *const plane[3], const int pitch[3], const struct frame *from);

#endif
