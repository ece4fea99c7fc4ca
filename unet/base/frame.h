/* One video frame, as sources make it and as the engine returns it. The engine reads and writes these pixel formats
 * itself, on the device; a source converts anything else (swscale) before it hands the frame over. */
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
  PIXEL_YUYV,    /* 8 bit packed Y0 Cb Y1 Cr: what most webcams give */
  PIXEL_BGRA,    /* 8 bit packed; alpha ignored on input, 255 on output */
  PIXEL_RGBA,    /* likewise */
  PIXEL_FORMATS
};

enum color_matrix { MATRIX_BT601, MATRIX_BT709, MATRIX_BT2020 }; /* YUV formats only */
enum color_range { RANGE_LIMITED, RANGE_FULL };                  /* 16..235 or 0..255 */

struct frame {
  enum pixel_format format;
  enum color_matrix matrix;
  enum color_range range;
  int width, height;       /* in pixels; odd sizes are allowed: chroma planes round up */
  const uint8_t *plane[3]; /* host memory; unused planes NULL */
  int pitch[3];            /* bytes from one row to the next, of each plane */
  float sample_aspect;     /* width of a pixel over its height, as the frame is to be seen; 0: square */
  int64_t pts;             /* in the source's time base, passed through untouched */
  int64_t duration;        /* that the source shows it for, in the same time base; 0: unknown */
  int64_t captured_ns;     /* platform_now_ns when the frame was captured, or its packet came */
  int64_t late_ns;         /* of a file: how long after its time captured_ns is */
  uint64_t serial;         /* number of the frame in its source, from 0 */
  bool numbered;           /* it is a picture of a sequence, whose file's name has a number, */
  int number;              /* which is this */
  struct picture *picture; /* owns the planes' memory (picture.h); NULL: the memory outlives the frame by itself */
};

/* Planes of a format (1 to 3). */
int frame_planes(enum pixel_format format);
/* Bytes of one row of a plane, without padding, and rows of a plane. */
int frame_row_bytes(enum pixel_format format, int plane, int width);
int frame_rows(enum pixel_format format, int plane, int height);
/* Of all planes, without padding. */
size_t frame_bytes(const struct frame *frame);
const char *frame_format_name(enum pixel_format format);
/* The shape a frame is to be seen in: width over height, in square pixels. In double, so that a picture of the same
 * size has the same shape to the last bit of a float. */
double frame_aspect(const struct frame *frame);
enum { FRAME_ALIGN = 64 }; /* bytes, of rows where memory is laid out here */

/* For format, width and height: pitches with rows aligned, planes one behind the other from memory on (NULL:
 * none). Returns the bytes that takes. */
size_t frame_lay_out(struct frame *frame, const uint8_t *memory);
/* Copies pixels into planes of the same format and size; what lies between rows stays as it is. */
void frame_copy_pixels(uint8_t *const plane[3], const int pitch[3], const struct frame *from);

#endif
