#include "app/sink/sound_fits.h"

#include <stdbool.h>
#include <string.h>

#include <libavcodec/avcodec.h>
#include <libavutil/avstring.h>

#include "app/sink/muxer.h"
#include "app/sink/track_copy.h"

static bool is_named(const AVCodecParameters *sound, const char *beginning) {
  return !strncmp(avcodec_get_name(sound->codec_id), beginning, strlen(beginning));
}

/* Returns the number of samples in each packet of a stream; 0: it is unknown, or differs from packet to packet. */
static int samples_a_packet(const AVCodecParameters *sound) {
  int samples = av_get_audio_frame_duration2((AVCodecParameters *)(uintptr_t)sound, 0);
  if (!samples)
    samples = sound->frame_size;
  if (!samples && is_named(sound, "adpcm_") && sound->block_align)
    samples = av_get_audio_frame_duration2((AVCodecParameters *)(uintptr_t)sound, sound->block_align);
  return samples;
}

AVStream *sound_copy_stream(AVFormatContext *output, const AVStream *from) {
  AVStream *stream = track_copy(output, from);
  if (stream)
    stream->codecpar->frame_size = samples_a_packet(from->codecpar);
  return stream;
}

/* True if MPEG-TS has a name for the codec. MPEG-TS carries any other codec as private data, which no player recognises
 * as sound. */
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

/* True if FLV can store a stream's sample rate and number of channels. It has two bits for the rate and one for the
 * channels; FFmpeg's muxer writes the nearest value for any other rate. But readers take the rate of AAC and MP3 from
 * the packets, and assume 8 kHz mono for G.711. */
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

/* Some combinations that FFmpeg's muxers accept cannot be read again or are heard wrong, so they are excluded here,
 * before a header is tried. */
int sound_fits(const AVFormatContext *output, const AVStream *sound) {
  const char *name = output->oformat->name;
  bool named = named_in_transport_stream(sound->codecpar->codec_id);
  if (!strcmp(name, "rtp_mpegts") || (!strcmp(name, "mpegts") && !named))
    return named; /* for RTP no header is written as a trial, because that needs a network */
  if (!strcmp(name, "flv") && !is_told_in_flv(sound->codecpar))
    return 0;
  if (!strcmp(name, "roq") && sound->codecpar->codec_id != AV_CODEC_ID_ROQ_DPCM)
    return 0;
  if (!strcmp(name, "wtv") && sound->codecpar->codec_id == AV_CODEC_ID_AAC)
    return 0; /* FFmpeg's muxer of WTV writes AAC without the headers that readers of WTV need */
  if (av_match_name(name, "asf,asf_stream") && sound->codecpar->codec_id == AV_CODEC_ID_FLAC)
    return 0; /* FFmpeg finds no packets of FLAC when it reads an ASF file */
  if (muxer_counts_sound(output->oformat) && !is_named(sound->codecpar, "pcm_") && !samples_a_packet(sound->codecpar))
    return 0;
  return track_fits(output, sound);
}
