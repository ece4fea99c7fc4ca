#include "app/sink/sound_fits.h"

#include <stdbool.h>
#include <string.h>

#include <libavcodec/avcodec.h>
#include <libavutil/avstring.h>

#include "app/sink/mp4.h"
#include "app/sink/muxer.h"
#include "app/sink/tags.h"

static bool is_named(const AVCodecParameters *sound, const char *beginning) {
  return !strncmp(avcodec_get_name(sound->codec_id), beginning, strlen(beginning));
}

/* Returns how many samples each packet of a stream has; 0: that is not known, or differs. */
static int samples_a_packet(const AVCodecParameters *sound) {
  int samples = av_get_audio_frame_duration2((AVCodecParameters *)(uintptr_t)sound, 0);
  if (!samples)
    samples = sound->frame_size;
  if (!samples && is_named(sound, "adpcm_") && sound->block_align)
    samples = av_get_audio_frame_duration2((AVCodecParameters *)(uintptr_t)sound, sound->block_align);
  return samples;
}

AVStream *sound_copy_stream(AVFormatContext *output, const AVStream *from) {
  AVStream *stream = avformat_new_stream(output, NULL);
  if (!stream || avcodec_parameters_copy(stream->codecpar, from->codecpar) < 0)
    return NULL;
  stream->codecpar->codec_tag = 0;
  stream->codecpar->frame_size = samples_a_packet(from->codecpar);
  stream->time_base = from->time_base;
  stream->disposition = from->disposition;
  tags_copy_stream(stream, from);
  return stream;
}

/* True if MPEG-TS has a name for the codec. It carries any other as private data, which no player recognises as
 * sound. */
static bool named_in_transport_stream(enum AVCodecID codec) {
  static const enum AVCodecID known[] = {AV_CODEC_ID_MP2,  AV_CODEC_ID_MP3,      AV_CODEC_ID_AAC, AV_CODEC_ID_AC3,
                                         AV_CODEC_ID_EAC3, AV_CODEC_ID_AAC_LATM, AV_CODEC_ID_DTS, AV_CODEC_ID_TRUEHD,
                                         AV_CODEC_ID_OPUS, AV_CODEC_ID_S302M};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i] == codec)
      return true;
  return false;
}

static bool is_in(int rate, const int *rates) {
  while (*rates && *rates != rate)
    rates++;
  return *rates;
}

/* True if FLV can tell a stream's sample rate and channels. Its field for them has two bits for the rate and one for
 * the channels, and FFmpeg's muxer writes the nearest that it has for all others. Readers take AAC's and MP3's rate
 * from the packets, and G.711 for 8 kHz mono. */
static bool is_told_in_flv(const AVCodecParameters *sound) {
  static const int usual[] = {11025, 22050, 44100, 0};
  int rate = sound->sample_rate, channels = sound->ch_layout.nb_channels;
  switch (sound->codec_id) {
  case AV_CODEC_ID_AAC:
    return true;
  case AV_CODEC_ID_MP3:
    return channels <= 2 && (rate == 48000 || is_in(rate, usual));
  case AV_CODEC_ID_PCM_ALAW:
  case AV_CODEC_ID_PCM_MULAW:
    return channels == 1 && rate == 8000;
  case AV_CODEC_ID_SPEEX:
    return channels == 1 && rate == 16000;
  case AV_CODEC_ID_NELLYMOSER:
    return channels == 1 && (rate == 8000 || rate == 16000 || is_in(rate, usual));
  default:
    return channels <= 2 && is_in(rate, usual);
  }
}

/* Not every muxer tells which codecs it takes, and some refuse in the end what they claimed to take. So this writes a
 * header with all of the output's streams and this one into memory. There is no trailer, since without packets it leaks
 * or crashes in some muxers. Muxers that open files themselves would leave them behind; for those only the claim is
 * read. */
int sound_fits(const AVFormatContext *output, const AVStream *sound) {
  AVFormatContext *trial = NULL;
  AVDictionary *wishes = NULL;
  uint8_t *header = NULL;
  const char *name = output->oformat->name;
  bool named = named_in_transport_stream(sound->codecpar->codec_id);
  if (!strcmp(name, "rtp_mpegts") || (!strcmp(name, "mpegts") && !named))
    return named; /* for RTP no trial is made, because writing its header needs a network */
  if (!strcmp(name, "flv") && !is_told_in_flv(sound->codecpar))
    return 0;
  if (av_match_name(name, "asf,asf_stream") && sound->codecpar->codec_id == AV_CODEC_ID_FLAC)
    return 0; /* FFmpeg finds no packets of FLAC when it reads an ASF file */
  if (muxer_counts_sound(output->oformat) && !is_named(sound->codecpar, "pcm_") && !samples_a_packet(sound->codecpar))
    return 0;
  if (output->oformat->flags & AVFMT_NOFILE)
    return avformat_query_codec(output->oformat, sound->codecpar->codec_id, FF_COMPLIANCE_NORMAL) != 0;
  if (avformat_alloc_output_context2(&trial, output->oformat, NULL, output->url) < 0)
    return AVERROR(ENOMEM);
  bool copied = true;
  for (unsigned i = 0; i < output->nb_streams; i++)
    copied = copied && sound_copy_stream(trial, output->streams[i]);
  copied = copied && sound_copy_stream(trial, sound) && avio_open_dyn_buf(&trial->pb) >= 0;
  if (copied && muxer_is_mp4(output->oformat))
    mp4_wishes(&wishes);
  int code = copied ? avformat_write_header(trial, &wishes) : AVERROR(ENOMEM);
  if (trial->pb)
    avio_close_dyn_buf(trial->pb, &header);
  av_free(header);
  av_dict_free(&wishes);
  avformat_free_context(trial);
  return code == AVERROR(ENOMEM) ? code : code >= 0;
}
