/* Access to the single channels of a frame as planes of samples, and the coefficients that convert stored codes to
 * brightness and colour. */
#ifndef UNET_BASE_CHANNELS_H
#define UNET_BASE_CHANNELS_H

#include "unet/base/frame.h"

/* A channel of a frame (one of Y, Cb, Cr or R, G, B) as a plane of samples. */
struct channel {
  int plane;         /* index in frame.plane of the plane that holds the channel */
  uint8_t *data;     /* address of the first sample */
  int pitch, stride; /* bytes from one row to the next, and from one sample to the next */
  int width, height; /* width and height of the channel in samples */
  bool half_x, half_y;
  /* true: a sample has 16 bits, little endian, and its value is in the upper 10; false: a sample has 8 bits */
  bool ten_bits;
};

/* Returns channel number `index`, 0 to 2, of a frame whose pixels are in host memory. */
struct channel frame_channel(const struct frame *frame, int index);

static inline bool frame_is_rgb(const struct frame *frame) {
  return frame->format == PIXEL_BGRA || frame->format == PIXEL_RGBA;
}

static inline int channel_sample(const struct channel *channel, int x, int y) {
  const uint8_t *at = channel->data + (ptrdiff_t)y * channel->pitch + (ptrdiff_t)x * channel->stride;
  return channel->ten_bits ? (at[0] | at[1] << 8) >> 6 : *at;
}

static inline void channel_store(const struct channel *channel, int x, int y, int value) {
  uint8_t *at = channel->data + (ptrdiff_t)y * channel->pitch + (ptrdiff_t)x * channel->stride;
  at[0] = (uint8_t)(channel->ten_bits ? value << 6 : value);
  if (channel->ten_bits)
    at[1] = (uint8_t)(value >> 2);
}

/* Coefficients for the conversion of codes to values and R, G, B: value = (code - zero) / range, with Y in 0..1 and Cb,
 * Cr in -0.5..0.5 (R, G, B in 0..1); R = Y + r_cr Cr, G = Y + g_cb Cb + g_cr Cr, B = Y + b_cb Cb. The inverse is Y = r
 * R + g G + b B, Cb = (B - Y) / b_cb, Cr = (R - Y) / r_cr. ITU-R BT.601, BT.709, BT.2020 (non-constant luminance). */
struct coding {
  double zero[3], range[3];
  double r, g, b; /* luma of pure red, green and blue: the weights of R, G and B in Y */
  double r_cr, g_cb, g_cr, b_cb;
};

/* Returns the coefficients that convert the codes in frames of this format, matrix and range to brightness and
 * colour. */
struct coding frame_coding(const struct frame *frame);

#endif
