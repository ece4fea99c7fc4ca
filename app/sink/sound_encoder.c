#include "app/sink/sound_encoder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <libavcodec/avcodec.h>
#include <libavutil/audio_fifo.h>
#include <libavutil/avstring.h>
#include <libswresample/swresample.h>

#include "app/sink/send_samples.h"

enum {
  FRAME_USUAL = 1024,
  BITS_A_CHANNEL = 96000,
  RATE_USUAL = 48000,
  RATE_SWF = 44100,
  RATE_ROQ = 22050,
  VORBIS_QUALITY = 6 /* quality of Vorbis, from -1 to 10 (the best) */
};
/* The highest bit rate of MP2 and MP3 at sample rates below LAYER_LOW_RATE. */
enum { LAYER_LOW_BITS = 160000, LAYER_LOW_RATE = 32000 };

/* There is no gap between two packets if the second one begins less than this many seconds after the end of the first:
 * containers round times. */
static const double tolerance = 0.04;

struct sound_encoder {
  /* The fields of this block are for decoding, converting and encoding. */
  AVCodecContext *decoder, *encoder;
  struct SwrContext *resampler;
  AVAudioFifo *samples;
  AVStream *stream; /* the output's stream of the encoded sound; owned by the output */
  AVRational time_base;
  AVPacket *packet;
  AVFrame *frame, *sent;
  /* layout, format, rate: channel layout, format and rate of the samples for which the resampler is set up */
  AVChannelLayout layout;
  int format, rate;
  /* The last three fields are positions in the output's sound, in samples since the output's time 0. */
  int64_t placed; /* position at which the queued samples end */
  int64_t given;  /* position up to which the encoder has got samples */
  int64_t last;   /* position at which the sound ends: samples from here on are left out */
};

/* --- opening the decoder, and choosing and opening the encoder --- */

static bool is_deep(const AVCodecParameters *from) {
  return from->bits_per_raw_sample > 16 || (!from->bits_per_raw_sample && from->bits_per_coded_sample > 16);
}

static bool is_lossless(const AVCodecParameters *from) {
  const AVCodecDescriptor *codec = avcodec_descriptor_get(from->codec_id);
  return codec && codec->props & AV_CODEC_PROP_LOSSLESS && !(codec->props & AV_CODEC_PROP_LOSSY);
}

/* True if the sound needs AC-3, which has up to six channels: the sound has more than two channels, the container takes
 * AC-3, and the container's usual codec has at most two channels. */
static bool needs_ac3(const AVOutputFormat *container, const AVCodecParameters *from) {
  return from->ch_layout.nb_channels > 2 && av_match_name(container->name, "avi,asf,asf_stream,mpeg,svcd,vob,dvd");
}

enum AVCodecID sound_encoder_choose(const AVOutputFormat *container, const AVCodecParameters *from) {
  enum AVCodecID codec = container->audio_codec;
  if (av_match_name(container->name, "matroska,mov") ||
      (av_match_name(container->name, "avi,asf,asf_stream") && is_lossless(from)))
    codec = is_deep(from) ? AV_CODEC_ID_PCM_S24LE : AV_CODEC_ID_PCM_S16LE;
  else if (needs_ac3(container, from))
    codec = AV_CODEC_ID_AC3;
  else if (av_match_name(container->name, "webm"))
    codec = AV_CODEC_ID_OPUS;
  else if (muxer_is_mp4(container) || av_match_name(container->name, "mpegts,flv"))
    codec = AV_CODEC_ID_AAC;
  return avcodec_find_encoder(codec) ? codec : AV_CODEC_ID_NONE;
}

static int open_decoder(struct sound_encoder *sound, const AVStream *from) {
  const AVCodec *codec = avcodec_find_decoder(from->codecpar->codec_id);
  sound->decoder = codec ? avcodec_alloc_context3(codec) : NULL;
  if (!sound->decoder)
    return codec ? AVERROR(ENOMEM) : AVERROR_DECODER_NOT_FOUND;
  int code = avcodec_parameters_to_context(sound->decoder, from->codecpar);
  sound->decoder->pkt_timebase = from->time_base;
  return code < 0 ? code : avcodec_open2(sound->decoder, codec, NULL);
}

/* Returns the input's sample rate, else the codec's lowest rate above it, else the codec's highest. Some containers
 * have fixed rates: MXF and GXF 48 kHz, RoQ 22.05 kHz, and SWF 44.1 kHz or a half or quarter of it. */
static int choose_rate(const AVOutputFormat *container, const AVCodec *codec, int rate) {
  int above = 0, highest = 0;
  if (rate <= 0 || muxer_needs_sound(container))
    return RATE_USUAL;
  if (av_match_name(container->name, "swf,roq"))
    return !strcmp(container->name, "swf") ? RATE_SWF : RATE_ROQ;
  for (const int *known = codec->supported_samplerates; known && *known; known++) {
    if (*known >= rate && (!above || *known < above))
      above = *known;
    highest = *known > highest ? *known : highest;
  }
  return above ? above : highest ? highest : rate;
}

/* Stores the input's channel layout if the codec takes it. Otherwise stores, of the codec's layouts with no more
 * channels than the input, the one with the most. Returns 0 or an FFmpeg error code. */
static int choose_layout(AVChannelLayout *layout, const AVCodec *codec, const AVChannelLayout *from) {
  int channels = from->nb_channels > 0 ? from->nb_channels : 2;
  if (!codec->ch_layouts && from->order == AV_CHANNEL_ORDER_NATIVE)
    return av_channel_layout_copy(layout, from);
  const AVChannelLayout *best = NULL;
  for (const AVChannelLayout *known = codec->ch_layouts; known && known->nb_channels; known++) {
    if (!av_channel_layout_compare(known, from))
      return av_channel_layout_copy(layout, from);
    if (known->nb_channels <= channels && (!best || known->nb_channels > best->nb_channels))
      best = known;
  }
  if (best)
    return av_channel_layout_copy(layout, best);
  av_channel_layout_default(layout, channels);
  return 0;
}

static enum AVSampleFormat choose_format(const AVCodec *codec) {
  return codec->sample_fmts ? codec->sample_fmts[0] : AV_SAMPLE_FMT_S16;
}

/* Chooses the bit rate or, for Vorbis, the quality. (At many sample rates Vorbis allows few bit rates; it allows any
 * quality at all of them.) MP2 and MP3 have lower bit rates below 32 kHz. */
static void choose_bit_rate(AVCodecContext *encoder) {
  bool layer = encoder->codec_id == AV_CODEC_ID_MP2 || encoder->codec_id == AV_CODEC_ID_MP3;
  if (encoder->codec_id != AV_CODEC_ID_VORBIS) {
    encoder->bit_rate = (int64_t)BITS_A_CHANNEL * encoder->ch_layout.nb_channels;
    if (layer && encoder->sample_rate < LAYER_LOW_RATE)
      encoder->bit_rate = FFMIN(encoder->bit_rate, LAYER_LOW_BITS);
    return;
  }
  encoder->flags |= AV_CODEC_FLAG_QSCALE;
  encoder->global_quality = VORBIS_QUALITY * FF_QP2LAMBDA;
}

static int open_encoder(struct sound_encoder *sound, const AVOutputFormat *container, enum AVCodecID id) {
  const AVCodec *codec = id == AV_CODEC_ID_OPUS ? avcodec_find_encoder_by_name("libopus") : avcodec_find_encoder(id);
  if (!codec)
    codec = avcodec_find_encoder(id);
  AVCodecContext *encoder = sound->encoder = codec ? avcodec_alloc_context3(codec) : NULL;
  if (!encoder)
    return codec ? AVERROR(ENOMEM) : AVERROR_ENCODER_NOT_FOUND;
  int code = choose_layout(&encoder->ch_layout, codec, &sound->decoder->ch_layout);
  if (code < 0)
    return code;
  encoder->sample_rate = choose_rate(container, codec, sound->decoder->sample_rate);
  encoder->sample_fmt = choose_format(codec);
  encoder->time_base = (AVRational){1, encoder->sample_rate};
  choose_bit_rate(encoder);
  if (container->flags & AVFMT_GLOBALHEADER)
    encoder->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  return avcodec_open2(encoder, codec, NULL);
}

static int add_stream(struct sound_encoder *sound, AVFormatContext *output) {
  const AVCodecContext *encoder = sound->encoder;
  sound->packet = av_packet_alloc();
  sound->frame = av_frame_alloc();
  sound->sent = av_frame_alloc();
  sound->samples = av_audio_fifo_alloc(encoder->sample_fmt, encoder->ch_layout.nb_channels, encoder->sample_rate);
  if (!sound->packet || !sound->frame || !sound->sent || !sound->samples)
    return AVERROR(ENOMEM);
  sound->stream = avformat_new_stream(output, NULL);
  if (!sound->stream)
    return AVERROR(ENOMEM);
  sound->stream->time_base = encoder->time_base;
  return avcodec_parameters_from_context(sound->stream->codecpar, encoder);
}

int sound_encoder_open(struct sound_encoder **out, AVFormatContext *output, enum AVCodecID codec, const AVStream *from,
                       double duration) {
  struct sound_encoder *sound = *out = calloc(1, sizeof *sound);
  int code = sound ? open_decoder(sound, from) : AVERROR(ENOMEM);
  if (code >= 0)
    code = open_encoder(sound, output->oformat, codec);
  if (code >= 0)
    code = add_stream(sound, output);
  if (code < 0) {
    sound_encoder_close(out);
    return code;
  }
  sound->time_base = from->time_base;
  sound->last = duration > 0 ? llrint(duration * sound->encoder->sample_rate) : INT64_MAX;
  return 0;
}

AVStream *sound_encoder_stream(const struct sound_encoder *sound) {
  return sound->stream;
}

void sound_encoder_close(struct sound_encoder **pointer) {
  struct sound_encoder *sound = *pointer;
  *pointer = NULL;
  if (!sound)
    return;
  avcodec_free_context(&sound->decoder);
  avcodec_free_context(&sound->encoder);
  swr_free(&sound->resampler);
  if (sound->samples)
    av_audio_fifo_free(sound->samples);
  av_channel_layout_uninit(&sound->layout);
  av_packet_free(&sound->packet);
  av_frame_free(&sound->frame);
  av_frame_free(&sound->sent);
  free(sound);
}

/* --- encoding the queued samples, and writing packets --- */

static int write_packets(struct sound_encoder *sound, struct muxer *muxer) {
  int code;
  while ((code = avcodec_receive_packet(sound->encoder, sound->packet)) >= 0) {
    double tick = av_q2d(sound->encoder->time_base), begin = (double)sound->packet->pts * tick;
    if (muxer_is_too_early(muxer, sound->stream, begin, begin + (double)sound->packet->duration * tick)) {
      av_packet_unref(sound->packet);
      continue;
    }
    sound->packet->stream_index = sound->stream->index;
    muxer_make_room(muxer, sound->stream, sound->packet, sound->encoder->time_base);
    av_packet_rescale_ts(sound->packet, sound->encoder->time_base, sound->stream->time_base);
    code = muxer_write(muxer, sound->packet);
    av_packet_unref(sound->packet);
    if (code < 0)
      return code;
  }
  return code == AVERROR(EAGAIN) || code == AVERROR_EOF ? 0 : code;
}

static int send_frame(struct sound_encoder *sound, int count) {
  int code = send_samples(sound->encoder, sound->samples, count, sound->given, sound->sent);
  sound->given += count;
  return code;
}

static int encode(struct sound_encoder *sound, struct muxer *muxer, bool all) {
  int64_t size = sound->encoder->frame_size > 0 ? sound->encoder->frame_size : FRAME_USUAL, there;
  int code = 0;
  while (code >= 0) {
    there = FFMIN(av_audio_fifo_size(sound->samples), sound->last - sound->given);
    if (there < (all ? 1 : size))
      break;
    code = send_frame(sound, (int)FFMIN(there, size));
    if (code >= 0)
      code = write_packets(sound, muxer);
  }
  return code;
}

/* --- decoding, and queueing samples at their times --- */

static int add_silence(struct sound_encoder *sound, int64_t count) {
  const AVCodecContext *to = sound->encoder;
  uint8_t *data[AV_NUM_DATA_POINTERS * 8] = {0};
  int code = av_samples_alloc(data, NULL, to->ch_layout.nb_channels, FRAME_USUAL, to->sample_fmt, 0);
  if (code >= 0)
    code = av_samples_set_silence(data, 0, FRAME_USUAL, to->ch_layout.nb_channels, to->sample_fmt);
  for (; code >= 0 && count > 0; count -= FRAME_USUAL) {
    int some = count < FRAME_USUAL ? (int)count : FRAME_USUAL;
    code = av_audio_fifo_write(sound->samples, (void **)data, some);
    sound->placed += some;
  }
  av_freep(&data[0]);
  return code < 0 ? code : 0;
}

/* Queues `count` converted samples, without the first `late` of them. Returns 0 or an FFmpeg code. */
static int add_samples(struct sound_encoder *sound, uint8_t **data, int count, int late) {
  const AVCodecContext *to = sound->encoder;
  bool planar = av_sample_fmt_is_planar(to->sample_fmt);
  int planes = planar ? to->ch_layout.nb_channels : 1;
  int size = av_get_bytes_per_sample(to->sample_fmt) * (planar ? 1 : to->ch_layout.nb_channels);
  if (late >= count)
    return 0;
  for (int i = 0; i < planes; i++)
    data[i] += (ptrdiff_t)late * size;
  int code = av_audio_fifo_write(sound->samples, (void **)data, count - late);
  sound->placed += count - late;
  return code < 0 ? code : 0;
}

/* Queues samples to be heard from sample number `at` on. Fills a gap before them with silence. Leaves out samples
 * before time 0, or before the end of what is queued already. Returns 0 or an FFmpeg error code. */
static int place(struct sound_encoder *sound, uint8_t **data, int count, int64_t at) {
  int64_t gap = at - sound->placed;
  bool follows = sound->placed && llabs(gap) < llrint(tolerance * sound->encoder->sample_rate);
  int code = gap > 0 && !follows ? add_silence(sound, gap) : 0;
  int64_t late = gap < 0 && !follows ? -gap : 0;
  return code < 0 ? code : add_samples(sound, data, count, late < count ? (int)late : count);
}

/* Sets up the resampler for the frame's format, which may change within a stream. Returns 0 or an FFmpeg error code. */
static int fit_resampler(struct sound_encoder *sound, AVFrame *from) {
  AVCodecContext *to = sound->encoder;
  if (from->ch_layout.order == AV_CHANNEL_ORDER_UNSPEC)
    av_channel_layout_default(&from->ch_layout, from->ch_layout.nb_channels);
  if (sound->resampler && sound->format == from->format && sound->rate == from->sample_rate &&
      !av_channel_layout_compare(&sound->layout, &from->ch_layout))
    return 0;
  swr_free(&sound->resampler);
  sound->format = from->format;
  sound->rate = from->sample_rate;
  int code = av_channel_layout_copy(&sound->layout, &from->ch_layout);
  if (code >= 0)
    code = swr_alloc_set_opts2(&sound->resampler, &to->ch_layout, to->sample_fmt, to->sample_rate, &from->ch_layout,
                               from->format, from->sample_rate, 0, NULL);
  return code < 0 ? code : swr_init(sound->resampler);
}

/* Converts a frame and queues its samples. `from` NULL: converts the samples that the resampler still holds. at:
 * position of the first sample, in samples since the output's time 0. Returns a negative FFmpeg code on failure. */
static int convert(struct sound_encoder *sound, const AVFrame *from, int64_t at) {
  const AVCodecContext *to = sound->encoder;
  uint8_t *data[AV_NUM_DATA_POINTERS * 8] = {0};
  int64_t held = swr_get_delay(sound->resampler, to->sample_rate);
  int most = swr_get_out_samples(sound->resampler, from ? from->nb_samples : 0);
  int code = av_samples_alloc(data, NULL, to->ch_layout.nb_channels, most > 0 ? most : 1, to->sample_fmt, 0);
  void *memory = data[0];
  if (code >= 0)
    code = swr_convert(sound->resampler, data, most, from ? (const uint8_t **)(uintptr_t)from->extended_data : NULL,
                       from ? from->nb_samples : 0);
  if (code > 0)
    code = place(sound, data, code, at - held);
  av_free(memory);
  return code;
}

/* Queues silence and encodes it second by second, so that a gap of hours takes no memory. Returns 0 or an FFmpeg error
 * code. */
static int pad_until(struct sound_encoder *sound, struct muxer *muxer, int64_t at) {
  int code = 0;
  while (code >= 0 && sound->placed < at) {
    code = add_silence(sound, FFMIN(at - sound->placed, sound->encoder->sample_rate));
    if (code >= 0)
      code = encode(sound, muxer, false);
  }
  return code;
}

int sound_encoder_pad(struct sound_encoder *sound, struct muxer *muxer, double seconds) {
  return pad_until(sound, muxer, llrint(seconds * sound->encoder->sample_rate));
}

static int take_frame(struct sound_encoder *sound, struct muxer *muxer) {
  AVFrame *frame = sound->frame;
  int64_t time = frame->pts != AV_NOPTS_VALUE ? frame->pts : frame->best_effort_timestamp;
  int code = fit_resampler(sound, frame);
  if (code < 0)
    return code;
  int64_t at = time == AV_NOPTS_VALUE ? sound->placed + swr_get_delay(sound->resampler, sound->encoder->sample_rate)
                                      : av_rescale_q(time, sound->time_base, sound->encoder->time_base);
  code = pad_until(sound, muxer, at - sound->encoder->sample_rate);
  if (code >= 0)
    code = convert(sound, frame, at);
  return code < 0 ? code : encode(sound, muxer, false);
}

static int take_frames(struct sound_encoder *sound, struct muxer *muxer) {
  int code;
  while ((code = avcodec_receive_frame(sound->decoder, sound->frame)) >= 0) {
    code = take_frame(sound, muxer);
    av_frame_unref(sound->frame);
    if (code < 0)
      return code;
  }
  return code == AVERROR(ENOMEM) ? code : 0;
}

int sound_encoder_write(struct sound_encoder *sound, struct muxer *muxer, const AVPacket *packet) {
  int code = avcodec_send_packet(sound->decoder, packet);
  return code == AVERROR(ENOMEM) ? code : take_frames(sound, muxer);
}

/* Writes silence after the last sample, up to `least` seconds, which may lie beyond the part of the input that was
 * asked for. Returns 0 or an FFmpeg error code. */
static int pad_end(struct sound_encoder *sound, struct muxer *muxer, double least) {
  if (least * sound->encoder->sample_rate <= (double)sound->given)
    return 0;
  av_audio_fifo_reset(sound->samples);
  sound->placed = sound->given;
  sound->last = INT64_MAX;
  int code = sound_encoder_pad(sound, muxer, least);
  return code < 0 ? code : encode(sound, muxer, true);
}

/* Queues silence that pushes the last samples out of an encoder which holds some back and cannot be drained. Returns 0
 * or an FFmpeg error code. */
static int push_out(struct sound_encoder *sound) {
  int held = sound->encoder->initial_padding;
  if (held <= 0 || sound->encoder->codec->capabilities & AV_CODEC_CAP_DELAY)
    return 0;
  if (sound->last < INT64_MAX - held)
    sound->last += held;
  return add_silence(sound, held);
}

int sound_encoder_finish(struct sound_encoder *sound, struct muxer *muxer, double end, double least) {
  int code = sound_encoder_write(sound, muxer, NULL);
  if (code >= 0 && sound->resampler)
    code = convert(sound, NULL, sound->placed + swr_get_delay(sound->resampler, sound->encoder->sample_rate));
  if (end * sound->encoder->sample_rate < (double)sound->last)
    sound->last = llrint(end * sound->encoder->sample_rate);
  if (code >= 0)
    code = push_out(sound);
  if (code >= 0)
    code = encode(sound, muxer, true);
  if (code >= 0)
    code = pad_end(sound, muxer, least);
  if (code >= 0)
    code = avcodec_send_frame(sound->encoder, NULL);
  return code < 0 ? code : write_packets(sound, muxer);
}
