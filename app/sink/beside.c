#include "app/sink/beside.h"

#include <stdlib.h>
#include <string.h>

#include <libavutil/imgutils.h>
#include <libswscale/swscale.h>

#include "app/sink/held.h"
#include "app/source/convert.h"
#include "unet/base/picture.h"

struct beside {
  struct held held;
};

struct beside_sink {
  struct sink sink;
  struct beside *beside;
  enum pixel_format format;
  int width, height; /* size of each half of the output's pictures, in pixels */
  struct host_pictures pictures;
  struct SwsContext *frame_scaler, *picture_scaler;
};

int beside_open(struct beside **out, enum fit fit, double shape, struct error *err) {
  struct beside *beside = *out = calloc(1, sizeof *beside);
  if (!beside)
    return error_set(err, STATUS_FAILED, "no memory for the input beside the picture");
  held_open(&beside->held, fit, shape);
  return 0;
}

void beside_put(struct beside *beside, const struct frame *frame) {
  if (beside && frame)
    held_put(&beside->held, frame);
}

void beside_close(struct beside **out) {
  struct beside *beside = *out;
  *out = NULL;
  if (!beside)
    return;
  held_close(&beside->held);
  free(beside);
}

/* --- drawing input and picture into one picture --- */

static bool is_rgb(enum pixel_format format) {
  return format == PIXEL_RGBA || format == PIXEL_BGRA;
}

/* A rectangle of a frame. Left and top are even numbers, because chroma is stored for pairs of pixels. */
struct view {
  uint8_t *plane[4];
  int pitch[4], width, height;
};

static struct view view_of(const struct frame *frame, int x, int y, int width, int height) {
  struct view view = {.width = width, .height = height};
  x &= ~1;
  y &= ~1;
  for (int i = 0; i < frame_planes(frame->format); i++) {
    size_t row = (size_t)frame_rows(frame->format, i, y), column = (size_t)frame_row_bytes(frame->format, i, x);
    view.plane[i] = (uint8_t *)(uintptr_t)frame->plane[i] + row * (size_t)frame->pitch[i] + column;
    view.pitch[i] = frame->pitch[i];
  }
  return view;
}

/* Scales the rectangle `part` of a frame into the rectangle `to` of the composed picture. Returns 0, or -1 with err. */
static int scale(struct SwsContext **scaler, const struct frame *from, const struct view *part,
                 const struct frame *composed, const struct view *to, struct error *err) {
  *scaler = sws_getCachedContext(*scaler, part->width, part->height, convert_to_ffmpeg(from->format), to->width,
                                 to->height, convert_to_ffmpeg(composed->format),
                                 SWS_LANCZOS | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT, NULL, NULL, NULL);
  if (!*scaler)
    return error_set(err, STATUS_FAILED, "no memory for the input beside the picture");
  sws_setColorspaceDetails(*scaler, convert_matrix(from->matrix), from->range == RANGE_FULL,
                           convert_matrix(MATRIX_BT709), is_rgb(composed->format), 0, 1 << 16, 1 << 16);
  sws_scale(*scaler, (const uint8_t *const *)part->plane, part->pitch, 0, part->height, to->plane, to->pitch);
  return 0;
}

static void fill_black(const struct frame *composed) {
  struct view all = view_of(composed, 0, 0, composed->width, composed->height);
  ptrdiff_t pitch[4];
  for (int i = 0; i < 4; i++)
    pitch[i] = all.pitch[i];
  av_image_fill_black(all.plane, pitch, convert_to_ffmpeg(composed->format), AVCOL_RANGE_MPEG, composed->width,
                      composed->height);
}

/* Draws the input's frame into the left half of the composed picture. Returns 0, or -1 with err. */
static int draw_frame(struct beside_sink *to, const struct frame *frame, const struct frame *composed,
                      struct error *err) {
  const struct held_place place = held_fit(&to->beside->held, frame, to->width, to->height);
  const struct view part = view_of(frame, place.from_x, place.from_y, place.from_w, place.from_h);
  const struct view half = view_of(composed, place.to_x, place.to_y, place.to_w, place.to_h);
  return scale(&to->frame_scaler, frame, &part, composed, &half, err);
}

/* Draws the engine's picture into the right half of the composed picture. Returns 0, or -1 with err. */
static int draw_picture(struct beside_sink *to, const struct frame *picture, const struct frame *composed,
                        struct error *err) {
  const struct view all = view_of(picture, 0, 0, picture->width, picture->height);
  struct view half = view_of(composed, to->width, 0, to->width, to->height);
  if (picture->width != to->width || picture->height != to->height)
    return scale(&to->picture_scaler, picture, &all, composed, &half, err);
  frame_copy_pixels(half.plane, half.pitch, picture);
  return 0;
}

static int compose(struct beside_sink *to, const struct frame *picture, struct frame *composed, struct error *err) {
  struct frame frame = held_take(&to->beside->held, picture->pts);
  const struct frame made = *composed;
  *composed = *picture;
  composed->width = made.width;
  composed->height = made.height;
  composed->picture = made.picture;
  for (int i = 0; i < 3; i++) {
    composed->plane[i] = made.plane[i];
    composed->pitch[i] = made.pitch[i];
  }
  fill_black(composed);
  int status = frame.plane[0] && (frame_wait(&frame, MEMORY_HOST, err) < 0 || draw_frame(to, &frame, composed, err));
  frame_release(&frame);
  return status || draw_picture(to, picture, composed, err) ? -1 : 0;
}

static int beside_write(struct sink *sink, const struct frame *picture, struct error *err) {
  struct beside_sink *to = (struct beside_sink *)sink;
  struct frame composed;
  if (host_pictures_take(&to->pictures, to->format, 2 * to->width, to->height, &composed, err))
    return -1;
  int status = compose(to, picture, &composed, err) || sink_write(sink->inner, &composed, err) ? -1 : 0;
  frame_release(&composed);
  return status;
}

/* --- the sink that draws input and picture side by side --- */

static void beside_close_sink(struct sink *sink) {
  struct beside_sink *to = (struct beside_sink *)sink;
  sink_close(&sink->inner);
  sws_freeContext(to->frame_scaler);
  sws_freeContext(to->picture_scaler);
  host_pictures_free(&to->pictures);
  free(to);
}

static const struct sink_impl impl = {
    .name = "beside",
    .write = beside_write,
    .close = beside_close_sink,
};

int beside_open_sink(struct sink **sink, struct beside *beside, enum pixel_format format, int width, int height,
                     struct error *err) {
  struct beside_sink *to = calloc(1, sizeof *to);
  if (!to) {
    sink_close(sink);
    return error_set(err, STATUS_FAILED, "no memory for the input beside the picture");
  }
  *to = (struct beside_sink){
      .sink = {&impl, *sink}, .beside = beside, .format = format, .width = width, .height = height};
  *sink = &to->sink;
  return 0;
}
