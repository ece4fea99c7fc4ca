#include "app/source/convert.h"

#include <stdlib.h>
#include <string.h>

#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>

#include "app/source/ffmpeg_util.h"
#include "app/source/frame_memory.h"

/* An element of a display matrix counts as 0 if it is at least this many times smaller than the other one in its
 * row. */
enum { MATRIX_ROUNDING = 256 };

/* FFmpeg's pixel formats that the engine reads as they are, and the engine's format for each. Where two have the same
 * engine's format, convert_to_ffmpeg returns the first. */
static const struct {
  enum AVPixelFormat from;
  enum pixel_format to;
} readable[] = {
    {AV_PIX_FMT_NV12, PIXEL_NV12},        {AV_PIX_FMT_P010LE, PIXEL_P010},  {AV_PIX_FMT_YUV420P, PIXEL_YUV420P},
    {AV_PIX_FMT_YUVJ420P, PIXEL_YUV420P}, {AV_PIX_FMT_YUYV422, PIXEL_YUYV}, {AV_PIX_FMT_BGRA, PIXEL_BGRA},
    {AV_PIX_FMT_BGR0, PIXEL_BGRA},        {AV_PIX_FMT_RGBA, PIXEL_RGBA},    {AV_PIX_FMT_RGB0, PIXEL_RGBA},
};

static bool find_direct(enum AVPixelFormat from, enum pixel_format *to) {
  for (size_t i = 0; i < sizeof readable / sizeof *readable; i++)
    if (readable[i].from == from) {
      *to = readable[i].to;
      return true;
    }
  return false;
}

enum AVPixelFormat convert_to_ffmpeg(enum pixel_format format) {
  size_t i = 0;
  while (readable[i].to != format)
    i++;
  return readable[i].from;
}

const int *convert_matrix(enum color_matrix matrix) {
  static const int spaces[] = {
      [MATRIX_BT601] = SWS_CS_ITU601, [MATRIX_BT709] = SWS_CS_ITU709, [MATRIX_BT2020] = SWS_CS_BT2020};
  return sws_getCoefficients(spaces[matrix]);
}

/* Chooses the engine's pixel format for a format that it does not read, and stores FFmpeg's name for it in *to. RGB,
 * palettes, and formats whose alpha is kept become RGBA. YUV of more than 8 bits becomes P010, except at odd sizes,
 * where swscale does not write the last chroma samples of P010. All else becomes YUV420P. */
static enum pixel_format substitute(const AVPixFmtDescriptor *from, bool alpha, int width, int height,
                                    enum AVPixelFormat *to) {
  if (alpha || from->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL)) {
    *to = AV_PIX_FMT_RGBA;
    return PIXEL_RGBA;
  }
  if (from->nb_components >= 3 && from->comp[0].depth > 8 && width % 2 == 0 && height % 2 == 0) {
    *to = AV_PIX_FMT_P010LE;
    return PIXEL_P010;
  }
  *to = AV_PIX_FMT_YUV420P;
  return PIXEL_YUV420P;
}

/* Returns the YUV matrix of a frame. Small pictures without a stated matrix count as BT.601, HD pictures as BT.709, as
 * players assume. */
static enum color_matrix find_matrix(const AVFrame *in) {
  switch (in->colorspace) {
  case AVCOL_SPC_BT709:
  case AVCOL_SPC_SMPTE240M:
    return MATRIX_BT709;
  case AVCOL_SPC_BT2020_NCL:
  case AVCOL_SPC_BT2020_CL:
    return MATRIX_BT2020;
  case AVCOL_SPC_FCC:
  case AVCOL_SPC_BT470BG:
  case AVCOL_SPC_SMPTE170M:
    return MATRIX_BT601;
  default:
    if (in->color_primaries == AVCOL_PRI_BT2020)
      return MATRIX_BT2020;
    return in->height >= 720 || in->width >= 1280 ? MATRIX_BT709 : MATRIX_BT601;
  }
}

/* Returns the range of a frame, full or limited. A grey frame that does not state its range has full range, as in the
 * rest of FFmpeg. */
static enum color_range find_range(const AVFrame *in, const AVPixFmtDescriptor *format) {
  if (in->color_range == AVCOL_RANGE_JPEG)
    return RANGE_FULL;
  if (in->color_range == AVCOL_RANGE_MPEG)
    return RANGE_LIMITED;
  bool full = !strncmp(format->name, "yuvj", 4) || format->nb_components < 3;
  return full ? RANGE_FULL : RANGE_LIMITED;
}

static bool planes_usable(const AVFrame *in, enum pixel_format format) {
  for (int i = 0; i < frame_planes(format); i++)
    if (!in->data[i] || in->linesize[i] < frame_row_bytes(format, i, in->width) ||
        in->linesize[i] % frame_row_bytes(format, i, 1))
      return false;
  return true;
}

static int make_scaler(struct convert *convert, const AVFrame *in, enum AVPixelFormat to, const struct frame *frame,
                       struct error *err) {
  const int key[6] = {in->width, in->height, in->format, to, frame->matrix, frame->range};
  if (convert->scaler && !memcmp(key, convert->scaler_key, sizeof key))
    return 0;
  sws_freeContext(convert->scaler);
  convert->scaler = sws_getContext(in->width, in->height, in->format, in->width, in->height, to,
                                   SWS_BILINEAR | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INP, NULL, NULL, NULL);
  if (!convert->scaler)
    return error_set(err, STATUS_INPUT, "pixel format %s cannot be converted", av_get_pix_fmt_name(in->format));
  memcpy(convert->scaler_key, key, sizeof key);
  const int *table = convert_matrix(frame->matrix);
  int full = frame->range == RANGE_FULL;
  sws_setColorspaceDetails(convert->scaler, table, full, table, full, 0, 1 << 16, 1 << 16);
  return 0;
}

/* Converts `in` to the format `to` with swscale. frame has the matrix and range to use; it gets the new picture, its
 * format and its size. Returns 0, or -1 with err. */
static int scale(struct convert *convert, const AVFrame *in, enum AVPixelFormat to, enum pixel_format format,
                 struct frame *frame, struct error *err) {
  struct frame scaled;
  if (make_scaler(convert, in, to, frame, err) ||
      host_pictures_take(&convert->scaled, format, in->width, in->height, &scaled, err))
    return -1;
  uint8_t *planes[4] = {frame_plane(&scaled, 0), frame_plane(&scaled, 1), frame_plane(&scaled, 2)};
  const int pitches[4] = {scaled.pitch[0], scaled.pitch[1], scaled.pitch[2]};
  sws_scale(convert->scaler, (const uint8_t *const *)in->data, in->linesize, 0, in->height, planes, pitches);
  scaled.matrix = frame->matrix;
  scaled.range = frame->range;
  *frame = scaled;
  return 0;
}

static int make_deep(struct convert *convert, const AVFrame *in, struct error *err) {
  AVFrame *deep = convert->deep;
  if (deep && deep->width == in->width && deep->height == in->height)
    return 0;
  av_frame_free(&convert->deep);
  if ((deep = convert->deep = av_frame_alloc())) {
    deep->format = AV_PIX_FMT_RGBA64;
    deep->width = in->width;
    deep->height = in->height;
    if (av_frame_get_buffer(deep, 0) >= 0)
      return 0;
  }
  av_frame_free(&convert->deep);
  return error_set(err, STATUS_FAILED, "no memory to convert the colours of a %dx%d picture", in->width, in->height);
}

/* Converts a picture whose primaries are wider than BT.709's to RGBA with BT.709's primaries. Returns 0, or -1 with
 * err. */
static int narrow(struct convert *convert, const AVFrame *in, struct frame *frame, struct error *err) {
  struct frame narrowed;
  if (make_deep(convert, in, err) || make_scaler(convert, in, AV_PIX_FMT_RGBA64, frame, err) ||
      host_pictures_take(&convert->scaled, PIXEL_RGBA, in->width, in->height, &narrowed, err))
    return -1;
  AVFrame *deep = convert->deep;
  sws_scale(convert->scaler, (const uint8_t *const *)in->data, in->linesize, 0, in->height, deep->data, deep->linesize);
  gamut_prepare(&convert->gamut, in->color_primaries, in->color_trc);
  for (int y = 0; y < in->height; y++)
    gamut_convert_row(&convert->gamut,
                      (const uint16_t *)(const void *)(deep->data[0] + (ptrdiff_t)y * deep->linesize[0]),
                      frame_plane(&narrowed, 0) + (ptrdiff_t)y * narrowed.pitch[0], in->width);
  *frame = narrowed;
  return 0;
}

/* Returns the index, 0 or 1, of the larger number in a row of the display matrix; -1 if the other number is too large
 * to count as 0 (MATRIX_ROUNDING). (Some programs write a scaled matrix with rounded numbers.) */
static int find_unit(const int32_t row[2]) {
  int64_t size[2] = {llabs((int64_t)row[0]), llabs((int64_t)row[1])};
  int larger = size[1] > size[0];
  return size[!larger] * MATRIX_ROUNDING <= size[larger] && size[larger] > 0 ? larger : -1;
}

static int sign_of(int32_t value) {
  return value < 0 ? -1 : 1;
}

bool convert_orient(struct convert *convert, const int32_t matrix[9]) {
  const int32_t x[2] = {matrix[0], matrix[3]}, y[2] = {matrix[1], matrix[4]};
  int unit_x = find_unit(x), unit_y = find_unit(y);
  if (unit_x < 0 || unit_y < 0 || unit_x == unit_y)
    return false;
  convert->xx = unit_x ? 0 : sign_of(x[0]);
  convert->xy = unit_x ? sign_of(x[1]) : 0;
  convert->yx = unit_y ? 0 : sign_of(y[0]);
  convert->yy = unit_y ? sign_of(y[1]) : 0;
  return true;
}

bool convert_swaps_sides(const struct convert *convert) {
  return convert->xy != 0;
}

bool convert_turns(const struct convert *convert) {
  return convert->xy || convert->xx < 0 || convert->yy < 0;
}

/* Fills a row of the rotated or mirrored plane. step_x: distance in bytes between two of the stored pixels that become
 * neighbours in the row. type: an integer of a pixel's size. */
#define TURN_ROW(type)                                                                                                 \
  for (int x = 0; x < w; x++)                                                                                          \
  ((type *)(void *)row)[x] = *(const type *)(const void *)(source + x * step_x)

/* Rotates or mirrors a plane by convert's orientation. unit: bytes of a pixel, 1, 2 or 4. from_w, from_h: the stored
 * plane's size in pixels. Pitches are in bytes. */
static void turn_plane(const struct convert *convert, int unit, const uint8_t *from, int from_pitch, int from_w,
                       int from_h, uint8_t *to, int to_pitch) {
  bool swap = convert_swaps_sides(convert);
  int w = swap ? from_h : from_w, h = swap ? from_w : from_h;
  ptrdiff_t step_x = swap ? (ptrdiff_t)convert->xy * from_pitch : convert->xx * unit;
  ptrdiff_t step_y = swap ? convert->yx * unit : (ptrdiff_t)convert->yy * from_pitch;
  bool from_right = (swap ? convert->yx : convert->xx) < 0, from_bottom = (swap ? convert->xy : convert->yy) < 0;
  const uint8_t *origin =
      from + (ptrdiff_t)(from_right ? from_w - 1 : 0) * unit + (ptrdiff_t)(from_bottom ? from_h - 1 : 0) * from_pitch;
  for (int y = 0; y < h; y++) {
    const uint8_t *source = origin + y * step_y;
    uint8_t *row = to + (ptrdiff_t)y * to_pitch;
    if (unit == 1)
      TURN_ROW(uint8_t);
    else if (unit == 2)
      TURN_ROW(uint16_t);
    else
      TURN_ROW(uint32_t);
  }
}

/* True if pictures of this format can be rotated and mirrored. YUYV cannot, because two of its pixels share bytes. */
static bool can_be_turned(enum pixel_format format) {
  return format != PIXEL_YUYV;
}

/* Replaces the frame's picture by one that is rotated or mirrored by convert's orientation. Returns 0, or -1 with
 * err. */
static int turn(struct convert *convert, struct frame *frame, struct error *err) {
  bool swap = convert_swaps_sides(convert);
  struct frame turned;
  if (host_pictures_take(&convert->turned, frame->format, swap ? frame->height : frame->width,
                         swap ? frame->width : frame->height, &turned, err))
    return -1;
  for (int i = 0; i < frame_planes(frame->format); i++) {
    int unit = frame_row_bytes(frame->format, i, 1);
    turn_plane(convert, unit, frame->plane[i], frame->pitch[i], frame_row_bytes(frame->format, i, frame->width) / unit,
               frame_rows(frame->format, i, frame->height), frame_plane(&turned, i), turned.pitch[i]);
  }
  turned.matrix = frame->matrix;
  turned.range = frame->range;
  turned.sample_aspect = swap && frame->sample_aspect > 0 ? 1 / frame->sample_aspect : frame->sample_aspect;
  frame_release(frame);
  *frame = turned;
  return 0;
}

/* --- pictures (unet/base/picture.h) that use the planes of an AVFrame --- */

struct decoded_picture {
  struct picture base;
  AVFrame *frame;
};

static int decoded_make(void *opaque, struct picture *picture, struct error *err) {
  AVFrame *frame = ((struct decoded_picture *)picture)->frame = av_frame_alloc();
  (void)opaque;
  return frame ? 0 : error_set(err, STATUS_FAILED, "no memory for a decoded frame");
}

static void decoded_recycle(struct picture *picture) {
  av_frame_unref(((struct decoded_picture *)picture)->frame);
}

static void decoded_destroy(struct picture *picture) {
  av_frame_free(&((struct decoded_picture *)picture)->frame);
}

static const struct picture_owner decoded_owner = {.bytes = sizeof(struct decoded_picture),
                                                   .make = decoded_make,
                                                   .recycle = decoded_recycle,
                                                   .destroy = decoded_destroy};

/* Sets frame->picture to a new picture (memory with a reference count) that keeps the planes of `in` alive: it takes
 * over the reference that `in` holds. frame has the planes of `in` already. Returns 0, or -1 with err. */
static int keep(struct convert *convert, AVFrame *in, struct frame *frame, struct error *err) {
  struct frame kept;
  if ((!convert->decoded && picture_pool_open(&convert->decoded, &decoded_owner, NULL, 0, 0, err)) ||
      picture_pool_take(convert->decoded, &kept, err) != 1)
    return -1;
  kept.picture->memory = MEMORY_HOST | (frame_memory_holds(in) ? MEMORY_PINNED : 0);
  av_frame_move_ref(((struct decoded_picture *)kept.picture)->frame, in);
  frame->picture = kept.picture;
  return 0;
}

/* True if a frame must be copied: its planes are a driver's buffers (convert.copies), or a GPU reads it but it is not
 * in page-locked memory, because no decoder wrote it (screens, raw video). The reading thread copies it, so that the
 * engine's thread loses no time. */
static bool is_to_be_copied(const struct convert *convert, const AVFrame *in) {
  return convert->copies || (convert->gpu.impl && !convert->unlocked && !frame_memory_holds(in));
}

static int copy(struct convert *convert, struct frame *frame, struct error *err) {
  if (host_pictures_copy(&convert->scaled, frame, frame, err))
    return -1;
  convert->unlocked = !(frame->picture->memory & MEMORY_PINNED);
  return 0;
}

/* --- converting a whole frame --- */

/* Returns 0 if the format has alpha, else -1 with err. */
static int check_alpha(const AVPixFmtDescriptor *format, struct error *err) {
  if (format->flags & AV_PIX_FMT_FLAG_ALPHA)
    return 0;
  return error_set(err, STATUS_INPUT, "--mask alpha: the input's pixels, %s, have no alpha", format->name);
}

/* Fills `frame` with the planes, pitches and size of `in`, as they are before the picture is rotated or mirrored.
 * `frame` holds no reference to the planes. */
static void borrow(struct frame *frame, const AVFrame *in, enum pixel_format format) {
  frame->format = format;
  frame->width = in->width;
  frame->height = in->height;
  for (int i = 0; i < frame_planes(format); i++) {
    frame->plane[i] = in->data[i];
    frame->pitch[i] = in->linesize[i];
  }
}

/* Converts a frame that is a hardware decoder's surface. Returns 1 if frame got a picture that refers to the surface; 0
 * if the surface could not be used and was copied, so that `in` is now a frame in the host's memory; or -1 with err. */
static int take_surface(struct convert *convert, AVFrame *in, struct frame *frame, struct error *err) {
  enum pixel_format format;
  bool wide = gamut_is_wide(in->color_primaries, in->color_trc);
  if (surfaces_readable(in, &format) && convert->gpu.impl && !convert->to_host && !convert->alpha && !wide &&
      !convert_turns(convert)) {
    *frame = (struct frame){.format = format,
                            .width = in->width,
                            .height = in->height,
                            .matrix = find_matrix(in),
                            .range = in->color_range == AVCOL_RANGE_JPEG ? RANGE_FULL : RANGE_LIMITED};
    int kept = surfaces_keep(&convert->surfaces, &convert->gpu, in, frame, err);
    if (kept)
      return kept;
  }
  return surfaces_bring_down(&convert->surfaces, &convert->gpu, in, err);
}

static int convert_host(struct convert *convert, AVFrame *in, struct frame *frame, struct error *err) {
  const AVPixFmtDescriptor *description = av_pix_fmt_desc_get(in->format);
  if (!description || description->flags & AV_PIX_FMT_FLAG_HWACCEL)
    return error_set(err, STATUS_INPUT, "frames come in a pixel format that cannot be read here");
  if (convert->alpha && check_alpha(description, err))
    return -1;
  *frame = (struct frame){.matrix = find_matrix(in), .range = find_range(in, description)};
  bool turned = convert_turns(convert);
  enum AVPixelFormat to = AV_PIX_FMT_YUV420P;
  enum pixel_format format = PIXEL_YUV420P;
  bool wide = gamut_is_wide(in->color_primaries, in->color_trc);
  bool direct =
      !wide && find_direct(in->format, &format) && (!turned || can_be_turned(format)) && planes_usable(in, format);
  if (direct) {
    borrow(frame, in, format);
  } else if (wide) {
    if (narrow(convert, in, frame, err))
      return -1;
  } else {
    bool alpha = convert->alpha || (convert->keeps_alpha && description->flags & AV_PIX_FMT_FLAG_ALPHA);
    format = substitute(description, alpha, in->width, in->height, &to);
    if (scale(convert, in, to, format, frame, err))
      return -1;
  }
  int failed = 0;
  frame->sample_aspect = convert->aspect;
  if (turned)
    failed = turn(convert, frame, err);
  else if (direct)
    failed = is_to_be_copied(convert, in) ? copy(convert, frame, err) : keep(convert, in, frame, err);
  if (failed)
    frame_release(frame);
  return failed;
}

/* Converts a frame of HDR to SDR. *aspect: pixel aspect ratio (width divided by height) of the new picture, if the
 * frame's was 1; it differs slightly from 1 if the new size was rounded. Returns 0, or -1 with err. */
static int map_tones(struct convert *convert, AVFrame *in, float *aspect, struct error *err) {
  char reason[128];
  int width = in->width, height = in->height;
  if (surfaces_is_one(in) && surfaces_bring_down(&convert->surfaces, &convert->gpu, in, err))
    return -1;
  int code = tone_map_frame(convert->tone_map, in);
  if (code < 0)
    return error_set(err, STATUS_INPUT, "HDR cannot be mapped to SDR: %s; --tone-map no takes it as it is",
                     ffmpeg_reason(code, reason));
  *aspect = (float)((double)width * in->height / ((double)height * in->width));
  return 0;
}

int convert_frame(struct convert *convert, AVFrame *in, struct frame *frame, struct error *err) {
  convert->scaled.gpu = convert->turned.gpu = convert->gpu;
  convert->aspect = 0;
  if (convert->tone_map && tone_map_is_hdr(in->color_trc) && map_tones(convert, in, &convert->aspect, err))
    return -1;
  int taken = surfaces_is_one(in) ? take_surface(convert, in, frame, err) : 0;
  return taken ? taken == 1 ? 0 : -1 : convert_host(convert, in, frame, err);
}

void convert_free(struct convert *convert) {
  surfaces_free(&convert->surfaces);
  tone_map_close(&convert->tone_map);
  sws_freeContext(convert->scaler);
  av_frame_free(&convert->deep);
  picture_pool_close(&convert->decoded);
  host_pictures_free(&convert->scaled);
  host_pictures_free(&convert->turned);
  *convert = (struct convert){0};
}
