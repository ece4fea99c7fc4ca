#include "unet/base/channels.h"

struct channel frame_channel(const struct frame *f, int index) {
  static const int bgra[3] = {2, 1, 0}, rgba[3] = {0, 1, 2}, yuyv[3] = {0, 1, 3};
  uint8_t *first = (uint8_t *)f->plane[0];
  struct channel c = {.data = first, .pitch = f->pitch[0], .stride = 1, .width = f->width, .height = f->height};
  bool chroma = index > 0 && !frame_is_rgb(f), two_planes = f->format == PIXEL_NV12 || f->format == PIXEL_P010;
  int sample = f->format == PIXEL_P010 ? 2 : 1;
  c.ten_bits = sample == 2;
  c.half_x = chroma;
  c.half_y = chroma && f->format != PIXEL_YUYV;
  if (c.half_x)
    c.width = (f->width + 1) / 2;
  if (c.half_y)
    c.height = (f->height + 1) / 2;
  if (f->format == PIXEL_YUYV) {
    c.data = first + yuyv[index];
    c.stride = chroma ? 4 : 2;
  } else if (frame_is_rgb(f)) {
    c.data = first + (f->format == PIXEL_BGRA ? bgra : rgba)[index];
    c.stride = 4;
  } else if (chroma) {
    c.plane = two_planes ? 1 : index;
    c.data = (uint8_t *)f->plane[c.plane] + (two_planes ? (index - 1) * sample : 0);
    c.pitch = f->pitch[c.plane];
    c.stride = two_planes ? 2 * sample : 1;
  } else {
    c.stride = sample;
  }
  return c;
}

struct coding frame_coding(const struct frame *f) {
  static const double red[] = {[MATRIX_BT601] = 0.299, [MATRIX_BT709] = 0.2126, [MATRIX_BT2020] = 0.2627};
  static const double blue[] = {[MATRIX_BT601] = 0.114, [MATRIX_BT709] = 0.0722, [MATRIX_BT2020] = 0.0593};
  struct coding c = {.range = {255, 255, 255}};
  if (frame_is_rgb(f))
    return c;
  int depth = f->format == PIXEL_P010 ? 10 : 8, unit = 1 << (depth - 8);
  bool full = f->range == RANGE_FULL;
  c.zero[0] = full ? 0 : 16 * unit;
  c.zero[1] = c.zero[2] = 128 * unit;
  c.range[0] = full ? (1 << depth) - 1 : 219 * unit;
  c.range[1] = c.range[2] = full ? (1 << depth) - 1 : 224 * unit;
  c.r = red[f->matrix];
  c.b = blue[f->matrix];
  c.g = 1 - c.r - c.b;
  c.r_cr = 2 * (1 - c.r);
  c.b_cb = 2 * (1 - c.b);
  c.g_cb = -c.b_cb * c.b / c.g;
  c.g_cr = -c.r_cr * c.r / c.g;
  return c;
}
