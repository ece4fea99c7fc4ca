#include "app/sink/preroll.h"

#include <math.h>

#include <libavcodec/avcodec.h>
#include <libavutil/intreadwrite.h>

/* An Opus header has at least OPUS_HEADER bytes. At offset OPUS_SKIP it has, in 16 bits, the number of samples to skip,
 * counted at OPUS_RATE samples per second. */
enum { OPUS_HEADER = 19, OPUS_SKIP = 10, OPUS_RATE = 48000 };
/* RESERVOIR_BITS: an MP3 packet's data may begin this many bits earlier, within former packets. LAYER_SAMPLES: samples
 * in a packet of MP3. LEAST_BIT_RATE: lowest bit rate of MP3, per second. */
enum { RESERVOIR_BITS = 511 * 8, LAYER_SAMPLES = 1152, LEAST_BIT_RATE = 8000 };
/* Number of samples in the longest usual packet of AAC, AC-3, MP2 and Vorbis. */
enum { LONG_PACKET = 2048 };

bool preroll_is_vital(const AVCodecParameters *codec) {
  return codec->codec_id == AV_CODEC_ID_MP3;
}

double preroll_seconds(const AVCodecParameters *codec) {
  const AVCodecDescriptor *known = avcodec_descriptor_get(codec->codec_id);
  double rate = codec->sample_rate > 0 ? codec->sample_rate : OPUS_RATE;
  if (codec->codec_id == AV_CODEC_ID_OPUS)
    return 0.08;
  if (codec->codec_id == AV_CODEC_ID_MP3)
    return (double)RESERVOIR_BITS / (double)FFMAX(codec->bit_rate, LEAST_BIT_RATE) + 2 * LAYER_SAMPLES / rate;
  /* true for PCM and ADPCM, whose packets are decoded without earlier ones */
  bool alone = av_get_bits_per_sample(codec->codec_id) > 0;
  return known && known->props & AV_CODEC_PROP_LOSSY && !alone ? LONG_PACKET / rate : 0;
}

void preroll_hide(AVCodecParameters *opus, double seconds) {
  long samples = lrint(seconds * OPUS_RATE);
  if (opus->extradata_size < OPUS_HEADER || samples < 0 || samples > UINT16_MAX)
    return;
  AV_WL16(opus->extradata + OPUS_SKIP, samples);
  opus->initial_padding = (int)samples;
}
