#include "app/sink/other_tracks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <libavcodec/avcodec.h>
#include <libavutil/avstring.h>
#include <libavutil/intreadwrite.h>

#include "app/sink/covers.h"
#include "app/sink/subtitle_text.h"
#include "app/sink/tags.h"
#include "app/sink/track_copy.h"

/* A time that a container has rounded to milliseconds may be this many seconds too early. */
static const double slack_seconds = 0.001;

struct other {
  /* the stream to which the track is written, in the output or, if `late` is true, in params.late; NULL: the track is
   * left out */
  AVStream *to;
  /* true: `to` is a stream of params.late, whose packets are written at the render's end, when the file is rewritten */
  bool late;
  struct subtitle_text *text; /* converter of the track's text to another codec; NULL: packets are copied as they are */
  /* true: a key frame of this video track was written; false: its packets are left out until one comes */
  bool begun;
};

struct other_tracks {
  struct other_tracks_params params;
  struct other *tracks; /* an array with an element for each input stream, which says where the stream's packets go */
  AVPacket *packet;
  long lost;
};

/* True if MPEG-TS has an identifier for the codec. MPEG-TS carries any other codec as private data, which no player
 * shows. */
static bool named_in_transport_stream(enum AVCodecID codec) {
  static const enum AVCodecID known[] = {AV_CODEC_ID_MPEG1VIDEO,   AV_CODEC_ID_MPEG2VIDEO,  AV_CODEC_ID_MPEG4,
                                         AV_CODEC_ID_H264,         AV_CODEC_ID_HEVC,        AV_CODEC_ID_VC1,
                                         AV_CODEC_ID_DVB_SUBTITLE, AV_CODEC_ID_DVB_TELETEXT};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i] == codec)
      return true;
  return false;
}

/* True for codecs that FFmpeg's AVI muxer claims to take, although it refuses their packets in the form that other
 * containers have. */
static bool refused_by_avi(enum AVCodecID codec) {
  return codec == AV_CODEC_ID_H264 || codec == AV_CODEC_ID_HEVC;
}

/* True if the output's container can hold a copy of the stream, and programs that read the file find the stream in
 * it. */
static bool fits(const AVFormatContext *output, const AVStream *from) {
  const AVOutputFormat *container = output->oformat;
  if (muxer_counts_pictures(container) || av_match_name(container->name, "rtp_mpegts"))
    return false;
  if (av_match_name(container->name, "mpegts,hls") && !named_in_transport_stream(from->codecpar->codec_id))
    return false;
  if (av_match_name(container->name, "avi") && refused_by_avi(from->codecpar->codec_id))
    return false;
  return track_fits(output, from) > 0;
}

static bool is_subtitle(const AVStream *stream) {
  return stream->codecpar->codec_type == AVMEDIA_TYPE_SUBTITLE;
}

/* Adds a subtitle track in the container's own codec of text. Returns 1; 0 if the container has no such codec, or the
 * subtitles are not text; -1 if memory is short. */
static int add_text(struct other_tracks *others, const AVStream *from, AVFormatContext *to) {
  struct other *other = &others->tracks[from->index];
  AVCodecParameters *changed = avcodec_parameters_alloc();
  int code =
      changed ? subtitle_text_open(&other->text, from, subtitle_text_codec(to->oformat), changed) : AVERROR(ENOMEM);
  if (code >= 0) {
    other->to = track_copy(to, from);
    code = other->to ? avcodec_parameters_copy(other->to->codecpar, changed) : AVERROR(ENOMEM);
  }
  avcodec_parameters_free(&changed);
  return code == AVERROR(ENOMEM) ? -1 : code >= 0;
}

static int add_copy(struct other_tracks *others, const AVStream *from, AVFormatContext *to) {
  others->tracks[from->index].to = track_copy(to, from);
  return others->tracks[from->index].to ? 1 : -1;
}

/* Adds a subtitle track to params.late, the tracks that are added only at the render's end, when the file is rewritten
 * without fragments. Returns 1; 0 if the container cannot hold the track; -1 if memory is short. */
static int add_late(struct other_tracks *others, const AVStream *from) {
  AVFormatContext *to = others->params.late->tracks;
  enum AVCodecID codec = from->codecpar->codec_id;
  others->tracks[from->index].late = true;
  if (avformat_query_codec(to->oformat, AV_CODEC_ID_MOV_TEXT, FF_COMPLIANCE_NORMAL) != 1)
    return 0;
  return codec == AV_CODEC_ID_MOV_TEXT ? add_copy(others, from, to) : add_text(others, from, to);
}

/* Adds a track of the input to the output. Returns 1; 0 if the container cannot hold the track; -1 if memory is
 * short. */
static int add(struct other_tracks *others, const AVStream *from) {
  AVFormatContext *output = others->params.output;
  if (is_subtitle(from) && muxer_is_mp4(output->oformat))
    return others->params.late ? add_late(others, from) : 0;
  if (fits(output, from))
    return add_copy(others, from, output);
  return is_subtitle(from) ? add_text(others, from, output) : 0;
}

static bool is_other(const struct side_reader *reader, const AVStream *stream) {
  bool video = stream->codecpar->codec_type == AVMEDIA_TYPE_VIDEO && stream != reader->video && !covers_is_one(stream);
  return video || is_subtitle(stream);
}

static int add_all(struct other_tracks *others, int left_out[SIDE_THINGS]) {
  struct side_reader *reader = others->params.reader;
  int all = 0;
  for (int i = 0; i < reader->streams; i++) {
    const AVStream *from = reader->input->streams[i];
    if (!is_other(reader, from))
      continue;
    int added = add(others, from);
    if (added < 0)
      return -1;
    if (added)
      side_reader_want(reader, i);
    else
      left_out[is_subtitle(from) ? SIDE_SUBTITLES : SIDE_VIDEOS]++;
    all += added;
  }
  return all;
}

int other_tracks_open(struct other_tracks **out, const struct other_tracks_params *params, int left_out[SIDE_THINGS]) {
  struct other_tracks *others = *out = calloc(1, sizeof *others);
  if (!others)
    return -1;
  others->params = *params;
  others->packet = av_packet_alloc();
  others->tracks = calloc((size_t)params->reader->streams + 1, sizeof *others->tracks);
  int added = others->packet && others->tracks ? add_all(others, left_out) : -1;
  if (added <= 0)
    other_tracks_close(out);
  return added < 0 ? -1 : 0;
}

/* --- cutting, converting and writing packets --- */

static double seconds_of(const AVStream *from, int64_t ticks) {
  return (double)ticks * av_q2d(from->time_base);
}

/* Cuts a subtitle that begins before the rendered part of the input or ends after it. Returns false if none of the
 * subtitle is seen. */
static bool cut_subtitle(const struct other_tracks *others, const AVStream *from, AVPacket *packet) {
  double duration = others->params.duration;
  bool is_empty = from->codecpar->codec_id == AV_CODEC_ID_MOV_TEXT && (packet->size < 2 || !AV_RB16(packet->data));
  int64_t last = duration > 0 ? llrint(duration / av_q2d(from->time_base)) : INT64_MAX;
  if (packet->pts == AV_NOPTS_VALUE || packet->pts >= last || is_empty)
    return false;
  if (packet->pts < 0 && packet->pts + packet->duration <= 0)
    return false;
  if (packet->pts < 0) {
    packet->duration += packet->pts;
    packet->pts = 0;
  }
  if (packet->duration > last - packet->pts)
    packet->duration = last - packet->pts;
  packet->dts = packet->pts;
  return true;
}

/* Returns false if a packet of a video track is outside the rendered part of the input, or comes before the track's
 * first key frame in that part. */
static bool is_video_inside(const struct other_tracks *others, const AVStream *from, const AVPacket *packet) {
  const struct other *other = &others->tracks[packet->stream_index];
  int64_t shown = packet->pts != AV_NOPTS_VALUE ? packet->pts : packet->dts;
  int64_t decoded = packet->dts != AV_NOPTS_VALUE ? packet->dts : packet->pts;
  if (shown == AV_NOPTS_VALUE || seconds_of(from, shown) < -slack_seconds)
    return false;
  if (others->params.duration > 0 && seconds_of(from, decoded) >= others->params.duration)
    return false;
  return other->begun || packet->flags & AV_PKT_FLAG_KEY;
}

static int write_late(struct other_tracks *others, const struct other *other, AVPacket *packet) {
  packet->stream_index = other->to->index;
  int code = late_tracks_add(others->params.late, packet);
  others->lost += code < 0;
  return 0;
}

/* Writes a packet. Its times count from the output's beginning, but are in the input's time base. Returns 0 or the
 * FFmpeg error code of a failed output. */
static int write_packet(struct other_tracks *others, struct muxer *muxer, AVPacket *packet) {
  const AVStream *from = others->params.reader->input->streams[packet->stream_index];
  struct other *other = &others->tracks[packet->stream_index];
  bool inside = is_subtitle(from) ? cut_subtitle(others, from, packet) : is_video_inside(others, from, packet);
  if (!inside)
    return 0;
  int changed = other->text ? subtitle_text_change(other->text, packet) : 1;
  others->lost += changed < 0;
  if (changed <= 0)
    return 0;
  other->begun = true;
  packet->pos = -1;
  if (other->late)
    return write_late(others, other, packet);
  packet->stream_index = other->to->index;
  av_packet_rescale_ts(packet, from->time_base, other->to->time_base);
  return muxer_write(muxer, packet);
}

static void move_times(const struct other_tracks *others, AVPacket *packet) {
  const AVStream *from = others->params.reader->input->streams[packet->stream_index];
  int64_t shift = av_rescale_q(others->params.origin, AV_TIME_BASE_Q, from->time_base);
  if (packet->pts != AV_NOPTS_VALUE)
    packet->pts -= shift;
  if (packet->dts != AV_NOPTS_VALUE)
    packet->dts -= shift;
}

int other_tracks_write_until(struct other_tracks *others, struct muxer *muxer, double time) {
  int code = 0;
  if (!others)
    return 0;
  int64_t until = isfinite(time) ? llrint(time * AV_TIME_BASE) + others->params.origin : INT64_MAX;
  while (code >= 0 && side_reader_next_other(others->params.reader, until, others->packet)) {
    move_times(others, others->packet);
    code = write_packet(others, muxer, others->packet);
    av_packet_unref(others->packet);
  }
  return code;
}

long other_tracks_lost(const struct other_tracks *others) {
  return others ? others->lost : 0;
}

void other_tracks_close(struct other_tracks **pointer) {
  struct other_tracks *others = *pointer;
  *pointer = NULL;
  if (!others)
    return;
  for (int i = 0; others->tracks && i < others->params.reader->streams; i++)
    subtitle_text_close(&others->tracks[i].text);
  free(others->tracks);
  av_packet_free(&others->packet);
  free(others);
}
