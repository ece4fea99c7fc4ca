/* Frames as channels of samples, and what their codes mean. */
#ifndef UNET_BASE_CHANNELS_H
#define UNET_BASE_CHANNELS_H

#include "unet/base/frame.h"

/* One of a frame's three channels (Y, Cb, Cr or R, G, B) as a plane of samples. */
struct channel {
  int plane;         /* of the frame */
  uint8_t *data;     /* first sample */
  int pitch, stride; /* bytes from row to row, from sample to sample */
  int width, height; /* in samples */
  bool half_x, half_y;
  bool ten_bits; /* 16 bits of which the upper 10 count, little endian; else 8 */
};

struct channel frame_channel(const struct frame *frame, int index);

static inline bool frame_is_rgb(const struct frame *frame) {
  return frame->format == PIXEL_BGRA || frame->format == PIXEL_RGBA;
}

static inline int channel_sample(const struct channel *channel, int x, int y) {
  const uint8_t *at = channel->data + (long)y * channel->pitch + (long)x * channel->stride;
  return channel->ten_bits ? (at[0] | at[1] << 8) >> 6 : *at;
}

static inline void channel_store(const struct channel *channel, int x, int y, int value) {
  uint8_t *at = channel->data + (long)y * channel->pitch + (long)x * channel->stride;
  at[0] = (uint8_t)(channel->ten_bits ? value << 6 : value);
  if (channel->ten_bits)
    at[1] = (uint8_t)(value >> 2);
}

/* Codes to values: value = (code - zero) / range, Y in 0..1 and Cb, Cr in -0.5..0.5 (R, G, B in 0..1); then
 * R = Y + r_cr Cr, G = Y + g_cb Cb + g_cr Cr, B = Y + b_cb Cb. And back: Y = r R + g G + b B, Cb = (B - Y) / b_cb,
 * Cr = (R - Y) / r_cr. ITU-R BT.601, BT.709, BT.2020 (non-constant luminance). */
struct coding {
  double zero[3], range[3];
  double r, g, b; /* luma of pure red, green, blue */
  double r_cr, g_cb, g_cr, b_cb;
};

struct coding frame_coding(const struct frame *frame);

#endif
