#include "app/source/dissolve.h"

#include <math.h>
#include <string.h>

#include <libswscale/swscale.h>

#include "app/source/convert.h"

bool dissolve_can_read(const struct frame *frame) {
  return frame->plane[0] && (!frame->picture || frame->picture->memory & MEMORY_HOST);
}

/* A part of a frame, in pixels. */
struct part {
  int left, top, width, height;
};

static int even(double number) {
  return 2 * (int)lrint(number / 2);
}

/* Returns the part in the middle of the frame that has the fraction `wide` of the frame's width and the fraction `high`
 * of its height. The part's borders are at even pixels, because 2 x 2 pixels may share one chroma sample. */
static struct part middle_of(const struct frame *frame, double wide, double high) {
  int width = even(fmin(wide, 1) * frame->width), height = even(fmin(high, 1) * frame->height);
  width = width < 2 ? frame->width : width;
  height = height < 2 ? frame->height : height;
  return (struct part){even((frame->width - width) / 2.0), even((frame->height - height) / 2.0), width, height};
}

/* For a fade, finds which part of the frame `from` is drawn onto which part of a frame that is as large as `to`. Both
 * frames are later cropped to the aspect ratio `shape` (width / height); the parts are chosen so that the visible
 * middle of `from` covers the visible middle of `to`. */
static void find_parts(const struct frame *from, const struct frame *to, double shape, struct part *of,
                       struct part *at) {
  double from_shape = frame_aspect(from), to_shape = frame_aspect(to), seen = shape > 0 ? shape : to_shape;
  double wide = fmin(1, seen / from_shape) / fmin(1, seen / to_shape);
  double high = fmin(1, from_shape / seen) / fmin(1, to_shape / seen);
  *of = middle_of(from, wide, high);
  *at = middle_of(to, 1 / wide, 1 / high);
}

static void fill_black(const struct frame *frame) {
  bool rgb = frame->format == PIXEL_BGRA || frame->format == PIXEL_RGBA, full = frame->range == RANGE_FULL;
  for (int i = 0; i < frame_planes(frame->format); i++) {
    size_t bytes = (size_t)frame->pitch[i] * (size_t)frame_rows(frame->format, i, frame->height);
    memset(frame_plane(frame, i), rgb ? 0 : i ? 128 : full ? 0 : 16, bytes);
    for (size_t at = 1; frame->format == PIXEL_YUYV && at < bytes; at += 2)
      frame_plane(frame, i)[at] = 128;
    for (size_t at = 0; frame->format == PIXEL_P010 && at < bytes; at += 2)
      frame_plane(frame, i)[at] = 0;
  }
}

static const int *matrix_of(const struct frame *frame) {
  bool rgb = frame->format == PIXEL_BGRA || frame->format == PIXEL_RGBA;
  return convert_matrix(rgb ? MATRIX_BT709 : frame->matrix);
}

/* Stores in plane[] the address in each of the frame's planes at which the rectangle `part` begins. */
static void find_planes(const struct frame *frame, const struct part *part, uint8_t *plane[4]) {
  for (int i = 0; i < frame_planes(frame->format); i++)
    plane[i] = (uint8_t *)(uintptr_t)frame->plane[i] + frame_row_bytes(frame->format, i, part->left) +
               (ptrdiff_t)frame->pitch[i] * frame_rows(frame->format, i, part->top);
}

static int open_scaler(struct dissolve *dissolve, const struct frame *from, const struct part *of,
                       const struct frame *to, const struct part *at, struct error *err) {
  int key[6] = {of->width, of->height, (int)from->format, at->width, at->height, (int)to->format};
  if (!dissolve->scaler || memcmp(key, dissolve->scaler_key, sizeof key)) {
    sws_freeContext(dissolve->scaler);
    dissolve->scaler = sws_getContext(of->width, of->height, convert_to_ffmpeg(from->format), at->width, at->height,
                                      convert_to_ffmpeg(to->format), SWS_BILINEAR, NULL, NULL, NULL);
    memcpy(dissolve->scaler_key, key, sizeof key);
  }
  if (!dissolve->scaler)
    return error_set(err, STATUS_FAILED, "no memory to mix sources");
  sws_setColorspaceDetails(dissolve->scaler, matrix_of(from), from->range == RANGE_FULL, matrix_of(to),
                           to->range == RANGE_FULL, 0, 1 << 16, 1 << 16);
  return 0;
}

static bool has_layout(const struct frame *from, const struct frame *to) {
  return from->format == to->format && from->width == to->width && from->height == to->height &&
         from->matrix == to->matrix && from->range == to->range && fabs(frame_aspect(from) - frame_aspect(to)) < 0.001;
}

/* Converts `from` into dissolve->converted, a frame of the layout of `to`. Returns 0, or -1 with err. */
static int convert(struct dissolve *dissolve, const struct frame *from, const struct frame *to, double shape,
                   struct error *err) {
  struct frame *frame = &dissolve->converted;
  struct part of, at;
  uint8_t *source[4] = {NULL}, *plane[4] = {NULL};
  dissolve_forget(dissolve);
  find_parts(from, to, shape, &of, &at);
  if (open_scaler(dissolve, from, &of, to, &at, err) ||
      host_pictures_take(&dissolve->placed, to->format, to->width, to->height, frame, err))
    return -1;
  frame->matrix = to->matrix;
  frame->range = to->range;
  frame->sample_aspect = to->sample_aspect;
  if (at.width < to->width || at.height < to->height)
    fill_black(frame);
  find_planes(from, &of, source);
  find_planes(frame, &at, plane);
  sws_scale(dissolve->scaler, (const uint8_t *const *)source, from->pitch, 0, of.height, plane, frame->pitch);
  dissolve->from = frame_hold(from);
  return 0;
}

static void mix_bytes(uint8_t *out, const uint8_t *from, const uint8_t *to, int count, int share) {
  for (int i = 0; i < count; i++)
    out[i] = (uint8_t)((from[i] * (256 - share) + to[i] * share + 128) >> 8);
}

static void mix_samples(uint16_t *out, const uint16_t *from, const uint16_t *to, int count, int share) {
  for (int i = 0; i < count; i++)
    out[i] = (uint16_t)((from[i] * (256 - share) + to[i] * share + 128) >> 8);
}

static void mix(const struct frame *out, const struct frame *from, const struct frame *to, float share) {
  int weight = (int)lrintf(share * 256);
  for (int i = 0; i < frame_planes(out->format); i++) {
    int bytes = frame_row_bytes(out->format, i, out->width), rows = frame_rows(out->format, i, out->height);
    for (int y = 0; y < rows; y++) {
      uint8_t *row = frame_plane(out, i) + (ptrdiff_t)y * out->pitch[i];
      const uint8_t *a = from->plane[i] + (ptrdiff_t)y * from->pitch[i];
      const uint8_t *b = to->plane[i] + (ptrdiff_t)y * to->pitch[i];
      if (out->format == PIXEL_P010)
        mix_samples((uint16_t *)(void *)row, (const uint16_t *)(const void *)a, (const uint16_t *)(const void *)b,
                    bytes / 2, weight);
      else
        mix_bytes(row, a, b, bytes, weight);
    }
  }
}

int dissolve_mix(struct dissolve *dissolve, const struct frame *from, const struct frame *to, double shape, float share,
                 struct frame *out, struct error *err) {
  struct frame mixed;
  bool same = has_layout(from, to), known = !same && dissolve->from.plane[0] == from->plane[0] &&
                                            dissolve->from.serial == from->serial &&
                                            has_layout(&dissolve->converted, to);
  if (frame_wait(from, MEMORY_HOST, err) < 0 || frame_wait(to, MEMORY_HOST, err) < 0 ||
      (!same && !known && convert(dissolve, from, to, shape, err)) ||
      host_pictures_take(&dissolve->mixed, to->format, to->width, to->height, &mixed, err))
    return -1;
  *out = *to;
  memcpy(out->plane, mixed.plane, sizeof out->plane);
  memcpy(out->pitch, mixed.pitch, sizeof out->pitch);
  out->picture = mixed.picture;
  mix(out, same ? from : &dissolve->converted, to, share);
  return 0;
}

void dissolve_forget(struct dissolve *dissolve) {
  frame_release(&dissolve->from);
  frame_release(&dissolve->converted);
}

void dissolve_free(struct dissolve *dissolve) {
  dissolve_forget(dissolve);
  host_pictures_free(&dissolve->mixed);
  host_pictures_free(&dissolve->placed);
  sws_freeContext(dissolve->scaler);
  dissolve->scaler = NULL;
}
