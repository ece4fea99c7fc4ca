#include "app/remote/preview.h"

#include <math.h>
#include <stdlib.h>

#include <libavcodec/avcodec.h>
#include <libswscale/swscale.h>

#include "app/source/ffmpeg_util.h"

enum { QUANTISER = 4 }; /* quantiser of FFmpeg's JPEG encoder, from 1 (the best quality) to 31 */

struct preview {
  AVCodecContext *encoder; /* encoder for JPEGs of the size of the last one; NULL: no JPEG was made yet */
  AVFrame *scaled;
  AVPacket *packet;
  struct SwsContext *scaler;
};

static int refuse(int code, struct error *err) {
  char reason[128];
  return error_set(err, STATUS_FAILED, "preview: %s", ffmpeg_reason(code, reason));
}

static int open_encoder(struct preview *preview, int width, int height, struct error *err) {
  const AVCodec *codec = avcodec_find_encoder(AV_CODEC_ID_MJPEG);
  avcodec_free_context(&preview->encoder);
  AVCodecContext *encoder = codec ? avcodec_alloc_context3(codec) : NULL;
  if (!encoder)
    return error_set(err, STATUS_FAILED, "preview: FFmpeg has no JPEG encoder here");
  encoder->width = width;
  encoder->height = height;
  encoder->pix_fmt = AV_PIX_FMT_YUVJ420P;
  encoder->color_range = AVCOL_RANGE_JPEG;
  encoder->time_base = (AVRational){1, 25};
  encoder->thread_count = 1;
  encoder->flags |= AV_CODEC_FLAG_QSCALE;
  encoder->global_quality = QUANTISER * FF_QP2LAMBDA;
  preview->encoder = encoder;
  int code = avcodec_open2(encoder, codec, NULL);
  if (code < 0)
    avcodec_free_context(&preview->encoder);
  return code < 0 ? refuse(code, err) : 0;
}

static int make_frame(struct preview *preview, int width, int height, struct error *err) {
  AVFrame *frame = preview->scaled;
  av_frame_unref(frame);
  frame->format = AV_PIX_FMT_YUVJ420P;
  frame->color_range = AVCOL_RANGE_JPEG;
  frame->width = width;
  frame->height = height;
  frame->quality = QUANTISER * FF_QP2LAMBDA;
  int code = av_frame_get_buffer(frame, 0);
  return code < 0 ? refuse(code, err) : 0;
}

/* Computes the JPEG's size: with the picture's aspect ratio in square pixels, and no side longer than
 * PREVIEW_SIDE_MAX. */
static void choose_size(const struct frame *picture, int *width, int *height) {
  double shape = frame_aspect(picture), longest = fmin(PREVIEW_SIDE_MAX, fmax(picture->width, picture->height));
  *width = (int)fmax(2, lrint(longest * fmin(1, shape)));
  *height = (int)fmax(2, lrint(longest / fmax(1, shape)));
}

static int scale(struct preview *preview, const struct frame *picture, struct error *err) {
  AVFrame *to = preview->scaled;
  enum AVPixelFormat from = picture->format == PIXEL_RGBA ? AV_PIX_FMT_RGB0 : AV_PIX_FMT_BGR0;
  const int *matrix = sws_getCoefficients(SWS_CS_ITU601);
  preview->scaler = sws_getCachedContext(preview->scaler, picture->width, picture->height, from, to->width, to->height,
                                         AV_PIX_FMT_YUV420P, SWS_AREA, NULL, NULL, NULL);
  if (!preview->scaler)
    return error_set(err, STATUS_FAILED, "preview: pictures of %dx%d cannot be scaled", picture->width,
                     picture->height);
  sws_setColorspaceDetails(preview->scaler, matrix, 1, matrix, 1, 0, 1 << 16, 1 << 16);
  int rows = sws_scale(preview->scaler, picture->plane, picture->pitch, 0, picture->height, to->data, to->linesize);
  return rows == to->height ? 0 : error_set(err, STATUS_FAILED, "preview: scaling failed");
}

static int encode(struct preview *preview, struct error *err) {
  av_packet_unref(preview->packet);
  int code = avcodec_send_frame(preview->encoder, preview->scaled);
  if (code >= 0)
    code = avcodec_receive_packet(preview->encoder, preview->packet);
  return code < 0 ? refuse(code, err) : 0;
}

int preview_encode(struct preview *preview, const struct frame *picture, const uint8_t **jpeg, size_t *size,
                   struct error *err) {
  int width, height;
  const AVCodecContext *encoder = preview->encoder;
  if (picture->format != PIXEL_RGBA && picture->format != PIXEL_BGRA)
    return error_set(err, STATUS_FAILED, "preview: %s is not shown", frame_format_name(picture->format));
  choose_size(picture, &width, &height);
  if ((!encoder || encoder->width != width || encoder->height != height) && open_encoder(preview, width, height, err))
    return -1;
  if (make_frame(preview, width, height, err) || scale(preview, picture, err) || encode(preview, err))
    return -1;
  *jpeg = preview->packet->data;
  *size = (size_t)preview->packet->size;
  return 0;
}

int preview_open(struct preview **out, struct error *err) {
  struct preview *preview = calloc(1, sizeof *preview);
  *out = preview;
  if (preview) {
    preview->scaled = av_frame_alloc();
    preview->packet = av_packet_alloc();
  }
  if (preview && preview->scaled && preview->packet)
    return 0;
  preview_close(out);
  return error_set(err, STATUS_FAILED, "preview: no memory");
}

void preview_close(struct preview **pointer) {
  struct preview *preview = *pointer;
  if (!preview)
    return;
  avcodec_free_context(&preview->encoder);
  av_frame_free(&preview->scaled);
  av_packet_free(&preview->packet);
  sws_freeContext(preview->scaler);
  free(preview);
  *pointer = NULL;
}
