#include "app/sink/alpha.h"

#include <stdlib.h>

#include <libavutil/error.h>
#include <libavutil/frame.h>
#include <libswscale/swscale.h>

#include "app/sink/held.h"
#include "unet/base/picture.h"

struct alpha {
  struct held held;
  /* The following fields are used by the sink's thread alone. */
  struct SwsContext *scaler;
  /* The picture shows a part of the frame. plain: the alpha of this part, unscaled; fitted: the same alpha, scaled
   * to the size that the part has in the picture. */
  AVFrame *plain, *fitted;
};

int alpha_open(struct alpha **out, enum fit fit, double shape, struct error *err) {
  struct alpha *alpha = *out = calloc(1, sizeof *alpha);
  if (!alpha)
    return error_set(err, STATUS_FAILED, "no memory for the input's alpha");
  held_open(&alpha->held, fit, shape);
  return 0;
}

void alpha_put(struct alpha *alpha, const struct frame *frame) {
  if (!alpha || !frame || (frame->format != PIXEL_RGBA && frame->format != PIXEL_BGRA))
    return;
  held_put(&alpha->held, frame);
}

/* Makes *frame an AVFrame in the format GRAY8 with this size, unless it is one already. Returns 0 or an FFmpeg error
 * code. */
static int make_gray(AVFrame **frame, int width, int height) {
  if (*frame && (*frame)->width == width && (*frame)->height == height)
    return 0;
  av_frame_free(frame);
  if (!(*frame = av_frame_alloc()))
    return AVERROR(ENOMEM);
  (*frame)->format = AV_PIX_FMT_GRAY8;
  (*frame)->width = width;
  (*frame)->height = height;
  int code = av_frame_get_buffer(*frame, 0);
  if (code < 0)
    av_frame_free(frame);
  return code;
}

/* Fills alpha->fitted with the alpha of the frame's visible region, scaled to its size in the picture. Returns 0 or an
 * FFmpeg error code. */
static int scale(struct alpha *alpha, const struct frame *frame, const struct held_place *place) {
  int code = make_gray(&alpha->plain, place->from_w, place->from_h);
  if (code >= 0)
    code = make_gray(&alpha->fitted, place->to_w, place->to_h);
  if (code < 0)
    return code;
  for (int y = 0; y < place->from_h; y++) {
    const uint8_t *from = frame->plane[0] + (ptrdiff_t)(place->from_y + y) * frame->pitch[0] + 4 * place->from_x + 3;
    uint8_t *to = alpha->plain->data[0] + (ptrdiff_t)y * alpha->plain->linesize[0];
    for (int x = 0; x < place->from_w; x++)
      to[x] = from[4 * x];
  }
  alpha->scaler = sws_getCachedContext(alpha->scaler, place->from_w, place->from_h, AV_PIX_FMT_GRAY8, place->to_w,
                                       place->to_h, AV_PIX_FMT_GRAY8, SWS_BILINEAR, NULL, NULL, NULL);
  if (!alpha->scaler)
    return AVERROR(ENOMEM);
  sws_scale(alpha->scaler, (const uint8_t *const *)alpha->plain->data, alpha->plain->linesize, 0, place->from_h,
            alpha->fitted->data, alpha->fitted->linesize);
  return 0;
}

static void fill(uint8_t *rgba, int pitch, const struct frame *picture, uint8_t value) {
  for (int y = 0; y < picture->height; y++)
    for (int x = 0; x < picture->width; x++)
      rgba[(ptrdiff_t)y * pitch + 4 * x + 3] = value;
}

int alpha_lay(struct alpha *alpha, const struct frame *picture, uint8_t *rgba, int pitch) {
  struct error err;
  struct frame frame = held_take(&alpha->held, picture->pts);
  bool there = frame.plane[0] && !frame_wait(&frame, MEMORY_HOST, &err);
  fill(rgba, pitch, picture, there ? 0 : 255);
  if (!there) {
    frame_release(&frame);
    return 0;
  }
  const struct held_place place = held_fit(&alpha->held, &frame, picture->width, picture->height);
  int code = scale(alpha, &frame, &place);
  frame_release(&frame);
  for (int y = 0; code >= 0 && y < place.to_h; y++) {
    const uint8_t *from = alpha->fitted->data[0] + (ptrdiff_t)y * alpha->fitted->linesize[0];
    uint8_t *to = rgba + (ptrdiff_t)(place.to_y + y) * pitch + 4 * place.to_x + 3;
    for (int x = 0; x < place.to_w; x++)
      to[4 * x] = from[x];
  }
  return code;
}

void alpha_close(struct alpha **out) {
  struct alpha *alpha = *out;
  *out = NULL;
  if (!alpha)
    return;
  held_close(&alpha->held);
  sws_freeContext(alpha->scaler);
  av_frame_free(&alpha->plain);
  av_frame_free(&alpha->fitted);
  free(alpha);
}
