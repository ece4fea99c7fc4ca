#include "app/source/convert.h"

#include <string.h>

#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>

static bool find_direct(enum AVPixelFormat from, enum pixel_format *to) {
  static const struct {
    enum AVPixelFormat from;
    enum pixel_format to;
  } table[] = {
      {AV_PIX_FMT_NV12, PIXEL_NV12},        {AV_PIX_FMT_P010LE, PIXEL_P010},  {AV_PIX_FMT_YUV420P, PIXEL_YUV420P},
      {AV_PIX_FMT_YUVJ420P, PIXEL_YUV420P}, {AV_PIX_FMT_YUYV422, PIXEL_YUYV}, {AV_PIX_FMT_BGRA, PIXEL_BGRA},
      {AV_PIX_FMT_BGR0, PIXEL_BGRA},        {AV_PIX_FMT_RGBA, PIXEL_RGBA},    {AV_PIX_FMT_RGB0, PIXEL_RGBA},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (table[i].from == from) {
      *to = table[i].to;
      return true;
    }
  return false;
}

/* What a format that the engine does not read becomes: RGB stays RGB, deep YUV stays deep (but at odd sizes, where
 * swscale leaves P010's last chroma samples unwritten). */
static enum pixel_format substitute(const AVPixFmtDescriptor *from, int width, int height, enum AVPixelFormat *to) {
  if (from->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL)) {
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

/* Unmarked video follows the custom of players: small pictures are BT.601, HD is BT.709. */
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
    return in->height >= 720 || in->width >= 1280 ? MATRIX_BT709 : MATRIX_BT601;
  }
}

/* Unmarked grey is full range, as the rest of FFmpeg takes it. */
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
    if (!in->data[i] || in->linesize[i] < frame_row_bytes(format, i, in->width))
      return false;
  return true;
}

static int make_scaler(struct convert *convert, const AVFrame *in, enum AVPixelFormat to, const struct frame *frame,
                       struct error *err) {
  const int key[5] = {in->width, in->height, in->format, frame->matrix, frame->range};
  if (convert->scaler && !memcmp(key, convert->scaler_key, sizeof key))
    return 0;
  sws_freeContext(convert->scaler);
  convert->scaler = sws_getContext(in->width, in->height, in->format, in->width, in->height, to,
                                   SWS_BILINEAR | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INP, NULL, NULL, NULL);
  if (!convert->scaler)
    return error_set(err, STATUS_INPUT, "pixel format %s cannot be converted", av_get_pix_fmt_name(in->format));
  memcpy(convert->scaler_key, key, sizeof key);
  static const int spaces[] = {
      [MATRIX_BT601] = SWS_CS_ITU601, [MATRIX_BT709] = SWS_CS_ITU709, [MATRIX_BT2020] = SWS_CS_BT2020};
  const int *table = sws_getCoefficients(spaces[frame->matrix]);
  int full = frame->range == RANGE_FULL;
  sws_setColorspaceDetails(convert->scaler, table, full, table, full, 0, 1 << 16, 1 << 16);
  return 0;
}

static int scale(struct convert *convert, const AVFrame *in, enum AVPixelFormat to, enum pixel_format format,
                 const struct frame *frame, struct error *err) {
  if (make_scaler(convert, in, to, frame, err))
    return -1;
  if (picture_resize(&convert->scaled, format, in->width, in->height, err))
    return -1;
  uint8_t *planes[4] = {NULL};
  int pitches[4] = {0};
  for (int i = 0; i < frame_planes(format); i++) {
    planes[i] = picture_plane(&convert->scaled, i);
    pitches[i] = convert->scaled.frame.pitch[i];
  }
  sws_scale(convert->scaler, (const uint8_t *const *)in->data, in->linesize, 0, in->height, planes, pitches);
  return 0;
}

bool convert_orient(struct convert *convert, const int32_t matrix[9]) {
  int unit[4];
  static const int at[4] = {0, 3, 1, 4};
  for (int i = 0; i < 4; i++) {
    int32_t value = matrix[at[i]];
    if (value != 0 && value != 1 << 16 && value != -(1 << 16))
      return false;
    unit[i] = value / (1 << 16);
  }
  if ((unit[0] != 0) == (unit[1] != 0) || (unit[0] != 0) != (unit[3] != 0) || (unit[1] != 0) != (unit[2] != 0))
    return false;
  convert->xx = unit[0];
  convert->xy = unit[1];
  convert->yx = unit[2];
  convert->yy = unit[3];
  return true;
}

bool convert_swaps_sides(const struct convert *convert) {
  return convert->xy != 0;
}

static bool turns(const struct convert *convert) {
  return convert->xy || convert->xx < 0 || convert->yy < 0;
}

static void turn_plane(const struct convert *convert, const uint8_t *from, int from_pitch, int from_w, int from_h,
                       uint8_t *to, int to_pitch) {
  bool swap = convert_swaps_sides(convert);
  int w = swap ? from_h : from_w, h = swap ? from_w : from_h;
  ptrdiff_t step_x = swap ? (ptrdiff_t)convert->xy * from_pitch : convert->xx;
  ptrdiff_t step_y = swap ? convert->yx : (ptrdiff_t)convert->yy * from_pitch;
  bool from_right = (swap ? convert->yx : convert->xx) < 0, from_bottom = (swap ? convert->xy : convert->yy) < 0;
  const uint8_t *origin = from + (from_right ? from_w - 1 : 0) + (ptrdiff_t)(from_bottom ? from_h - 1 : 0) * from_pitch;
  for (int y = 0; y < h; y++) {
    const uint8_t *source = origin + y * step_y;
    uint8_t *row = to + (ptrdiff_t)y * to_pitch;
    for (int x = 0; x < w; x++)
      row[x] = source[x * step_x];
  }
}

static int turn(struct convert *convert, struct frame *frame, struct error *err) {
  bool swap = convert_swaps_sides(convert);
  if (picture_resize(&convert->turned, PIXEL_YUV420P, swap ? frame->height : frame->width,
                     swap ? frame->width : frame->height, err))
    return -1;
  for (int i = 0; i < 3; i++) {
    turn_plane(convert, frame->plane[i], frame->pitch[i], frame_row_bytes(PIXEL_YUV420P, i, frame->width),
               frame_rows(PIXEL_YUV420P, i, frame->height), picture_plane(&convert->turned, i),
               convert->turned.frame.pitch[i]);
    frame->plane[i] = convert->turned.frame.plane[i];
    frame->pitch[i] = convert->turned.frame.pitch[i];
  }
  frame->width = convert->turned.frame.width;
  frame->height = convert->turned.frame.height;
  return 0;
}

int convert_frame(struct convert *convert, const AVFrame *in, struct frame *frame, struct error *err) {
  const AVPixFmtDescriptor *description = av_pix_fmt_desc_get(in->format);
  if (!description || description->flags & AV_PIX_FMT_FLAG_HWACCEL)
    return error_set(err, STATUS_INPUT, "frames come in a pixel format that cannot be read here");
  frame->width = in->width;
  frame->height = in->height;
  frame->matrix = find_matrix(in);
  frame->range = find_range(in, description);
  /* Turning is written for one layout; turned video is rare enough for the detour. */
  bool turned = turns(convert);
  enum AVPixelFormat to = AV_PIX_FMT_YUV420P;
  enum pixel_format format = PIXEL_YUV420P;
  bool direct = find_direct(in->format, &format) && (!turned || format == PIXEL_YUV420P) && planes_usable(in, format);
  if (!direct) {
    format = PIXEL_YUV420P;
    if (!turned)
      format = substitute(description, in->width, in->height, &to);
    if (turned && description->flags & AV_PIX_FMT_FLAG_RGB)
      frame->range = RANGE_LIMITED;
    if (scale(convert, in, to, format, frame, err))
      return -1;
  }
  frame->format = format;
  for (int i = 0; i < 3; i++) {
    bool used = i < frame_planes(format);
    frame->plane[i] = !used ? NULL : direct ? in->data[i] : convert->scaled.frame.plane[i];
    frame->pitch[i] = !used ? 0 : direct ? in->linesize[i] : convert->scaled.frame.pitch[i];
  }
  return turned ? turn(convert, frame, err) : 0;
}

void convert_finish(struct convert *convert) {
  sws_freeContext(convert->scaler);
  picture_free(&convert->scaled);
  picture_free(&convert->turned);
  *convert = (struct convert){0};
}
