#include "app/source/dissolve.h"

#include <math.h>
#include <string.h>

#include <libavutil/opt.h>
#include <libswscale/swscale.h>

#include "app/source/convert.h"
#include "unet/base/mixture.h"

static int even(double number) {
  return 2 * (int)lrint(number / 2);
}

/* Returns the even number of pixels next to a fraction of a side; all of the side, which may be odd, if the fraction is
 * 1 or more. */
static int even_part(int side, double fraction) {
  int part = fraction < 1 ? even(fraction * side) : side;
  return part < 2 || part > side ? side : part;
}

/* Returns the middle part of the frame, with the fraction `wide` of the frame's width and the fraction `high` of its
 * height. Its borders are at even pixels, because 2 x 2 pixels may share one chroma sample. */
static struct mixture_part middle_of(const struct frame *frame, double wide, double high) {
  int width = even_part(frame->width, wide), height = even_part(frame->height, high);
  return (struct mixture_part){even((frame->width - width) / 2.0), even((frame->height - height) / 2.0), width, height};
}

/* For a fade, finds which part of `from` is drawn onto which part of a frame as large as `to`. Both are later cropped
 * to the aspect ratio `shape` (width / height). The visible middle of `from` must cover the visible middle of `to`. */
static void find_parts(const struct frame *from, const struct frame *to, double shape, struct mixture_part *of,
                       struct mixture_part *at) {
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
static void find_planes(const struct frame *frame, const struct mixture_part *part, uint8_t *plane[4]) {
  for (int i = 0; i < frame_planes(frame->format); i++)
    plane[i] = (uint8_t *)(uintptr_t)frame->plane[i] + frame_row_bytes(frame->format, i, part->left) +
               (ptrdiff_t)frame->pitch[i] * frame_rows(frame->format, i, part->top);
}

/* Makes a converter for parts of frames. It must know from the start whether the ranges differ: if they do, it takes no
 * short cut for formats and sizes that are equal. */
static struct SwsContext *make_scaler(const struct frame *from, const struct mixture_part *of, const struct frame *to,
                                      const struct mixture_part *at) {
  struct SwsContext *scaler = sws_alloc_context();
  const struct {
    const char *name;
    int value;
  } options[] = {{"srcw", of->width},
                 {"srch", of->height},
                 {"src_format", convert_to_ffmpeg(from->format)},
                 {"src_range", from->range == RANGE_FULL},
                 {"dstw", at->width},
                 {"dsth", at->height},
                 {"dst_format", convert_to_ffmpeg(to->format)},
                 {"dst_range", to->range == RANGE_FULL},
                 {"sws_flags", SWS_BILINEAR}};
  for (size_t i = 0; scaler && i < sizeof options / sizeof *options; i++)
    av_opt_set_int(scaler, options[i].name, options[i].value, 0);
  if (scaler && sws_init_context(scaler, NULL, NULL) < 0) {
    sws_freeContext(scaler);
    return NULL;
  }
  return scaler;
}

static int open_scaler(struct dissolve *dissolve, const struct frame *from, const struct mixture_part *of,
                       const struct frame *to, const struct mixture_part *at, struct error *err) {
  int key[SCALER_KEY] = {of->width, of->height, (int)from->format, (int)from->range, (int)from->matrix,
                         at->width, at->height, (int)to->format,   (int)to->range,   (int)to->matrix};
  if (!dissolve->scaler || memcmp(key, dissolve->scaler_key, sizeof key)) {
    sws_freeContext(dissolve->scaler);
    dissolve->scaler = make_scaler(from, of, to, at);
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
  struct mixture_part of, at;
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

/* Makes dissolve->converted from the frame `from`, unless it was made from that frame for this layout before. */
static int prepare(struct dissolve *dissolve, const struct frame *from, const struct frame *to, double shape,
                   struct error *err) {
  bool known = dissolve->from.plane[0] == from->plane[0] && dissolve->from.serial == from->serial &&
               has_layout(&dissolve->converted, to);
  return known || (frame_wait(from, MEMORY_HOST, err) == 0 && convert(dissolve, from, to, shape, err) == 0) ? 0 : -1;
}

/* Makes *out a frame with the pixels of `mixed` and the other fields of `to`. */
static void describe(const struct frame *mixed, const struct frame *to, struct frame *out) {
  *out = *to;
  memcpy(out->plane, mixed->plane, sizeof out->plane);
  memcpy(out->pitch, mixed->pitch, sizeof out->pitch);
  out->picture = mixed->picture;
}

static int mix_here(struct dissolve *dissolve, const struct frame *from, const struct frame *to, double shape,
                    float share, struct frame *out, struct error *err) {
  struct frame mixed;
  bool same = has_layout(from, to);
  if (frame_wait(to, MEMORY_HOST, err) < 0 ||
      (same ? frame_wait(from, MEMORY_HOST, err) : prepare(dissolve, from, to, shape, err)) < 0 ||
      host_pictures_take(&dissolve->mixed, to->format, to->width, to->height, &mixed, err))
    return -1;
  describe(&mixed, to, out);
  mix(out, same ? from : &dissolve->converted, to, share);
  return 0;
}

/* --- mixtures in the GPU's memory --- */

/* True if the GPU has the frame's pixels, in a format in which it can mix them. */
static bool is_there(const struct dissolve *dissolve, const struct frame *frame) {
  return dissolve->gpu.impl && frame_on_gpu(frame, &dissolve->gpu.id) && mixture_takes(frame->format);
}

/* Returns the frame with the addresses of its planes in the GPU's memory, if it has such memory. */
static struct frame as_seen_there(const struct dissolve *dissolve, const struct frame *frame) {
  struct frame seen = *frame;
  for (int i = 0; is_there(dissolve, frame) && i < 2; i++)
    seen.plane[i] = frame->picture->device_plane[i];
  return seen;
}

static void *fence_of(const struct frame *frame) {
  return frame->picture->memory & MEMORY_DEVICE ? frame->picture->fence : NULL;
}

/* Lets the GPU mix the frames. `to` is in its memory; `from` is there, or in page-locked memory and as large as `to`.
 * Returns 1; 0: too many mixtures are held; or -1 with err. */
static int let_mix(struct dissolve *dissolve, const struct frame *from, const struct frame *to, double shape,
                   float share, struct frame *out, struct error *err) {
  const struct gpu *gpu = &dissolve->gpu;
  struct frame mixed = *to, one = as_seen_there(dissolve, from), other = as_seen_there(dissolve, to);
  struct mixture mixture;
  struct mixture_part of, at;
  struct gpu_share *memory;
  int got = surfaces_take(&dissolve->mixed_there, gpu, &mixed, &memory, err);
  if (got != 1)
    return got;
  find_parts(from, to, shape, &of, &at);
  mixture_set_up(&mixture, &one, &of, &other, &at, share);
  const struct gpu_mixing mixing = {
      &mixture,
      {fence_of(from), fence_of(to)},
      (size_t)((const uint8_t *)mixed.picture->device_plane[1] - (const uint8_t *)mixed.picture->device_plane[0])};
  if (gpu->impl->mix(gpu, memory, &mixing, err)) {
    frame_release(&mixed);
    return -1;
  }
  describe(&mixed, to, out);
  return 1;
}

/* Mixes two frames in the GPU's memory, if `to` is there. A frame `from` that is not there is converted to the layout
 * of `to` in page-locked memory, from which the GPU reads it. Returns true if that was possible. */
static bool mix_there(struct dissolve *dissolve, const struct frame *from, const struct frame *to, double shape,
                      float share, struct frame *out) {
  if (!is_there(dissolve, to))
    return false;
  if (is_there(dissolve, from))
    return let_mix(dissolve, from, to, shape, share, out, NULL) == 1;
  return prepare(dissolve, from, to, shape, NULL) == 0 && frame_pinned(&dissolve->converted) &&
         let_mix(dissolve, &dissolve->converted, to, shape, share, out, NULL) == 1;
}

int dissolve_mix(struct dissolve *dissolve, const struct frame *from, const struct frame *to, double shape, float share,
                 struct frame *out, struct error *err) {
  return mix_there(dissolve, from, to, shape, share, out) ? 0 : mix_here(dissolve, from, to, shape, share, out, err);
}

void dissolve_init(struct dissolve *dissolve, const struct gpu *gpu) {
  *dissolve = (struct dissolve){.gpu = *gpu, .mixed.gpu = *gpu, .placed.gpu = *gpu};
}

void dissolve_forget(struct dissolve *dissolve) {
  frame_release(&dissolve->from);
  frame_release(&dissolve->converted);
}

void dissolve_free(struct dissolve *dissolve) {
  dissolve_forget(dissolve);
  host_pictures_free(&dissolve->mixed);
  host_pictures_free(&dissolve->placed);
  surfaces_free(&dissolve->mixed_there);
  sws_freeContext(dissolve->scaler);
  dissolve->scaler = NULL;
}
