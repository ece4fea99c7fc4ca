#include "app/source/decoder.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "app/source/ffmpeg_util.h"
#include "app/source/frame_memory.h"
#include "app/source/hardware.h"
#include "unet/base/platform.h"

/* THREADS_MAX: most threads of a decoder. KEPT_MOST: most packets that are kept for decoding them again. WAITED_MOST:
 * most packets that are left out while software waits for a key frame; by default encoders put at most 250 pictures
 * between two key frames. */
enum { THREADS_MAX = 4, KEPT_MOST = 1024, WAITED_MOST = 300 };

/* A copy of a packet that hardware got, for software to decode if hardware fails. */
struct kept_packet {
  AVPacket *packet;
  bool given; /* true: hardware has given out the picture of this packet */
};

/* One thread at a time uses a decoder; other threads read only the field `hardware`. */
struct decoder {
  struct decoder_params params;
  struct decoding decoding;
  AVCodecContext *context;
  _Atomic(const struct hardware *) hardware; /* the hardware that decodes; NULL: software */
  /* message not "": hardware had to decode (params.must) and failed before its first picture, so decoding has ended */
  struct error failure;
  bool began; /* true: hardware has given out a picture */
  bool ended; /* true: the decoder was told that no packet follows */
  bool waits; /* true: software decodes now, and leaves packets out until a key frame comes */
  int waited; /* number of packets left out so far while `waits` was true, that is, before a key frame came */
  /* Copies of packets. Before hardware gives its first picture: all packets sent so far. After that, unless the source
   * is live: the packets from the last key frame on. After hardware has failed: the packets that software decodes
   * before any new one. */
  struct kept_packet kept[KEPT_MOST];
  int kept_count, next; /* number of packets in `kept`, and index in it of the packet that software decodes next */
  bool kept_all; /* true: `kept` has every packet since the last key frame or, if none has come, since the beginning */
  int64_t numbered; /* number of packets that got a packet number so far, which is also the next packet number */
  /* codec of the next packets if decoder_expect was called, else AV_CODEC_ID_NONE */
  enum AVCodecID expected;
  /* packet with which the stream changes to another codec; it waits here until the decoder of the previous codec has
   * given out all its pictures; NULL: no packet waits */
  AVPacket *behind;
};

/* --- packet numbers, which tell from which packet a picture was decoded --- */

/* Returns the packet number that is stored in a packet's or picture's opaque_ref; AV_NOPTS_VALUE: none is stored. */
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

/* Does nothing: FFmpeg from version 6 itself passes opaque_ref from packets to pictures. */
static void pass_number(AVCodecContext *context, const AVPacket *packet) {
  (void)context;
  (void)packet;
}

static int64_t number_of(const AVFrame *frame) {
  return number_in(frame->opaque_ref);
}
#endif

/* --- copies of packets that hardware got, for software to decode if hardware fails --- */

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

/* Keeps a copy of a packet that is about to be sent to hardware, for software to decode if hardware fails; not if
 * KEPT_MOST packets are kept already. */
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

/* Returns the index in `kept` of a picture's packet; -1: it is not there. In VP9 and AV1, a packet may contain a
 * picture that a later packet shows. That picture has the first packet's number and the later packet's time; the later
 * packet's index is returned. */
static int find(const struct decoder *decoder, const AVFrame *frame) {
  for (int i = 0; i < decoder->kept_count; i++)
    if (is_from(frame, decoder->kept[i].packet))
      return i;
  for (int i = 0; i < decoder->kept_count && frame->pts != AV_NOPTS_VALUE; i++)
    if (decoder->kept[i].packet->pts == frame->pts)
      return i;
  return -1;
}

/* Notes that hardware has given out this picture. Its packet in `kept` is marked, so that software, if it takes over,
 * does not give the picture out again. If the packet is a key frame, where software would begin, earlier packets are
 * dropped. They stay at the start of a gradual refresh of H.264, because software cannot begin there, although FFmpeg
 * marks a key frame. For a live source all packets are dropped, because software would wait for the next key frame. */
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

/* True if hardware has already given out the picture that software has just decoded, so that it must be left out. Also
 * empties `kept` once all of its packets were sent to software, and a picture is from a later packet. */
static bool was_given(struct decoder *decoder, const AVFrame *frame) {
  int i = find(decoder, frame);
  if (i < 0 && decoder->next == decoder->kept_count)
    forget(decoder, decoder->kept_count);
  return i >= 0 && decoder->kept[i].given;
}

/* --- opening and closing decoder contexts of hardware and software --- */

static int get_buffer(AVCodecContext *context, AVFrame *frame, int flags) {
  return frame_memory_get(((struct decoding *)context->opaque)->memory, context, frame, flags);
}

/* Chooses FFmpeg's kind of decoder threads. Frame threads decode faster, but delay the output by as many frames as
 * there are threads, which does not suit live sources. */
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

/* True if the codec's decoder gives pictures in display order even in low-delay mode, in which it must not hold
 * pictures back. Decoders of MPEG-1, 2, 4 and similar codecs then give each picture once it is decoded, and so in the
 * wrong order. */
static bool keeps_order(enum AVCodecID codec) {
  const AVCodecDescriptor *about = avcodec_descriptor_get(codec);
  return codec == AV_CODEC_ID_H264 || codec == AV_CODEC_ID_HEVC || !about || !(about->props & AV_CODEC_PROP_REORDER);
}

/* Opens a decoder context. hardware NULL: the context decodes in software. Returns 0 or an FFmpeg code; *context is
 * NULL after an error. */
static int open_context(struct decoder *decoder, const AVCodec *codec, const struct hardware *hardware) {
  const struct decoder_params *params = &decoder->params;
  AVCodecContext *context = decoder->context = avcodec_alloc_context3(codec);
  if (!context)
    return AVERROR(ENOMEM);
  context->opaque = &decoder->decoding;
  /* false: the stream has changed to another codec, so params->video, which describes the first codec, does not
   * describe it */
  bool same = codec->id == params->video->codec_id;
  int code = same ? avcodec_parameters_to_context(context, params->video) : 0;
  context->pkt_timebase = params->time_base;
  if (params->hardware)
    bring_numbers(context);
  if (params->whole)
    context->err_recognition |=
        /* for MJPEG only: with AV_EF_EXPLODE, other decoders refuse even unknown tags */
        AV_EF_CRCCHECK | (context->codec_id == AV_CODEC_ID_MJPEG ? AV_EF_EXPLODE : 0);
  if (params->live && (hardware || keeps_order(params->video->codec_id)))
    context->flags |= AV_CODEC_FLAG_LOW_DELAY;
  if (!hardware)
    choose_threads(context, params->live);
  if (!hardware && decoder->decoding.memory)
    context->get_buffer2 = get_buffer;
  if (code >= 0 && hardware)
    code = hardware->prepare(context, &params->gpu);
  AVDictionary *wishes = NULL;
  if (codec->id == AV_CODEC_ID_EXR) /* EXR is linear, but networks and the rest of the program need sRGB */
    av_dict_set(&wishes, "apply_trc", "iec61966_2_1", 0);
  if (code >= 0)
    code = avcodec_open2(context, codec, &wishes);
  av_dict_free(&wishes);
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

/* Opens a hardware decoder. Returns 1: hardware decodes; 0: software has to; -1 with err: hardware must decode
 * (params.must) and cannot. */
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
  av_packet_free(&decoder->behind);
  avcodec_free_context(&decoder->context);
  frame_memory_close(&decoder->decoding.memory);
  free(decoder);
}

/* --- sending packets and receiving pictures, and going over from hardware to software --- */

/* True if hardware has failed. Damaged packets do not count as a failure, because software could not decode them
 * either. */
static bool has_failed(const struct decoder *decoder, int code) {
  return decoder->decoding.refused ||
         (code < 0 && code != AVERROR(EAGAIN) && code != AVERROR_EOF && code != AVERROR_INVALIDDATA);
}

/* Changes from hardware to software. If `kept` is complete, software begins with it; else with the next key frame or,
 * if hardware has given no picture, with the next packet. If hardware must decode and has given no picture, sets
 * `failure` instead. reason: for the log. Returns 0 or an FFmpeg code. */
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

/* True if the codec's decoders give no picture without a key frame. */
static bool needs_key_frame(enum AVCodecID codec) {
  return codec == AV_CODEC_ID_VP8 || codec == AV_CODEC_ID_VP9 || codec == AV_CODEC_ID_AV1;
}

/* True if a packet is to be left out, because the software decoder waits for a key frame. After some time packets are
 * decoded anyway: a live stream that is refreshed gradually has no key frames. FFmpeg's H.264 decoder then needs a flag
 * to return pictures. */
static bool is_left_out(struct decoder *decoder, const AVPacket *packet) {
  bool patient =
      !decoder->params.live || decoder->waited < WAITED_MOST || needs_key_frame(decoder->params.video->codec_id);
  if (decoder->waits && !patient)
    decoder->context->flags |= AV_CODEC_FLAG_OUTPUT_CORRUPT;
  decoder->waits = decoder->waits && patient && packet && !(packet->flags & AV_PKT_FLAG_KEY);
  decoder->waited += decoder->waits;
  return decoder->waits;
}

void decoder_expect(struct decoder *decoder, enum AVCodecID codec) {
  decoder->expected = codec;
}

/* For the first packet of another codec: keeps a copy of it in decoder->behind until change_codec, and makes the
 * decoder context return its remaining pictures. Returns 0 or an FFmpeg code. */
static int hold_back(struct decoder *decoder, const AVPacket *packet) {
  decoder->behind = av_packet_clone(packet);
  return decoder->behind ? avcodec_send_packet(decoder->context, NULL) : AVERROR(ENOMEM);
}

/* Called after a change of codec, when the old decoder context has returned all its pictures. Opens a context for the
 * new codec, and sends it the codec's first packet, kept in decoder->behind. Returns 0 or an FFmpeg code. */
static int change_codec(struct decoder *decoder) {
  const AVCodec *codec = avcodec_find_decoder(decoder->expected);
  avcodec_free_context(&decoder->context);
  int code = codec ? open_context(decoder, codec, NULL) : AVERROR_INVALIDDATA;
  if (code < 0 && code != AVERROR(ENOMEM))
    open_software(decoder); /* reopens the decoder of the codec that the input had at first, so that later packets of
                             * that codec can be decoded */
  if (code >= 0)
    code = avcodec_send_packet(decoder->context, decoder->behind);
  av_packet_free(&decoder->behind);
  return code;
}

/* Sends a packet to the software decoder. If packets in `kept` must be decoded first, the packet is added to `kept`
 * instead. Returns 0 or an FFmpeg error code. */
static int send_software(struct decoder *decoder, const AVPacket *packet) {
  if (!decoder->context)
    return AVERROR(ENOMEM);
  if (is_left_out(decoder, packet))
    return 0;
  if (decoder->next < decoder->kept_count) {
    decoder->ended = !packet;
    return !packet || keep(decoder, packet) ? 0 : AVERROR(ENOMEM);
  }
  if (packet && decoder->expected != AV_CODEC_ID_NONE && decoder->expected != decoder->context->codec_id)
    return hold_back(decoder, packet);
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

/* After hardware has failed: sends the software decoder the next of the packets (decoder->kept) that must be decoded
 * again. After the last one, if `ended` is set, tells the decoder that the stream has ended. Returns an FFmpeg code;
 * AVERROR(EAGAIN): there is nothing to send. */
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
    if (code == AVERROR_EOF && decoder->behind && (code = change_codec(decoder)) >= 0)
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
  /* FFmpeg does not crop surfaces of hardware at the left and the top, so software decodes such a video */
  if (code >= 0 && (frame->crop_left || frame->crop_top)) {
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
  av_packet_free(&decoder->behind);
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
