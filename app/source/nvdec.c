/* Decodes with NVDEC through FFmpeg's hwaccel. */
#include "app/source/hardware.h"

#include <libavutil/hwcontext.h>
#include <libavutil/pixdesc.h>

/* FFmpeg's header of CUDA contexts uses these two types. This file declares them, so that CUDA's own headers are not
 * needed. */
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
#define CUDA_VERSION 0
#include <libavutil/hwcontext_cuda.h>

/* True for codecs whose standard fixes each decoded pixel, so that NVDEC gives the same pictures as software. */
static bool is_exact(enum AVCodecID codec) {
  return codec == AV_CODEC_ID_H264 || codec == AV_CODEC_ID_HEVC || codec == AV_CODEC_ID_VP8 ||
         codec == AV_CODEC_ID_VP9 || codec == AV_CODEC_ID_AV1;
}

/* True if the surfaces have a format that the engine reads. */
static bool is_readable(enum AVPixelFormat format) {
  return format == AV_PIX_FMT_YUV420P || format == AV_PIX_FMT_YUVJ420P || format == AV_PIX_FMT_YUV420P10LE ||
         format == AV_PIX_FMT_NV12;
}

static bool has_surfaces(const AVCodec *codec) {
  const AVCodecHWConfig *way;
  for (int i = 0; (way = avcodec_get_hw_config(codec, i)); i++)
    if (way->pix_fmt == AV_PIX_FMT_CUDA && way->methods & AV_CODEC_HW_CONFIG_METHOD_HW_DEVICE_CTX)
      return true;
  return false;
}

/* Finds a decoder that gives CUDA surfaces. For AV1, FFmpeg's first choice decodes in software only. */
static const AVCodec *find(const AVCodecParameters *video) {
  const AVCodec *codec;
  void *next = NULL;
  if (!is_exact(video->codec_id) || !is_readable(video->format))
    return NULL;
  while ((codec = av_codec_iterate(&next)))
    if (codec->id == video->codec_id && av_codec_is_decoder(codec) && has_surfaces(codec) &&
        /* leaves out NVIDIA's own decoders (such as h264_cuvid), which parse the bit stream themselves */
        !(codec->capabilities & AV_CODEC_CAP_HARDWARE))
      return codec;
  return NULL;
}

/* Chooses the format of frames. If NVDEC cannot decode the video, FFmpeg calls this function again without
 * AV_PIX_FMT_CUDA. */
static enum AVPixelFormat choose(AVCodecContext *context, const enum AVPixelFormat *formats) {
  for (; *formats != AV_PIX_FMT_NONE; formats++)
    if (*formats == AV_PIX_FMT_CUDA && is_readable(context->sw_pix_fmt))
      return AV_PIX_FMT_CUDA;
  ((struct decoding *)context->opaque)->refused = true;
  return AV_PIX_FMT_NONE;
}

/* Uses the engine's own CUDA context, so that the engine can read the surfaces without a copy. Returns 0 or an FFmpeg
 * error code. */
static int prepare(AVCodecContext *context, const struct gpu *gpu) {
  void *shared = gpu->impl->context(gpu);
  AVBufferRef *device = shared ? av_hwdevice_ctx_alloc(AV_HWDEVICE_TYPE_CUDA) : NULL;
  if (!device)
    return AVERROR(ENODEV);
  ((AVCUDADeviceContext *)((AVHWDeviceContext *)device->data)->hwctx)->cuda_ctx = shared;
  int code = av_hwdevice_ctx_init(device);
  if (code < 0) {
    av_buffer_unref(&device);
    return code;
  }
  context->hw_device_ctx = device;
  context->extra_hw_frames = HARDWARE_HOLDS;
  context->get_format = choose;
  return 0;
}

const struct hardware hardware_nvdec = {.name = "nvdec",
                                        .what = "NVDEC",
                                        .find = find,
                                        .prepare = prepare,
                                        .send = avcodec_send_packet,
                                        .receive = avcodec_receive_frame};
