#include "app/source/decoder.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "app/source/ffmpeg_util.h"
#include "app/source/frame_memory.h"
#include "app/source/hardware.h"
#include "unet/base/platform.h"

/* Encoders leave 250 pictures between two key frames, unless they are told to leave more. */
enum { THREADS_MAX = 4, KEPT_MOST = 1024, WAITED_MOST = 300 };

/* A packet that software begins with if hardware fails. */
struct kept_packet {
  AVPacket *packet;
  bool given; /* its picture was */
};

struct decoder {
  struct decoder_params params;
  struct decoding decoding;
  AVCodecContext *context;
  _Atomic(const struct hardware *) hardware; /* that decodes; NULL: software */
  struct error failure;                      /* why nothing does */
  bool began;                                /* hardware has given a picture */
  bool ended;                                /* it was told that no packet follows */
  bool waits;                                /* software does, for a key frame */
  int waited;                                /* packets that were left out meanwhile */
  /* Hardware: packets until the first picture, and where every picture counts from the key frame on that was given
   * last. Software: what is to be decoded before anything else */
  struct kept_packet kept[KEPT_MOST];
  int kept_count, next; /* next: to be decoded again */
  bool kept_all;        /* nothing is missing among them */
  int64_t numbered;     /* packets so far */
};

/* --- numbers of packets, which come back with their pictures --- */

/* AV_NOPTS_VALUE: it has none. */
static int64_t number_in(const AVBufferRef *buffer) {
  return buffer ? *(const int64_t *)buffer->data : AV_NOPTS_VALUE;
}

static bool number(struct decoder *decoder, AVPacket *packet) {
  av_buffer_unref(&packet->opaque_ref);
  packet->opaque_ref = av_buffer_alloc(sizeof decoder->numbered);
  if (packet->opaque_ref)
    *(int64_t *)packet->opaque_ref->data = decoder->numbered++;
  return packet->opaque_ref;
}

#if LIBAVCODEC_VERSION_MAJOR < 60
static void bring_numbers(AVCodecContext *context) {
  context->reordered_opaque = AV_NOPTS_VALUE;
}

static void pass_number(AVCodecContext *context, const AVPacket *packet) {
  if (packet)
    context->reordered_opaque = number_in(packet->opaque_ref);
}

static int64_t number_of(const AVFrame *frame) {
  return frame->reordered_opaque;
}
#else
static void bring_numbers(AVCodecContext *context) {
  context->flags |= AV_CODEC_FLAG_COPY_OPAQUE;
}

/* The packet has it. */
static void pass_number(AVCodecContext *context, const AVPacket *packet) {
  (void)context;
  (void)packet;
}

static int64_t number_of(const AVFrame *frame) {
  return number_in(frame->opaque_ref);
}
#endif

/* --- packets that are kept --- */

static void forget(struct decoder *decoder, int count) {
  for (int i = 0; i < count; i++)
    av_packet_free(&decoder->kept[i].packet);
  decoder->kept_count -= count;
  memmove(decoder->kept, decoder->kept + count, (size_t)decoder->kept_count * sizeof *decoder->kept);
  decoder->next = 0;
}

static bool keep(struct decoder *decoder, const AVPacket *packet) {
  AVPacket *kept = decoder->kept_count < KEPT_MOST ? av_packet_clone(packet) : NULL;
  if (kept)
    decoder->kept[decoder->kept_count++] = (struct kept_packet){kept, false};
  return kept;
}

/* Hardware gets this one now. */
static void remember(struct decoder *decoder, AVPacket *packet) {
  if (decoder->began && decoder->params.live)
    return;
  if (!decoder->kept_all && packet->flags & AV_PKT_FLAG_KEY) {
    forget(decoder, decoder->kept_count);
    decoder->kept_all = true;
  }
  decoder->kept_all = decoder->kept_all && number(decoder, packet) && keep(decoder, packet);
}

static bool is_from(const AVFrame *frame, const AVPacket *packet) {
  int64_t number = number_of(frame);
  return number != AV_NOPTS_VALUE && number == number_in(packet->opaque_ref) && frame->pts == packet->pts;
}

/* The kept packet that a picture is from; -1: none. A picture of VP9's or AV1's that a later packet shows has the time
 * of that packet and the number of its own. */
static int find(const struct decoder *decoder, const AVFrame *frame) {
  for (int i = 0; i < decoder->kept_count; i++)
    if (is_from(frame, decoder->kept[i].packet))
      return i;
  for (int i = 0; i < decoder->kept_count && frame->pts != AV_NOPTS_VALUE; i++)
    if (decoder->kept[i].packet->pts == frame->pts)
      return i;
  return -1;
}

/* Hardware has given this picture: all before it in time is given, too. FFmpeg's key frames are also those of H.264
 * with which a picture that is refreshed bit by bit begins to recover; software is not to begin there. */
static void note_given(struct decoder *decoder, const AVFrame *frame) {
  if (!decoder->began)
    log_line(decoder->params.log, LOG_INFO, "%s: %s decodes it", decoder->params.spec, decoder->params.hardware->what);
  decoder->began = true;
  if (decoder->params.live) {
    forget(decoder, decoder->kept_count);
    decoder->kept_all = false;
    return;
  }
  int i = find(decoder, frame);
  if (i < 0)
    return;
  decoder->kept[i].given = true;
  if (decoder->kept[i].packet->flags & AV_PKT_FLAG_KEY && frame->pict_type == AV_PICTURE_TYPE_I)
    forget(decoder, i);
}

/* Whether software gives it for the second time. What is behind the kept packets ends the search for those. */
static bool was_given(struct decoder *decoder, const AVFrame *frame) {
  int i = find(decoder, frame);
  if (i < 0 && decoder->next == decoder->kept_count)
    forget(decoder, decoder->kept_count);
  return i >= 0 && decoder->kept[i].given;
}

/* --- contexts --- */

static int get_buffer(AVCodecContext *context, AVFrame *frame, int flags) {
  return frame_memory_get(((struct decoding *)context->opaque)->memory, context, frame, flags);
}

/* Frame threads decode faster and hold back as many frames as there are threads: right for files, wrong for live. */
static void choose_threads(AVCodecContext *context, bool live) {
  int cores = platform_processors();
  context->thread_count = cores < THREADS_MAX ? cores : THREADS_MAX;
  context->thread_type = live ? FF_THREAD_SLICE : FF_THREAD_FRAME | FF_THREAD_SLICE;
#if LIBAVCODEC_VERSION_MAJOR < 60
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  context->thread_safe_callbacks = 1;
#pragma GCC diagnostic pop
#endif
}

/* Whether pictures come in the order in which they are to be seen from a decoder that is to hold none back. Those of
 * MPEG-1, 2, 4 and their kin then give each one out as it is decoded, those in front of it behind it. */
static bool keeps_order(enum AVCodecID codec) {
  const AVCodecDescriptor *about = avcodec_descriptor_get(codec);
  return codec == AV_CODEC_ID_H264 || codec == AV_CODEC_ID_HEVC || !about || !(about->props & AV_CODEC_PROP_REORDER);
}

/* hardware NULL: in software. FFmpeg's code; *context is NULL where it is not 0. */
static int open_context(struct decoder *decoder, const AVCodec *codec, const struct hardware *hardware) {
  const struct decoder_params *params = &decoder->params;
  AVCodecContext *context = decoder->context = avcodec_alloc_context3(codec);
  if (!context)
    return AVERROR(ENOMEM);
  context->opaque = &decoder->decoding;
  int code = avcodec_parameters_to_context(context, params->video);
  context->pkt_timebase = params->time_base;
  if (params->hardware)
    bring_numbers(context);
  if (params->whole)
    context->err_recognition |=
        AV_EF_CRCCHECK | (context->codec_id == AV_CODEC_ID_MJPEG ? AV_EF_EXPLODE : 0); /* others refuse unknown tags */
  if (params->live && (hardware || keeps_order(params->video->codec_id)))
    context->flags |= AV_CODEC_FLAG_LOW_DELAY;
  if (!hardware)
    choose_threads(context, params->live);
  if (!hardware && decoder->decoding.memory)
    context->get_buffer2 = get_buffer;
  if (code >= 0 && hardware)
    code = hardware->prepare(context, &params->gpu);
  if (code >= 0)
    code = avcodec_open2(context, codec, NULL);
  if (code < 0)
    avcodec_free_context(&decoder->context);
  return code;
}

static int open_software(struct decoder *decoder) {
  atomic_store(&decoder->hardware, NULL);
  return open_context(decoder, decoder->params.codec, NULL);
}

static int refuse(struct decoder *decoder, const char *why, struct error *err) {
  const struct decoder_params *params = &decoder->params;
  return error_set(err, STATUS_INPUT, "%s: %s does not decode its %s video%s%s: --hwdec auto leaves it to software",
                   params->spec, params->hardware->what, params->codec->name, *why ? ": " : "", why);
}

/* 1: hardware decodes; 0: software is to; -1: which must not be. */
static int open_hardware(struct decoder *decoder, struct error *err) {
  const struct decoder_params *params = &decoder->params;
  const struct hardware *hardware = params->hardware;
  char reason[128] = "";
  if (!hardware || !params->gpu.impl)
    return 0;
  const AVCodec *codec = hardware->find(params->video);
  int code = codec ? open_context(decoder, codec, hardware) : 0;
  if (codec && code >= 0) {
    atomic_store(&decoder->hardware, hardware);
    return 1;
  }
  if (code < 0)
    ffmpeg_reason(code, reason);
  if (params->must)
    return refuse(decoder, reason, err);
  log_line(params->log, LOG_DEBUG, "%s: %s video is decoded in software%s%s", params->spec, params->codec->name,
           *reason ? ": " : "", reason);
  return 0;
}

int decoder_open(struct decoder **out, const struct decoder_params *params, struct error *err) {
  char reason[128];
  struct decoder *decoder = *out = calloc(1, sizeof *decoder);
  if (!decoder)
    return error_set(err, STATUS_FAILED, "no memory to decode %s", params->spec);
  decoder->params = *params;
  decoder->kept_all = true;
  int opened = frame_memory_open(&decoder->decoding.memory, &params->gpu, err) ? -1 : open_hardware(decoder, err);
  int code = opened ? 0 : open_software(decoder);
  if (code < 0)
    error_set(err, STATUS_INPUT, "%s: its %s video cannot be decoded: %s", params->spec, params->codec->name,
              ffmpeg_reason(code, reason));
  if (code >= 0 && opened >= 0)
    return 0;
  decoder_close(out);
  return -1;
}

void decoder_close(struct decoder **out) {
  struct decoder *decoder = *out;
  *out = NULL;
  if (!decoder)
    return;
  forget(decoder, decoder->kept_count);
  avcodec_free_context(&decoder->context);
  frame_memory_close(&decoder->decoding.memory);
  free(decoder);
}

/* --- decoding --- */

/* Damaged packets are no failure of hardware: software would not decode them either. */
static bool has_failed(const struct decoder *decoder, int code) {
  return decoder->decoding.refused ||
         (code < 0 && code != AVERROR(EAGAIN) && code != AVERROR_EOF && code != AVERROR_INVALIDDATA);
}

/* Software takes over, with the packets that are kept where nothing is missing among them. FFmpeg's code. */
static int fall_back(struct decoder *decoder, const char *reason) {
  const struct decoder_params *params = &decoder->params;
  const struct hardware *hardware = decoder->hardware;
  if (params->must && !decoder->began) {
    refuse(decoder, reason, &decoder->failure);
    return AVERROR_EXTERNAL;
  }
  decoder->waits = decoder->began && !decoder->kept_all;
  log_line(params->log, decoder->began ? LOG_WARNING : LOG_DEBUG, "%s: %s does not decode it%s%s%s: software does%s",
           params->spec, hardware->what, decoder->began ? " any more" : "", *reason ? ": " : "", reason,
           decoder->waits ? ", from the next key frame on" : "");
  if (!decoder->kept_all)
    forget(decoder, decoder->kept_count);
  decoder->decoding.refused = false;
  avcodec_free_context(&decoder->context);
  return open_software(decoder);
}

static int follow_failure(struct decoder *decoder, int code) {
  char reason[128] = "";
  if (!decoder->decoding.refused)
    ffmpeg_reason(code, reason);
  return fall_back(decoder, reason);
}

/* Without a key frame decoders of these give nothing at all. */
static bool needs_key_frame(enum AVCodecID codec) {
  return codec == AV_CODEC_ID_VP8 || codec == AV_CODEC_ID_VP9 || codec == AV_CODEC_ID_AV1;
}

/* Live, what never has a key frame is decoded all the same in the end: it may be refreshed bit by bit. FFmpeg's decoder
 * of H.264 would keep such pictures to itself. */
static bool is_left_out(struct decoder *decoder, const AVPacket *packet) {
  bool patient =
      !decoder->params.live || decoder->waited < WAITED_MOST || needs_key_frame(decoder->params.video->codec_id);
  if (decoder->waits && !patient)
    decoder->context->flags |= AV_CODEC_FLAG_OUTPUT_CORRUPT;
  decoder->waits = decoder->waits && patient && packet && !(packet->flags & AV_PKT_FLAG_KEY);
  decoder->waited += decoder->waits;
  return decoder->waits;
}

/* In software. */
static int send_software(struct decoder *decoder, const AVPacket *packet) {
  if (!decoder->context)
    return AVERROR(ENOMEM);
  if (is_left_out(decoder, packet))
    return 0;
  if (decoder->next < decoder->kept_count) {
    decoder->ended = !packet;
    return !packet || keep(decoder, packet) ? 0 : AVERROR(ENOMEM);
  }
  pass_number(decoder->context, packet);
  return avcodec_send_packet(decoder->context, packet);
}

int decoder_send(struct decoder *decoder, AVPacket *packet) {
  const struct hardware *hardware = decoder->hardware;
  if (*decoder->failure.message)
    return AVERROR_EXTERNAL;
  if (!hardware)
    return send_software(decoder, packet);
  decoder->ended = !packet;
  if (packet)
    remember(decoder, packet);
  pass_number(decoder->context, packet);
  int code = hardware->send(decoder->context, packet);
  if (!has_failed(decoder, code))
    return code;
  code = follow_failure(decoder, code);
  return code < 0 || decoder->kept_count ? code : send_software(decoder, packet);
}

/* The next of the kept packets, or the end behind them. AVERROR(EAGAIN): there is none. */
static int send_again(struct decoder *decoder) {
  const AVPacket *packet = NULL;
  if (decoder->next < decoder->kept_count)
    packet = decoder->kept[decoder->next++].packet;
  else if (!decoder->ended)
    return AVERROR(EAGAIN);
  else
    decoder->ended = false;
  pass_number(decoder->context, packet);
  return avcodec_send_packet(decoder->context, packet);
}

static int receive_software(struct decoder *decoder, AVFrame *frame) {
  if (!decoder->context)
    return AVERROR(ENOMEM);
  for (;;) {
    int code = avcodec_receive_frame(decoder->context, frame);
    if (code == AVERROR(EAGAIN) && (code = send_again(decoder)) >= 0)
      continue;
    if (code < 0 || !was_given(decoder, frame))
      return code;
    av_frame_unref(frame);
  }
}

int decoder_receive(struct decoder *decoder, AVFrame *frame) {
  const struct hardware *hardware = decoder->hardware;
  if (*decoder->failure.message)
    return AVERROR_EXTERNAL;
  if (!hardware)
    return receive_software(decoder, frame);
  int code = hardware->receive(decoder->context, frame);
  if (code >= 0 && (frame->crop_left || frame->crop_top)) { /* FFmpeg cuts no surface there */
    av_frame_unref(frame);
    decoder->decoding.refused = true;
  } else if (code >= 0) {
    note_given(decoder, frame);
  }
  if (!has_failed(decoder, code))
    return code;
  code = follow_failure(decoder, code);
  return code < 0 ? code : receive_software(decoder, frame);
}

int decoder_leave_hardware(struct decoder *decoder, const char *why) {
  return decoder->hardware ? fall_back(decoder, why) : 0;
}

void decoder_flush(struct decoder *decoder) {
  forget(decoder, decoder->kept_count);
  decoder->kept_all = !decoder->params.live || !decoder->began;
  decoder->ended = decoder->waits = false;
  if (decoder->context)
    avcodec_flush_buffers(decoder->context);
}

bool decoder_refused(const struct decoder *decoder, struct error *err) {
  if (*decoder->failure.message && err)
    *err = decoder->failure;
  return *decoder->failure.message;
}

const char *decoder_hardware(const struct decoder *decoder) {
  const struct hardware *hardware = atomic_load(&decoder->hardware);
  return hardware ? hardware->name : NULL;
}

const AVCodecContext *decoder_context(const struct decoder *decoder) {
  return decoder->context;
}
