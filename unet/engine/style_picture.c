#include "unet/engine/style_picture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "unet/base/channels.h"
#include "unet/base/cubic.h"

/* --- converting a frame to R, G, B --- */

static uint8_t code(double value) {
  return (uint8_t)lrint(fmin(fmax(value, 0), 1) * 255);
}

static void copy_rgb(const struct frame *f, uint8_t *rgb) {
  int red = f->format == PIXEL_BGRA ? 2 : 0;
  for (int y = 0; y < f->height; y++) {
    const uint8_t *p = f->plane[0] + (ptrdiff_t)y * f->pitch[0];
    for (int x = 0; x < f->width; x++, p += 4, rgb += 3)
      rgb[0] = p[red], rgb[1] = p[1], rgb[2] = p[2 - red];
  }
}

/* Converts YUV to RGB; each pixel takes the nearest chroma sample. */
static void decode_yuv(const struct frame *f, uint8_t *rgb) {
  const struct coding k = frame_coding(f);
  struct channel c[3];
  for (int i = 0; i < 3; i++)
    c[i] = frame_channel(f, i);
  for (int y = 0; y < f->height; y++)
    for (int x = 0; x < f->width; x++, rgb += 3) {
      double v[3];
      for (int i = 0; i < 3; i++)
        v[i] = (channel_sample(&c[i], x >> c[i].half_x, y >> c[i].half_y) - k.zero[i]) / k.range[i];
      rgb[0] = code(v[0] + k.r_cr * v[2]);
      rgb[1] = code(v[0] + k.g_cb * v[1] + k.g_cr * v[2]);
      rgb[2] = code(v[0] + k.b_cb * v[1]);
    }
}

/* --- resizing as Pillow does --- */

enum { PRECISION = 22 }; /* number of fraction bits of the weights, as in Pillow */

/* Says from which samples of a source line one sample of the resized line is computed: the first one, their number, and
 * the weights with which they are averaged. */
struct window {
  int first, count;
  int *weights;
};

static void fill_window(struct window *w, int from, double scale, int at, double *values) {
  double filter = fmax(scale, 1), support = 2 * filter, centre = (at + 0.5) * scale, sum = 0;
  int first = (int)(centre - support + 0.5), end = (int)(centre + support + 0.5);
  w->first = first > 0 ? first : 0;
  w->count = (end < from ? end : from) - w->first;
  for (int i = 0; i < w->count; i++)
    sum += values[i] = cubic_kernel(-0.5, (i + w->first - centre + 0.5) / filter);
  for (int i = 0; i < w->count; i++) {
    double weight = (sum != 0 ? values[i] / sum : values[i]) * (1 << PRECISION);
    w->weights[i] = (int)(weight < 0 ? weight - 0.5 : weight + 0.5);
  }
}

/* Computes the windows for samples `offset` to `offset` + count - 1 of a line that is resized from `from` to `to`
 * samples: which source samples are averaged, with which weights. The caller frees the result; the weights are in the
 * same block of memory. NULL: out of memory. */
static struct window *make_windows(int from, int to, int offset, int count) {
  double scale = (double)from / to;
  size_t most = (size_t)ceil(2 * fmax(scale, 1)) * 2 + 1;
  struct window *windows = malloc((size_t)count * (sizeof *windows + most * sizeof(int)));
  double *values = malloc(most * sizeof *values);
  if (!windows || !values) {
    free(windows);
    free(values);
    return NULL;
  }
  for (int i = 0; i < count; i++) {
    windows[i].weights = (int *)(windows + count) + (size_t)i * most;
    fill_window(&windows[i], from, scale, offset + i, values);
  }
  free(values);
  return windows;
}

/* Computes `count` pixels of three channels as weighted means. Pixels of the source are `stride` bytes apart, pixels of
 * the result out_stride bytes. */
static void filter(const struct window *windows, int count, const uint8_t *line, size_t stride, uint8_t *out,
                   size_t out_stride) {
  for (int i = 0; i < count; i++, out += out_stride) {
    const uint8_t *at = line + (size_t)windows[i].first * stride;
    int sum[3] = {1 << (PRECISION - 1), 1 << (PRECISION - 1), 1 << (PRECISION - 1)};
    for (int j = 0; j < windows[i].count; j++, at += stride)
      for (int c = 0; c < 3; c++)
        sum[c] += at[c] * windows[i].weights[j];
    for (int c = 0; c < 3; c++) {
      int value = sum[c] >> PRECISION;
      out[c] = (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
    }
  }
}

/* Resizes `rgb` so that its shorter side is `size`, and writes the square of size x size in the middle to `out`. Rows
 * are resized first and rounded to bytes, as in Pillow. */
static int resize(const uint8_t *rgb, int width, int height, int size, uint8_t *out) {
  int shorter = width < height ? width : height;
  int to_w = width <= height ? size : (int)((double)size * width / shorter);
  int to_h = width <= height ? (int)((double)size * height / shorter) : size;
  struct window *across = make_windows(width, to_w, (to_w - size) / 2, size);
  struct window *down = make_windows(height, to_h, (to_h - size) / 2, size);
  size_t pitch = 3 * (size_t)size;
  uint8_t *rows = malloc((size_t)height * pitch);
  int status = across && down && rows ? 0 : -1;
  for (int y = 0; status == 0 && y < height; y++)
    filter(across, size, rgb + (size_t)y * (size_t)width * 3, 3, rows + (size_t)y * pitch, 3);
  for (int x = 0; status == 0 && x < size; x++)
    filter(down, size, rows + 3 * (size_t)x, pitch, out + 3 * (size_t)x, pitch);
  free(across);
  free(down);
  free(rows);
  return status;
}

/* --- cutting the picture into patches --- */

/* Cuts the picture into patches, [patch][channel][row][column], and normalises their values. */
static void cut(const struct style_format *format, const uint8_t *rgb, float *patches) {
  static const float mean[3] = {0.48145466f, 0.4578275f, 0.40821073f},
                     spread[3] = {0.26862954f, 0.26130258f, 0.27577711f};
  int size = format->size, k = format->patch, side = size / k;
  for (int patch = 0; patch < side * side; patch++)
    for (int c = 0; c < 3; c++)
      for (int y = 0; y < k; y++)
        for (int x = 0; x < k; x++) {
          int row = patch / side * k + y, column = patch % side * k + x;
          *patches++ =
              ((float)rgb[((size_t)row * (size_t)size + (size_t)column) * 3 + (size_t)c] / 255 - mean[c]) / spread[c];
        }
}

int style_patches(const struct style_format *format, const struct frame *frame, float *patches, struct error *err) {
  size_t pixels = (size_t)frame->width * (size_t)frame->height, size = (size_t)format->size;
  uint8_t *rgb = malloc(3 * pixels), *small = malloc(3 * size * size);
  int status = rgb && small ? 0 : -1;
  if (status == 0 && frame_is_rgb(frame))
    copy_rgb(frame, rgb);
  else if (status == 0)
    decode_yuv(frame, rgb);
  if (status == 0)
    status = resize(rgb, frame->width, frame->height, format->size, small);
  if (status == 0)
    cut(format, small, patches);
  free(rgb);
  free(small);
  return status < 0 ? error_set(err, STATUS_FAILED, "out of memory") : 0;
}
