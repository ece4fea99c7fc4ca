#include "app/sink/muxer.h"

#include <math.h>

#include <libavcodec/avcodec.h>
#include <libavutil/avstring.h>
#include <libavutil/opt.h>

#include "app/sink/preroll.h"

static const int64_t flush_time = AV_TIME_BASE / 2;
/* A fragmented file (MP4) is first written to when each stream has had a packet, but at the latest at this time of the
 * output, in AV_TIME_BASE units. */
static const int64_t patience = 10 * AV_TIME_BASE;

/* Most seconds of Opus that are written before time 0 in Matroska: the length of a usual packet. More would make the
 * file's duration longer. */
static const double opus_preroll_seconds = 0.02;
/* Tolerance in seconds when times are compared: some containers round times to milliseconds. */
static const double slack_seconds = 0.001;

bool muxer_is_mp4(const AVOutputFormat *container) {
  return av_match_name(container->name, "mp4,mov,ipod,psp,3gp,3g2,f4v");
}

void muxer_tag_hevc(const AVOutputFormat *container, AVCodecParameters *track) {
  if (track->codec_id == AV_CODEC_ID_HEVC && muxer_is_mp4(container))
    track->codec_tag = MKTAG('h', 'v', 'c', '1');
}

bool muxer_counts_sound(const AVOutputFormat *container) {
  return muxer_needs_sound(container) || av_match_name(container->name, "avi,amv,dv,rm,roq,swf");
}

bool muxer_counts_pictures(const AVOutputFormat *container) {
  return muxer_needs_sound(container) ||
         av_match_name(container->name, "mpeg,vcd,svcd,vob,dvd,mpeg1video,mpeg2video,dv,rm,swf,amv,yuv4mpegpipe");
}

bool muxer_needs_sound(const AVOutputFormat *container) {
  return av_match_name(container->name, "mxf,mxf_d10,mxf_opatom,gxf");
}

bool muxer_keeps_segments(const AVOutputFormat *container) {
  return av_match_name(container->name, "matroska,webm,mp4,mov,ipod,nut,mpegts");
}

bool muxer_needs_long_packets(const AVOutputFormat *container) {
  return av_match_name(container->name, "asf,asf_stream");
}

int64_t muxer_units(const AVCodecParameters *codec, const AVPacket *packet) {
  bool as_it_is = codec->codec_type == AVMEDIA_TYPE_AUDIO && codec->codec_id != AV_CODEC_ID_AAC;
  return as_it_is ? packet->size : packet->size > 0;
}

static bool is_matroska(const AVFormatContext *output) {
  return av_match_name(output->oformat->name, "matroska,webm");
}

/* Returns the seconds between decoding and showing of the first picture (the reordering delay). */
static double delay_of_pictures(const AVFormatContext *output) {
  const AVStream *video = output->streams[0];
  double rate = av_q2d(video->avg_frame_rate);
  return rate > 0 ? video->codecpar->video_delay / rate : 0;
}

/* Returns how many seconds before time 0 a stream may begin in this container. Pictures' decoding times begin before 0,
 * by the reordering delay. Muxers that store no times below 0 shift all streams by that delay, so sound may begin that
 * much before 0 as well. */
static double room_before_start(const AVFormatContext *output, const AVStream *stream) {
  const AVCodecParameters *codec = stream->codecpar;
  if (!is_matroska(output))
    return output->avoid_negative_ts > AVFMT_AVOID_NEG_TS_DISABLED ? delay_of_pictures(output) : INFINITY;
  bool opus = codec->codec_id == AV_CODEC_ID_OPUS && codec->sample_rate > 0;
  return opus ? (double)codec->initial_padding / codec->sample_rate : 0;
}

/* True for MPEG's transport and program streams. Their first timestamp may have any value, so the muxer may add the
 * same number to all timestamps without harm. */
static bool begins_anywhere(const AVOutputFormat *container) {
  return av_match_name(container->name, "mpegts,rtp_mpegts,mpeg,vcd,svcd,vob,dvd");
}

double muxer_preroll(const AVFormatContext *output, const AVStream *stream) {
  double needed = preroll_seconds(stream->codecpar);
  if (muxer_is_mp4(output->oformat))
    return needed;
  if (is_matroska(output) && stream->codecpar->codec_id == AV_CODEC_ID_OPUS)
    return fmin(needed, opus_preroll_seconds);
  if (!preroll_is_vital(stream->codecpar) || muxer_counts_sound(output->oformat) || is_matroska(output))
    return 0;
  return begins_anywhere(output->oformat) ? needed : fmin(needed, delay_of_pictures(output));
}

bool muxer_is_too_early(const struct muxer *muxer, const AVStream *stream, double begin, double end) {
  const AVOutputFormat *container = muxer->output->oformat;
  double preroll = muxer_preroll(muxer->output, stream);
  if (begin >= 0 || (begins_anywhere(container) && end > slack_seconds - preroll) ||
      (muxer_counts_sound(container) && begin + end > 0))
    return false;
  return begin < -room_before_start(muxer->output, stream) - slack_seconds;
}

void muxer_make_room(const struct muxer *muxer, const AVStream *stream, AVPacket *packet, AVRational time_base) {
  double room = LIBAVFORMAT_VERSION_MAJOR < 60 ? room_before_start(muxer->output, stream) : 0;
  int64_t shift = is_matroska(muxer->output) ? llrint(room / av_q2d(time_base)) : 0;
  if (muxer_counts_sound(muxer->output->oformat) && packet->pts != AV_NOPTS_VALUE && packet->pts < 0)
    packet->pts = packet->dts = 0;
  packet->pts += packet->pts != AV_NOPTS_VALUE ? shift : 0;
  packet->dts += packet->dts != AV_NOPTS_VALUE ? shift : 0;
}

int muxer_open(struct muxer *muxer, AVFormatContext *output) {
  /* The muxer's default is to shift all streams so that none begins before 0. A track of Opus begins before 0, but
   * Matroska stores that in a field of its own, so no shift is needed. */
  if (is_matroska(output))
    output->avoid_negative_ts = AVFMT_AVOID_NEG_TS_DISABLED;
  muxer->output = output;
  muxer->fragments = muxer_is_mp4(output->oformat);
  muxer->tracks = av_calloc(output->nb_streams, sizeof *muxer->tracks);
  for (unsigned i = 0; muxer->tracks && i < output->nb_streams; i++) {
    muxer->tracks[i].dts = AV_NOPTS_VALUE;
    if (!(muxer->tracks[i].held = av_packet_alloc()))
      return AVERROR(ENOMEM);
  }
  return muxer->tracks ? 0 : AVERROR(ENOMEM);
}

static int pending_error(const AVFormatContext *output) {
  return output->pb ? output->pb->error : 0;
}

/* True if this code means that the muxer refused a packet, and not that writing to the output failed. */
static bool is_refusal(const AVFormatContext *output, int code) {
  return code < 0 && code != AVERROR(ENOMEM) && code != AVERROR_EXIT && output->pb && !output->pb->error;
}

/* True if the output has subtitles or further video, copied from the input. */
static bool has_others(const AVFormatContext *output) {
  for (unsigned i = 1; i < output->nb_streams; i++)
    if (output->streams[i]->codecpar->codec_type != AVMEDIA_TYPE_AUDIO)
      return true;
  return false;
}

/* Counts a packet that the muxer refused while a packet of `stream` was written. The muxer reorders packets, so the
 * refused one may be of another stream. If a picture was written and other tracks are copied, it counts as one of
 * theirs, because the pictures' encoder suits the muxer. Without such tracks the picture itself was refused, and the
 * result is false. */
static bool count_refused(struct muxer *muxer, int stream) {
  bool sound = muxer->output->streams[stream]->codecpar->codec_type == AVMEDIA_TYPE_AUDIO;
  if (stream == 0 && !has_others(muxer->output))
    return false;
  muxer->refused += sound;
  muxer->refused_others += !sound;
  return true;
}

static int write_now(struct muxer *muxer, AVPacket *packet) {
  struct muxer_track *track = &muxer->tracks[packet->stream_index];
  int64_t units = muxer_units(muxer->output->streams[packet->stream_index]->codecpar, packet);
  int64_t duration = packet->duration;
  int stream = packet->stream_index;
  int code = av_interleaved_write_frame(muxer->output, packet);
  if (is_refusal(muxer->output, code) && count_refused(muxer, stream))
    return 0;
  if (code < 0)
    return code;
  track->units += units;
  track->duration = duration;
  return pending_error(muxer->output);
}

/* Writes the held packet of a stream (whose duration was not known before), if there is one. next: the following packet
 * of that stream, whose time gives the duration; NULL: there is none. Returns 0 or an FFmpeg error code. */
static int release(struct muxer *muxer, int stream, const AVPacket *next) {
  AVPacket *held = muxer->tracks[stream].held;
  if (!held->data)
    return 0;
  if (next && next->dts != AV_NOPTS_VALUE && held->dts != AV_NOPTS_VALUE && next->dts > held->dts)
    held->duration = next->dts - held->dts;
  return write_now(muxer, held);
}

static void keep_rising(struct muxer *muxer, AVPacket *packet) {
  struct muxer_track *track = &muxer->tracks[packet->stream_index];
  bool sound = muxer->output->streams[packet->stream_index]->codecpar->codec_type == AVMEDIA_TYPE_AUDIO;
  if (!sound || packet->dts == AV_NOPTS_VALUE || muxer->output->oformat->flags & AVFMT_TS_NONSTRICT)
    return;
  int64_t late = track->dts == AV_NOPTS_VALUE ? 0 : track->dts + 1 - packet->dts;
  if (late > 0) {
    packet->pts += packet->pts == AV_NOPTS_VALUE ? 0 : late;
    packet->dts += late;
  }
  track->dts = packet->dts;
}

int muxer_write(struct muxer *muxer, AVPacket *packet) {
  keep_rising(muxer, packet);
  if (!muxer->fragments)
    return write_now(muxer, packet);
  int code = release(muxer, packet->stream_index, packet);
  if (code >= 0)
    av_packet_move_ref(muxer->tracks[packet->stream_index].held, packet);
  return code;
}

int muxer_complete(struct muxer *muxer) {
  int code = 0;
  for (unsigned i = 0; code >= 0 && i < muxer->output->nb_streams; i++)
    code = release(muxer, (int)i, NULL);
  return code;
}

static int64_t time_of(const struct muxer *muxer, const AVPacket *packet) {
  return av_rescale_q(packet->dts, muxer->output->streams[packet->stream_index]->time_base, AV_TIME_BASE_Q);
}

bool muxer_is_due(struct muxer *muxer, const AVPacket *packet) {
  int64_t time = time_of(muxer, packet);
  if (!muxer->begun) {
    muxer->flushed = time;
    muxer->begun = true;
    return false;
  }
  return time - muxer->flushed >= flush_time || (muxer->fragments && packet->flags & AV_PKT_FLAG_KEY);
}

static bool has_begun(const struct muxer_track *track) {
  return track->units || track->held->data;
}

bool muxer_lacks(const struct muxer *muxer, int stream) {
  return !has_begun(&muxer->tracks[stream]);
}

static bool lacks_any(const struct muxer *muxer) {
  for (unsigned i = 0; i < muxer->output->nb_streams; i++)
    if (!has_begun(&muxer->tracks[i]))
      return true;
  return false;
}

/* Called before a flush. A held packet waits for the next packet of its stream, from which its duration follows. Writes
 * the held packet of `packet`'s stream. Also writes those of streams without any written packet, so that the index
 * lists all streams. Returns 0 or an FFmpeg error code. */
static int release_due(struct muxer *muxer, const AVPacket *packet) {
  int code = release(muxer, packet->stream_index, packet);
  for (unsigned i = 0; code >= 0 && i < muxer->output->nb_streams; i++)
    if (!muxer->tracks[i].units)
      code = release(muxer, (int)i, NULL);
  return code;
}

static int end_fragment(struct muxer *muxer) {
  /* frag_discont is set, because streams that begin after the index was written would otherwise begin at time 0 */
  int code = lacks_any(muxer) ? av_opt_set(muxer->output->priv_data, "movflags", "+frag_discont", 0) : 0;
  /* the file's very first flush writes only its index, so a second one writes the fragment */
  for (int i = 0; code >= 0 && i < 2; i++)
    code = av_write_frame(muxer->output, NULL);
  return code;
}

int muxer_flush(struct muxer *muxer, const AVPacket *packet, bool more) {
  AVFormatContext *output = muxer->output;
  int64_t time = time_of(muxer, packet);
  bool file = output->pb && output->pb->seekable & AVIO_SEEKABLE_NORMAL;
  if (muxer->fragments && more && lacks_any(muxer) && time - muxer->flushed < patience)
    return 0;
  muxer->flushed = time;
  /* MXF and GXF are not flushed: their muxers hold packets back to order them, and a flush in the middle of a file
   * makes libavformat 59 crash. */
  if (!output->pb || (!file && !muxer->fragments) || muxer_needs_sound(output->oformat))
    return 0;
  int code = release_due(muxer, packet);
  /* In ASF the times of pictures and sound must rise together, or the muxer aborts the process. Sound encoders return
   * packets late, so the packets that the muxer holds back to order them are not flushed. */
  if (code >= 0 && !av_match_name(output->oformat->name, "asf,asf_stream"))
    code = av_interleaved_write_frame(output, NULL);
  if (code >= 0 && muxer->fragments)
    code = end_fragment(muxer);
  else if (code >= 0 && output->oformat->flags & AVFMT_ALLOW_FLUSH)
    code = av_write_frame(output, NULL);
  avio_flush(output->pb);
  if (code >= 0)
    code = pending_error(output);
  return code < 0 ? code : 1;
}

void muxer_close(struct muxer *muxer) {
  for (unsigned i = 0; muxer->tracks && i < muxer->output->nb_streams; i++)
    av_packet_free(&muxer->tracks[i].held);
  av_freep(&muxer->tracks);
  *muxer = (struct muxer){0};
}
