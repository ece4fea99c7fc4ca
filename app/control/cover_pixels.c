#include "app/control/cover_pixels.h"

#include <math.h>
#include <string.h>

#include <libswscale/swscale.h>

#include "app/source/convert.h"

struct covered covered_hold(const struct covered *covered) {
  struct covered own = *covered;
  own.picture = frame_hold(&covered->picture);
  own.held = frame_hold(&covered->held);
  own.source = frame_hold(&covered->source);
  return own;
}

void covered_release(struct covered *covered) {
  frame_release(&covered->picture);
  frame_release(&covered->held);
  frame_release(&covered->source);
}

void cover_pixels_free(struct cover_pixels *cover_pixels) {
  host_pictures_free(&cover_pixels->mixed);
  host_pictures_free(&cover_pixels->scaled);
  sws_freeContext(cover_pixels->scaler);
  cover_pixels->scaler = NULL;
}

/* Returns FFmpeg's pixel format of the source. Its alpha is not shown. */
static enum AVPixelFormat ffmpeg_format(enum pixel_format format) {
  return format == PIXEL_BGRA ? AV_PIX_FMT_BGR0 : format == PIXEL_RGBA ? AV_PIX_FMT_RGB0 : convert_to_ffmpeg(format);
}

/* Returns the YUV matrix for sws_setColorspaceDetails. FFmpeg converts between RGB formats by way of YUV; both
 * conversions must use the same matrix, or the colours would change. */
static const int *matrix_of(const struct frame *frame) {
  bool rgb = frame->format == PIXEL_BGRA || frame->format == PIXEL_RGBA;
  return convert_matrix(rgb ? MATRIX_BT709 : frame->matrix);
}

/* Computes the size in pixels to which the source is scaled. Crop: the source covers the whole picture, and parts of it
 * are cut off; letterbox: the source lies inside the picture with borders; stretch: the source has exactly the
 * picture's size. */
static void scaled_size(const struct frame *source, const struct frame *picture, enum fit_kind fit, int *width,
                        int *height) {
  double shape = frame_aspect(source), wide = picture->height * shape, high = picture->width / shape;
  bool by_width = fit == FIT_AS_CROP ? high >= picture->height : high <= picture->height;
  *width = fit == FIT_AS_STRETCH || by_width ? picture->width : (int)lrint(fmax(wide, 1));
  *height = fit == FIT_AS_STRETCH || !by_width ? picture->height : (int)lrint(fmax(high, 1));
  if (fit == FIT_AS_STRETCH)
    *width = picture->width;
}

static int scale(struct cover_pixels *cover_pixels, const struct covered *covered, struct frame *out,
                 struct error *err) {
  const struct frame *from = &covered->source;
  int width, height;
  scaled_size(from, &covered->picture, covered->fit, &width, &height);
  cover_pixels->scaler =
      sws_getCachedContext(cover_pixels->scaler, from->width, from->height, ffmpeg_format(from->format), width, height,
                           AV_PIX_FMT_RGBA, SWS_BILINEAR | SWS_FULL_CHR_H_INT, NULL, NULL, NULL);
  if (!cover_pixels->scaler)
    return error_set(err, STATUS_FAILED, "no memory to show the source");
  sws_setColorspaceDetails(cover_pixels->scaler, matrix_of(from), from->range == RANGE_FULL,
                           convert_matrix(MATRIX_BT709), 1, 0, 1 << 16, 1 << 16);
  if (frame_wait(from, MEMORY_HOST, err) < 0 ||
      host_pictures_take(&cover_pixels->scaled, PIXEL_RGBA, width, height, out, err))
    return -1;
  uint8_t *to[4] = {frame_plane(out, 0)};
  sws_scale(cover_pixels->scaler, from->plane, from->pitch, 0, from->height, to, out->pitch);
  return 0;
}

/* Mixes into a row of `width` pixels the row `over`, which has over_width pixels and is centred on it. share: weight of
 * `over`, from 0 to 1. over NULL: black. */
static void mix_row(uint8_t *row, int width, const uint8_t *over, int over_width, float share) {
  int begin = (width - over_width) / 2;
  for (int x = 0; x < width; x++) {
    int at = x - begin;
    bool inside = over && at >= 0 && at < over_width;
    for (int i = 0; i < 3; i++) {
      float other = inside ? over[4 * at + i] : 0;
      row[4 * x + i] = (uint8_t)lrintf((float)row[4 * x + i] * (1 - share) + other * share);
    }
  }
}

static void mix(struct frame *out, const struct frame *over, float share) {
  int begin = over ? (out->height - over->height) / 2 : 0;
  for (int y = 0; share > 0 && y < out->height; y++) {
    int at = y - begin;
    const uint8_t *row = over && at >= 0 && at < over->height ? over->plane[0] + (ptrdiff_t)at * over->pitch[0] : NULL;
    mix_row(frame_plane(out, 0) + (ptrdiff_t)y * out->pitch[0], out->width, row, over ? over->width : 0, share);
  }
}

static int cover(struct cover_pixels *cover_pixels, const struct covered *covered, struct frame *out,
                 struct error *err) {
  const struct cover_levels *levels = &covered->cover;
  if (levels->held > 0 && covered->held.plane[0]) {
    if (frame_wait(&covered->held, MEMORY_HOST, err) < 0)
      return -1;
    mix(out, &covered->held, levels->held);
  }
  if (levels->bypass > 0 && covered->source.plane[0]) {
    struct frame scaled;
    if (scale(cover_pixels, covered, &scaled, err))
      return -1;
    mix(out, &scaled, levels->bypass);
    frame_release(&scaled);
  }
  mix(out, NULL, levels->blackout);
  return 0;
}

int cover_pixels_apply(struct cover_pixels *cover_pixels, const struct covered *covered, struct frame *out,
                       struct error *err) {
  const struct cover_levels *levels = &covered->cover;
  const struct frame *picture = &covered->picture;
  if (levels->held <= 0 && levels->bypass <= 0 && levels->blackout <= 0) {
    *out = frame_hold(picture);
    return 0;
  }
  if (frame_wait(picture, MEMORY_HOST, err) < 0 || host_pictures_copy(&cover_pixels->mixed, picture, out, err))
    return -1;
  if (!cover(cover_pixels, covered, out, err))
    return 0;
  frame_release(out);
  return -1;
}
