#include "app/sink/track_copy.h"

#include <stdbool.h>
#include <string.h>

#include <libavcodec/avcodec.h>

#include "app/sink/mp4.h"
#include "app/sink/muxer.h"
#include "app/sink/tags.h"

AVStream *track_copy(AVFormatContext *output, const AVStream *from) {
  AVStream *stream = avformat_new_stream(output, NULL);
  if (!stream || avcodec_parameters_copy(stream->codecpar, from->codecpar) < 0)
    return NULL;
  stream->codecpar->codec_tag = 0;
  if (from->codecpar->extradata_size)
    muxer_tag_hevc(output->oformat, stream->codecpar);
  stream->time_base = from->time_base;
  stream->avg_frame_rate = from->avg_frame_rate;
  stream->r_frame_rate = from->r_frame_rate;
  stream->sample_aspect_ratio = from->sample_aspect_ratio;
  stream->disposition = from->disposition;
  tags_copy_stream(stream, from);
  tags_fit_track(output->oformat, stream);
  return stream;
}

/* Some muxers of FFmpeg do not tell which codecs they take, and some refuse codecs that they claim to take. So a header
 * with all of the output's streams and `stream` is written into memory. No trailer follows, because without packets it
 * leaks or crashes in some muxers. Muxers that open files themselves would leave files behind; for these the claim is
 * used. */
int track_fits(const AVFormatContext *output, const AVStream *stream) {
  AVFormatContext *trial = NULL;
  AVDictionary *wishes = NULL;
  uint8_t *header = NULL;
  if (output->oformat->flags & AVFMT_NOFILE)
    return avformat_query_codec(output->oformat, stream->codecpar->codec_id, FF_COMPLIANCE_NORMAL) != 0;
  if (avformat_alloc_output_context2(&trial, output->oformat, NULL, output->url) < 0)
    return AVERROR(ENOMEM);
  bool copied = true;
  for (unsigned i = 0; i < output->nb_streams; i++)
    copied = copied && track_copy(trial, output->streams[i]);
  copied = copied && track_copy(trial, stream) && avio_open_dyn_buf(&trial->pb) >= 0;
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
