#include "app/sink/subtitle_text.h"

#include <stdlib.h>
#include <string.h>

#include <libavcodec/avcodec.h>
#include <libavutil/avstring.h>

#include "app/sink/muxer.h"

enum { TEXT_BYTES = 1 << 18 /* greatest length in bytes of the text of one packet */ };

struct subtitle_text {
  AVCodecContext *decoder, *encoder;
  uint8_t *bytes; /* buffer of TEXT_BYTES, into which the encoder writes */
};

enum AVCodecID subtitle_text_codec(const AVOutputFormat *container) {
  if (muxer_is_mp4(container))
    return AV_CODEC_ID_MOV_TEXT;
  if (av_match_name(container->name, "matroska"))
    return AV_CODEC_ID_SUBRIP;
  if (av_match_name(container->name, "nut"))
    return AV_CODEC_ID_ASS;
  return av_match_name(container->name, "webm") ? AV_CODEC_ID_WEBVTT : AV_CODEC_ID_NONE;
}

static int open_decoder(struct subtitle_text *text, const AVStream *from) {
  const AVCodec *codec = avcodec_find_decoder(from->codecpar->codec_id);
  text->decoder = codec ? avcodec_alloc_context3(codec) : NULL;
  if (!text->decoder)
    return codec ? AVERROR(ENOMEM) : AVERROR_DECODER_NOT_FOUND;
  int code = avcodec_parameters_to_context(text->decoder, from->codecpar);
  text->decoder->pkt_timebase = from->time_base;
  return code < 0 ? code : avcodec_open2(text->decoder, codec, NULL);
}

/* Opens the encoder of subtitles. FFmpeg's decoders convert every text to ASS, so the encoder gets the header with ASS
 * styles that the decoder has made. Returns 0 or an FFmpeg error code. */
static int open_encoder(struct subtitle_text *text, enum AVCodecID id) {
  const AVCodec *codec = avcodec_find_encoder(id);
  AVCodecContext *encoder = text->encoder = codec ? avcodec_alloc_context3(codec) : NULL;
  if (!encoder)
    return codec ? AVERROR(ENOMEM) : AVERROR_ENCODER_NOT_FOUND;
  encoder->time_base = AV_TIME_BASE_Q;
  if (text->decoder->subtitle_header) {
    encoder->subtitle_header = av_mallocz((size_t)text->decoder->subtitle_header_size + 1);
    if (!encoder->subtitle_header)
      return AVERROR(ENOMEM);
    memcpy(encoder->subtitle_header, text->decoder->subtitle_header, (size_t)text->decoder->subtitle_header_size);
    encoder->subtitle_header_size = text->decoder->subtitle_header_size;
  }
  return avcodec_open2(encoder, codec, NULL);
}

int subtitle_text_open(struct subtitle_text **out, const AVStream *from, enum AVCodecID codec, AVCodecParameters *to) {
  const AVCodecDescriptor *about = avcodec_descriptor_get(from->codecpar->codec_id);
  *out = NULL;
  if (codec == AV_CODEC_ID_NONE || !about || !(about->props & AV_CODEC_PROP_TEXT_SUB))
    return AVERROR(ENOSYS);
  struct subtitle_text *text = *out = calloc(1, sizeof *text);
  int code = text && (text->bytes = malloc(TEXT_BYTES)) ? open_decoder(text, from) : AVERROR(ENOMEM);
  if (code >= 0)
    code = open_encoder(text, codec);
  if (code >= 0)
    code = avcodec_parameters_from_context(to, text->encoder);
  if (code < 0)
    subtitle_text_close(out);
  return code < 0 ? code : 0;
}

static int replace_data(AVPacket *packet, const uint8_t *bytes, int size) {
  AVPacket *made = av_packet_alloc();
  int code = made ? av_new_packet(made, size) : AVERROR(ENOMEM);
  if (code >= 0) {
    memcpy(made->data, bytes, (size_t)size);
    made->pts = packet->pts;
    made->dts = packet->dts;
    made->duration = packet->duration;
    made->stream_index = packet->stream_index;
    made->flags = AV_PKT_FLAG_KEY;
    av_packet_unref(packet);
    av_packet_move_ref(packet, made);
  }
  av_packet_free(&made);
  return code < 0 ? code : 1;
}

int subtitle_text_change(struct subtitle_text *text, AVPacket *packet) {
  AVSubtitle subtitle = {0};
  int got = 0, code = avcodec_decode_subtitle2(text->decoder, &subtitle, &got, packet);
  if (code < 0 || !got || !subtitle.num_rects) {
    if (got)
      avsubtitle_free(&subtitle);
    return code < 0 ? code : 0;
  }
  subtitle.start_display_time = 0;
  int size = avcodec_encode_subtitle(text->encoder, text->bytes, TEXT_BYTES, &subtitle);
  avsubtitle_free(&subtitle);
  return size <= 0 ? size : replace_data(packet, text->bytes, size);
}

void subtitle_text_close(struct subtitle_text **pointer) {
  struct subtitle_text *text = *pointer;
  *pointer = NULL;
  if (!text)
    return;
  avcodec_free_context(&text->decoder);
  avcodec_free_context(&text->encoder);
  free(text->bytes);
  free(text);
}
