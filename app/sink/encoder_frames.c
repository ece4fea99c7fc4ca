#include "app/sink/encoder_impl.h"

#include <math.h>
#include <string.h>

#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>

#include "app/control/picture_size.h"
#include "app/sink/alpha.h"
#include "app/sink/palette.h"

bool encoder_is_rgb(enum AVPixelFormat format) {
  return av_pix_fmt_desc_get(format)->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL);
}

bool encoder_is_x26x(const AVCodec *codec) {
  return !strcmp(codec->name, "libx264") || !strcmp(codec->name, "libx265");
}

static enum AVPixelFormat ffmpeg_pixels(enum pixel_format format) {
  return format == PIXEL_RGBA ? AV_PIX_FMT_RGBA : format == PIXEL_P010 ? AV_PIX_FMT_P010LE : AV_PIX_FMT_YUV420P;
}

static bool takes_engine_pixels(const AVCodecContext *to, enum pixel_format from) {
  return from != PIXEL_RGBA && to->pix_fmt == ffmpeg_pixels(from) && to->colorspace == AVCOL_SPC_BT709 &&
         to->color_range == AVCOL_RANGE_MPEG;
}

/* Rounds a side of the scaled picture to an even number, which subsampled chroma needs. `most` is the same side of the
 * encoder's picture; if the two differ by less than a pixel, `most` is returned. */
static int side_of_box(double side, int most) {
  int even = 2 * (int)lrint(side / 2);
  return side > most - 1 ? most : even < 2 ? 2 : even;
}

/* Stores the size to which a frame of width x height is scaled within the encoder's picture, without distortion. It is
 * the whole picture's size if frames are stretched, or if the aspect ratios differ only by rounding; otherwise a black
 * line would come and go as the frames' size changes. */
static void box_of(const struct encoder *encoder, int width, int height, int *box_width, int *box_height) {
  const AVCodecContext *to = encoder->context;
  const struct parameter_size all = {to->width, to->height}, size = {width, height};
  if (encoder->stretched || picture_size_alike(&all, &size)) {
    *box_width = all.width;
    *box_height = all.height;
    return;
  }
  double scale = fmin((double)to->width / width, (double)to->height / height);
  *box_width = side_of_box(width * scale, to->width);
  *box_height = side_of_box(height * scale, to->height);
}

static AVFrame *make_frame(enum AVPixelFormat format, int width, int height) {
  AVFrame *frame = av_frame_alloc();
  if (!frame)
    return NULL;
  frame->format = format;
  frame->width = width;
  frame->height = height;
  if (av_frame_get_buffer(frame, 0) < 0)
    av_frame_free(&frame);
  return frame;
}

static int make_scaled(struct encoder *encoder, bool bars) {
  const AVCodecContext *to = encoder->context;
  ptrdiff_t pitch[4];
  av_frame_free(&encoder->scaled);
  encoder->scaled = make_frame(encoder->format, to->width, to->height);
  if (!encoder->scaled)
    return AVERROR(ENOMEM);
  for (int i = 0; i < 4; i++)
    pitch[i] = encoder->scaled->linesize[i];
  return bars ? av_image_fill_black(encoder->scaled->data, pitch, encoder->format, to->color_range, to->width,
                                    to->height)
              : 0;
}

/* Sets up the scaler for frames of this format and size; black bars are added if their shape is not that of the
 * encoder's picture. Returns 0 or an FFmpeg error code. */
static int set_scaler(struct encoder *encoder, enum AVPixelFormat from, int width, int height) {
  const AVCodecContext *to = encoder->context;
  int box_width, box_height;
  box_of(encoder, width, height, &box_width, &box_height);
  bool bars = box_width != to->width || box_height != to->height;
  sws_freeContext(encoder->scaler);
  av_frame_free(&encoder->fitted);
  encoder->scaler = sws_getContext(
      width, height, from, box_width, box_height, encoder->format,
      (encoder->stretched ? SWS_LANCZOS : SWS_BICUBIC) | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT, NULL, NULL, NULL);
  if (!encoder->scaler || (bars && !(encoder->fitted = make_frame(encoder->format, box_width, box_height))))
    return AVERROR(ENOMEM);
  bool bt709 = encoder_is_rgb(encoder->format) || to->colorspace == AVCOL_SPC_BT709;
  sws_setColorspaceDetails(encoder->scaler, sws_getCoefficients(SWS_CS_ITU709), 0,
                           sws_getCoefficients(bt709 ? SWS_CS_ITU709 : SWS_CS_ITU601),
                           to->color_range == AVCOL_RANGE_JPEG, 0, 1 << 16, 1 << 16);
  encoder->from_width = width;
  encoder->from_height = height;
  return make_scaled(encoder, bars);
}

int encoder_open_scaler(struct encoder *encoder, enum pixel_format from) {
  const AVCodecContext *to = encoder->context;
  encoder->borrowed = av_frame_alloc();
  encoder->indexed = av_frame_alloc();
  if (!encoder->borrowed || !encoder->indexed)
    return AVERROR(ENOMEM);
  encoder->format = to->pix_fmt == AV_PIX_FMT_PAL8 ? AV_PIX_FMT_RGB32 : to->pix_fmt;
  if (takes_engine_pixels(to, from))
    return 0;
  return set_scaler(encoder, ffmpeg_pixels(from), to->width, to->height);
}

static void end_loan(void *opaque, uint8_t *data) {
  struct lent_frame *lent = opaque;
  (void)data;
  frame_release(&lent->frame);
  atomic_store(&lent->used, false);
}

/* Makes `to` refer to the frame's picture without a copy, if the encoder only reads its pictures (libx264, libx265) and
 * an element of encoder->lent is free. (avcodec_send_frame copies frames without reference counts.) */
static void lend(struct encoder *encoder, AVFrame *to, const struct frame *frame) {
  struct lent_frame *lent = encoder->lent, *end = lent + SINK_HOLDS;
  while (lent < end && atomic_load(&lent->used))
    lent++;
  if (!encoder_is_x26x(encoder->context->codec) || !frame->picture || lent == end)
    return;
  to->buf[0] =
      av_buffer_create(to->data[0], (size_t)(frame->pitch[0] * frame->height), end_loan, lent, AV_BUFFER_FLAG_READONLY);
  if (to->buf[0]) {
    atomic_store(&lent->used, true);
    lent->frame = frame_hold(frame);
  }
}

static void borrow(AVFrame *to, const struct frame *frame) {
  for (int i = 0; i < frame_planes(frame->format); i++) {
    to->data[i] = (uint8_t *)(uintptr_t)frame->plane[i];
    to->linesize[i] = frame->pitch[i];
  }
  to->format = ffmpeg_pixels(frame->format);
  to->width = frame->width;
  to->height = frame->height;
}

/* Copies the scaled picture into the middle of the encoder's frame, between black bars. Its position is even, because
 * chroma is subsampled. */
static void lay_between_bars(struct encoder *encoder) {
  const AVFrame *fitted = encoder->fitted, *to = encoder->scaled;
  const AVPixFmtDescriptor *format = av_pix_fmt_desc_get(encoder->format);
  int x = (to->width - fitted->width) / 2 & ~1, y = (to->height - fitted->height) / 2 & ~1;
  uint8_t *data[4] = {0};
  for (int i = 0; i < format->nb_components; i++) {
    const AVComponentDescriptor *part = &format->comp[i];
    bool chroma = i == 1 || i == 2;
    data[part->plane] = to->data[part->plane] +
                        (ptrdiff_t)(y >> (chroma ? format->log2_chroma_h : 0)) * to->linesize[part->plane] +
                        (ptrdiff_t)(x >> (chroma ? format->log2_chroma_w : 0)) * part->step;
  }
  av_image_copy(data, (int *)(uintptr_t)to->linesize, (const uint8_t **)(uintptr_t)fitted->data, fitted->linesize,
                encoder->format, fitted->width, fitted->height);
}

/* Converts sRGB's codes to linear light (IEC 61966-2-1). Alpha stays. */
static void make_linear(const AVFrame *frame) {
  const AVPixFmtDescriptor *format = av_pix_fmt_desc_get(frame->format);
  int planes = format->nb_components - !!(format->flags & AV_PIX_FMT_FLAG_ALPHA);
  for (int i = 0; i < planes; i++)
    for (int y = 0; y < frame->height; y++) {
      float *row = (float *)(void *)(frame->data[i] + (ptrdiff_t)y * frame->linesize[i]);
      for (int x = 0; x < frame->width; x++)
        row[x] = row[x] <= 0.04045f ? row[x] / 12.92f : powf((row[x] + 0.055f) / 1.055f, 2.4f);
    }
}

/* Returns a copy of the RGBA picture in `sent`, with the alpha of the input frame that has the time of `frame`; owned
 * by encoder. NULL: out of memory. */
static AVFrame *blend(struct encoder *encoder, const AVFrame *sent, const struct frame *frame) {
  AVFrame *blended = encoder->blended;
  if (!blended || blended->width != sent->width || blended->height != sent->height) {
    av_frame_free(&encoder->blended);
    blended = encoder->blended = make_frame(AV_PIX_FMT_RGBA, sent->width, sent->height);
  }
  if (!blended)
    return NULL;
  av_image_copy(blended->data, blended->linesize, (const uint8_t **)(uintptr_t)sent->data, sent->linesize,
                AV_PIX_FMT_RGBA, sent->width, sent->height);
  return alpha_lay(encoder->alpha, frame, blended->data[0], blended->linesize[0]) < 0 ? NULL : blended;
}

static int convert(struct encoder *encoder, const AVFrame *from) {
  int code = 0;
  if (!encoder->scaler || encoder->from_width != from->width || encoder->from_height != from->height)
    code = set_scaler(encoder, from->format, from->width, from->height);
  if (code >= 0)
    code = av_frame_make_writable(encoder->scaled);
  if (code < 0)
    return code;
  const AVFrame *to = encoder->fitted ? encoder->fitted : encoder->scaled;
  sws_scale(encoder->scaler, (const uint8_t *const *)from->data, from->linesize, 0, from->height, to->data,
            to->linesize);
  if (encoder->fitted)
    lay_between_bars(encoder);
  if (encoder->context->color_trc == AVCOL_TRC_LINEAR)
    make_linear(encoder->scaled);
  return 0;
}

static void describe(AVFrame *frame, const AVCodecContext *context) {
  frame->color_range = context->color_range;
  frame->colorspace = context->colorspace;
  frame->color_primaries = context->color_primaries;
  frame->color_trc = context->color_trc;
  frame->chroma_location = context->chroma_sample_location;
  frame->sample_aspect_ratio = context->sample_aspect_ratio;
  frame->quality = context->global_quality;
}

/* Converts a frame to 256 colours and sends it to the encoder. frame NULL: sends the frames that the conversion still
 * holds, and ends the stream. Returns 0 or an FFmpeg error code. */
static int send_with_palette(struct encoder *encoder, AVFrame *frame) {
  AVFrame *indexed = encoder->indexed;
  int code = palette_send(encoder->palette, frame);
  if (code < 0)
    return code;
  while ((code = palette_receive(encoder->palette, indexed)) >= 0) {
    describe(indexed, encoder->context);
    int sent = avcodec_send_frame(encoder->context, indexed);
    av_frame_unref(indexed);
    if (sent < 0)
      return sent;
  }
  if (code == AVERROR_EOF && !frame)
    return avcodec_send_frame(encoder->context, NULL);
  return code == AVERROR(EAGAIN) ? 0 : code;
}

/* libx265 shifts decoding times by a value that is set only after a few pictures (more than B frames reorder, which is
 * 1 or 2). If there are fewer pictures, libx265 reads uninitialised memory. They are then decoded in the order of
 * showing, so their decoding times are set to their presentation times. */
void encoder_mend_time(const struct encoder *encoder, AVPacket *packet) {
  enum { MOST_MOVED = 2 };
  if (encoder->ended && encoder->given <= MOST_MOVED && !strcmp(encoder->context->codec->name, "libx265"))
    packet->dts = packet->pts;
}

int encoder_send(struct encoder *encoder, const struct frame *frame, int64_t pts) {
  encoder->ended = !frame;
  encoder->given += frame != NULL;
  if (!frame)
    return encoder->palette ? send_with_palette(encoder, NULL) : avcodec_send_frame(encoder->context, NULL);
  AVFrame *sent = encoder->borrowed;
  borrow(sent, frame);
  bool lent = !encoder->scaler && frame->width == encoder->context->width && frame->height == encoder->context->height;
  if (encoder->alpha && frame->format == PIXEL_RGBA && !(sent = blend(encoder, sent, frame)))
    return AVERROR(ENOMEM);
  if (!lent) {
    int code = convert(encoder, sent);
    if (code < 0)
      return code;
    sent = encoder->scaled;
  }
  sent->pts = pts;
  describe(sent, encoder->context);
  if (encoder->palette)
    return send_with_palette(encoder, sent);
  if (lent)
    lend(encoder, sent, frame);
  int code = avcodec_send_frame(encoder->context, sent);
  av_buffer_unref(&encoder->borrowed->buf[0]);
  return code;
}
